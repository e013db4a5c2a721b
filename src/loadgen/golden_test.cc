#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "codec/describe.h"
#include "loadgen/exchange.h"
#include "loadgen/testing/golden_scripts.h"
#include "loadgen/testing/scripted_server.h"
#include "loadgen/tls.h"
#include "measure/request_metrics.h"

namespace pawl::loadgen {
namespace {

using golden::Script;
using golden::Step;
using measure::RequestRecord;

MonoTime at_ms(double ms) { return {Nanos(1'000'000'000 + static_cast<std::int64_t>(ms * 1e6))}; }

struct Played {
  RequestRecord record;
  std::int64_t leftover = 0;
  bool reusable = false;
};

/// What a read gives to the answer: over TLS, what of it could be decrypted.
using Through = std::function<std::string(const std::string&)>;

Played play(const Script& script, const std::vector<Step>& steps, const Through& through = nullptr) {
  RequestRecord asked;
  asked.asked_output = script.asked_output;
  asked.asked_input = 7;
  asked.ready = at_ms(0);
  asked.send = at_ms(0);
  backend::EventFacts scratch;
  Exchange exchange(scratch);
  exchange.begin(*backend::find_backend(script.backend), {}, std::move(asked));
  Played out;
  double last = 0;
  for (const Step& step : steps) {
    last = step.ms;
    const std::string bytes = through ? through(step.bytes) : step.bytes;
    if (exchange.over()) {
      out.leftover += static_cast<std::int64_t>(bytes.size());
    } else {
      out.leftover += static_cast<std::int64_t>(bytes.size() - exchange.on_bytes(bytes, at_ms(step.ms)));
    }
  }
  if (script.closes && !exchange.over()) exchange.on_close(at_ms(last + 1));
  if (script.silent && !exchange.over()) exchange.abandon(measure::Outcome::kTimeout, "timeout_idle", "silent", at_ms(last + 1000));
  EXPECT_TRUE(exchange.over()) << script.name;
  out.reusable = exchange.reusable();
  out.record = exchange.record();
  return out;
}

std::vector<std::int64_t> tokens_of(const RequestRecord& record) {
  std::vector<std::int64_t> out;
  for (const measure::StreamEvent& event : record.events) {
    if (event.is(measure::kToken)) out.push_back(event.tokens().value_or(-1));
  }
  return out;
}

std::vector<double> values(const std::vector<measure::Sample>& samples) {
  std::vector<double> out;
  for (const measure::Sample& sample : samples) out.push_back(sample.ms);
  return out;
}

/// What must hold however the bytes are cut.
void check_always(const Script& script, const Played& played) {
  const RequestRecord& record = played.record;
  ASSERT_EQ(codec::enum_text(record.outcome), script.outcome) << record.failure << ": " << record.detail.substr(0, 200);
  ASSERT_EQ(record.failure, script.failure) << record.detail.substr(0, 200);
  if (script.token_events) {
    ASSERT_EQ(record.token_events(), *script.token_events);
  }
  if (script.osl) {
    ASSERT_EQ(measure::output_tokens(record).count, *script.osl);
  }
  if (!script.osl_src.empty()) {
    ASSERT_EQ(measure::output_tokens(record).source, script.osl_src);
  }
  for (const std::string& flag : script.flags) {
    ASSERT_TRUE(record.flags.contains(flag)) << flag;
  }
  if (script.tokens) {
    ASSERT_EQ(tokens_of(record), *script.tokens);
  }
  if (script.no_answer) {
    ASSERT_FALSE(record.first_answer.has_value());
  }
  if (script.reusable) {
    ASSERT_TRUE(played.reusable);
  }
  // After a failure nothing of the connection is used again.
  if (script.outcome == "ok") {
    ASSERT_EQ(played.leftover, script.leftover);
  }
  ASSERT_EQ(measure::order_violation(record), "");
}

void check_times(const Script& script, const RequestRecord& record) {
  const measure::RequestMetrics m = measure::metrics_of(record);
  if (script.ttfe_ms) {
    EXPECT_EQ(m.ttfe_ms, script.ttfe_ms);
  }
  if (script.ttft_ms) {
    EXPECT_EQ(m.ttft_ms, script.ttft_ms);
  }
  if (script.e2el_ms) {
    EXPECT_EQ(m.e2el_ms, script.e2el_ms);
  }
  if (script.tpot_ms) {
    EXPECT_NEAR(m.tpot_ms.value_or(-1), *script.tpot_ms, 1e-9);
  }
  if (script.no_tpot) {
    EXPECT_FALSE(m.tpot_ms.has_value());
  }
  if (script.gaps_ms) {
    EXPECT_EQ(values(m.gap), *script.gaps_ms);
  }
  if (script.itl_ms) {
    EXPECT_EQ(values(m.itl), *script.itl_ms);
  }
  EXPECT_EQ(m.single_burst, script.single_burst);
  EXPECT_EQ(m.coalesced_events, script.coalesced);
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, EveryRowAtEverySplitPosition) {
  for (const Script& script : golden::scripts({GetParam()})) {
    SCOPED_TRACE(fmt::format("row {}: {} on {}", script.row, script.name, script.backend));
    const Played whole = play(script, script.steps);
    check_always(script, whole);
    if (HasFatalFailure()) continue;
    if (script.outcome == "ok") check_times(script, whole.record);
    std::string all;
    for (const Step& step : script.steps) all += step.bytes;
    for (std::size_t i = 1; i < all.size(); i += script.split_every) {
      check_always(script, play(script, {{1, all.substr(0, i)}, {2, all.substr(i)}}));
      ASSERT_FALSE(HasFatalFailure()) << "cut at " << i;
    }
  }
}

TEST_P(Golden, EveryRowByteByByte) {
  for (const Script& script : golden::scripts({GetParam()})) {
    if (script.split_every > 64) continue;
    SCOPED_TRACE(fmt::format("row {}: {} on {}", script.row, script.name, script.backend));
    std::vector<Step> bytes;
    double ms = 0;
    for (const Step& step : script.steps) {
      for (const char c : step.bytes) bytes.push_back({ms += 1, std::string(1, c)});
    }
    check_always(script, play(script, bytes));
  }
}

/// Both ends of one TLS connection, without a socket between them: ours, and a server of OpenSSL.
class TlsPair {
 public:
  TlsPair() {
    SSL_CTX_use_certificate(context_, certificate_.certificate);
    SSL_CTX_use_PrivateKey(context_, certificate_.key);
    server_ = SSL_new(context_);
    SSL_set_bio(server_, in_, out_);
    SSL_set_accept_state(server_);
    for (int round = 0; round < 8; ++round) {
      const auto done = client_.handshake();
      EXPECT_TRUE(done.has_value());
      const std::string_view pending = client_.pending();
      BIO_write(in_, pending.data(), static_cast<int>(pending.size()));
      client_.sent(pending.size());
      SSL_do_handshake(server_);
      client_.received(take());
    }
    decrypt({});  // tickets
    EXPECT_EQ(SSL_is_init_finished(server_), 1);
  }
  ~TlsPair() {
    SSL_free(server_);
    SSL_CTX_free(context_);
  }
  TlsPair(const TlsPair&) = delete;
  TlsPair& operator=(const TlsPair&) = delete;

  std::string encrypt(const std::string& plain) {
    std::string out;
    for (std::size_t at = 0; at < plain.size();) {
      const int n = SSL_write(server_, plain.data() + at, static_cast<int>(std::min<std::size_t>(plain.size() - at, 1u << 20)));
      if (n <= 0) return {};
      at += static_cast<std::size_t>(n);
      out += take();
    }
    return out;
  }
  std::string decrypt(const std::string& cipher) {
    client_.received(cipher);
    std::string out;
    char buffer[16384];
    for (;;) {
      const auto n = client_.read(buffer, sizeof buffer);
      EXPECT_TRUE(n.has_value());
      if (!n || *n == 0) return out;
      out.append(buffer, *n);
    }
  }

 private:
  std::string take() {
    char* data = nullptr;
    const long size = BIO_get_mem_data(out_, &data);
    std::string bytes(data, size > 0 ? static_cast<std::size_t>(size) : 0);
    BIO_reset(out_);
    return bytes;
  }

  loadgen::testing::TestCertificate certificate_;
  std::shared_ptr<TlsContext> trust_ = *TlsContext::make({.ca_file = {}, .insecure = true, .server_name = {}});
  TlsSession client_{*trust_, "127.0.0.1"};
  SSL_CTX* context_ = SSL_CTX_new(TLS_server_method());
  SSL* server_ = nullptr;
  BIO* in_ = BIO_new(BIO_s_mem());
  BIO* out_ = BIO_new(BIO_s_mem());
};

TEST_P(Golden, EveryRowAtEverySplitPositionOverTls) {
  TlsPair tls;
  const Through encrypted = [&](const std::string& plain) { return tls.decrypt(tls.encrypt(plain)); };
  const Through as_it_comes = [&](const std::string& cipher) { return tls.decrypt(cipher); };
  for (const Script& script : golden::scripts({GetParam()})) {
    SCOPED_TRACE(fmt::format("row {}: {} on {}", script.row, script.name, script.backend));
    const Played whole = play(script, script.steps, encrypted);
    check_always(script, whole);
    if (HasFatalFailure()) continue;
    if (script.outcome == "ok") check_times(script, whole.record);
    std::string all;
    for (const Step& step : script.steps) all += step.bytes;
    // Two records, whose border is the cut; and one, whose bytes come in two reads.
    for (std::size_t i = 1; i < all.size(); i += script.split_every) {
      check_always(script, play(script, {{1, all.substr(0, i)}, {2, all.substr(i)}}, encrypted));
      ASSERT_FALSE(HasFatalFailure()) << "records cut at " << i;
      const std::string cipher = tls.encrypt(all);
      const std::size_t cut = std::min(i + cipher.size() - all.size(), cipher.size() - 1);
      check_always(script, play(script, {{1, cipher.substr(0, cut)}, {2, cipher.substr(cut)}}, as_it_comes));
      ASSERT_FALSE(HasFatalFailure()) << "the reads of one record cut at " << cut;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Golden, ::testing::Values("openai", "openai-chat", "sglang", "trtllm", "llamacpp"), [](const auto& backend) {
  std::string name = backend.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

/// vLLM and Dynamo are read by the same code as OpenAI's protocols: once in one piece shows that their names lead there.
TEST(GoldenTable, HoldsForEveryName) {
  for (const Script& script : golden::scripts({"vllm", "vllm-chat", "dynamo", "dynamo-chat"})) {
    if (script.split_every > (1u << 20)) continue;
    SCOPED_TRACE(fmt::format("row {}: {} on {}", script.row, script.name, script.backend));
    check_always(script, play(script, script.steps));
  }
}

TEST(GoldenTable, HasEveryRow) {
  std::set<int> rows;
  for (const Script& script : golden::scripts()) rows.insert(script.row);
  for (int row = 1; row <= 39; ++row) EXPECT_TRUE(rows.contains(row)) << row;
}

}  // namespace
}  // namespace pawl::loadgen
