#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "codec/describe.h"
#include "loadgen/exchange.h"
#include "loadgen/testing/golden_scripts.h"
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

Played play(const Script& script, const std::vector<Step>& steps) {
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
    if (exchange.over()) {
      out.leftover += static_cast<std::int64_t>(step.bytes.size());
    } else {
      out.leftover += static_cast<std::int64_t>(step.bytes.size() - exchange.on_bytes(step.bytes, at_ms(step.ms)));
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

class Golden : public testing::TestWithParam<std::string> {};

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

INSTANTIATE_TEST_SUITE_P(Backends, Golden, testing::Values("openai", "openai-chat", "sglang", "trtllm", "llamacpp"), [](const auto& backend) {
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
