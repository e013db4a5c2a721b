#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "codec/describe.h"
#include "measure/describe.h"
#include "measure/profiles.h"
#include "measure/record_json.h"
#include "measure/request_metrics.h"
#include "measure/steady.h"
#include "measure/summary.h"

namespace pawl::measure {
namespace {

MonoTime at_ms(double ms) { return {Nanos(1'000'000'000 + static_cast<std::int64_t>(std::llround(ms * 1e6)))}; }

StreamEvent event(double ms, unsigned marks, std::optional<std::int64_t> tokens = std::nullopt) {
  StreamEvent out{.at = at_ms(ms)};
  out.marks = marks & 0x3FFu;
  out.set_tokens(tokens);
  return out;
}
constexpr unsigned kTextToken = kChoice | kText | kAnswer | kToken;

/// The script of BC-16.2: role at 40 ms, 3 tokens at 50, one per 10 ms to token 100 at 1,020, usage at 1,025.
RequestRecord conformance() {
  RequestRecord record;
  record.outcome = Outcome::kOk;
  record.asked_input = 16;
  record.asked_output = 100;
  record.ready = at_ms(0);
  record.send = at_ms(0);
  record.head = record.first_event = at_ms(40);
  record.events.push_back(event(40, kChoice));
  record.events.push_back(event(50, kTextToken, 3));
  for (int i = 4; i <= 100; ++i) record.events.push_back(event(50 + 10 * (i - 3), kTextToken, 1));
  record.events.push_back(event(1025, kUsage));
  record.first_token = record.first_answer = at_ms(50);
  record.last_token = record.last_choice = at_ms(1020);
  record.usage_at = record.end = at_ms(1025);
  record.usage_output = record.usage_output_apart = 100;
  record.usage_input = 16;
  record.usage_final = true;
  return record;
}

TEST(Conformance, NativeValues) {
  const RequestMetrics m = metrics_of(conformance());
  EXPECT_EQ(m.ttft_ms, 50);
  EXPECT_EQ(m.e2el_ms, 1020);
  EXPECT_NEAR(*m.tpot_ms, 970.0 / 99, 1e-9);
  EXPECT_NEAR(*m.tpot_decode_ms, 10.0, 1e-9);
  ASSERT_EQ(m.gap.size(), 97u);
  for (const Sample& gap : m.gap) EXPECT_EQ(gap.ms, 10);
  EXPECT_EQ(m.k_residual, 0);
}

TEST(Conformance, EveryProfileToABillionth) {
  const RequestRecord record = conformance();
  struct Row {
    Profile profile;
    bool chat;
    double ttft, e2el, tpot;
    std::size_t itl;
  };
  for (const Row& row : {Row{Profile::kVllm, true, 40, 1020, 980.0 / 99, 98}, Row{Profile::kSglang, true, 50, 1025, 975.0 / 99, 97},
                         Row{Profile::kSglangGenerate, false, 50, 1025, 975.0 / 99, 97}, Row{Profile::kInferencex, false, 40, 1020, 980.0 / 99, 98},
                         Row{Profile::kInferencex, true, 40, 1025, 985.0 / 99, 98}, Row{Profile::kAiperf, true, 50, 1020, 970.0 / 99, 97},
                         Row{Profile::kGenaiPerf, true, 50, 1025, 975.0 / 99, 97}, Row{Profile::kGuidellm, true, 50, 1025, 10.2, 1}}) {
    SCOPED_TRACE(codec::enum_text(row.profile));
    RequestRecord played = record;
    if (row.profile == Profile::kSglangGenerate) played.meta_output = 100;
    ProfileMetrics m;
    compute_profile(row.profile, played, row.chat, m);
    EXPECT_NEAR(*m.ttft_ms, row.ttft, 1e-9);
    EXPECT_NEAR(*m.e2el_ms, row.e2el, 1e-9);
    EXPECT_NEAR(*m.tpot_ms, row.tpot, 1e-9);
    EXPECT_EQ(m.itl.size(), row.itl);
    EXPECT_EQ(m.output_tokens, 100);
  }
}

TEST(Profiles, UseTheUserStamp) {
  RequestRecord record = conformance();
  for (StreamEvent& each : record.events) each.late_ns = 2'000'000;
  ProfileMetrics m;
  compute_profile(Profile::kAiperf, record, true, m);
  EXPECT_NEAR(*m.ttft_ms, 52, 1e-9);
  EXPECT_NEAR(*metrics_of(record).ttft_ms, 50, 1e-9);
}

TEST(Profiles, RepeatTheTimeOfAGrowthForEachTokenAndSkipEmptyOnes) {
  RequestRecord record;
  record.outcome = Outcome::kOk;
  record.send = record.ready = at_ms(0);
  record.events = {event(50, kTextToken, 1), event(60, kTextToken, 0), event(80, kTextToken, 3), event(85, kChoice), event(86, kDone)};
  record.meta_output = 4;
  ProfileMetrics m;
  compute_profile(Profile::kSglangGenerate, record, false, m);
  ASSERT_EQ(m.itl.size(), 1u);
  EXPECT_NEAR(m.itl[0].ms, 10, 1e-9);
  EXPECT_EQ(m.itl[0].weight, 3);
  EXPECT_NEAR(*m.e2el_ms, 86, 1e-9);
}

/// A random stream: events with known or unknown counts, some sharing a time.
RequestRecord random_record(std::mt19937_64& random, std::int64_t index) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  RequestRecord record;
  record.index = record.session = index;
  const double ready = static_cast<double>(below(8000));
  record.ready = at_ms(ready);
  double now = ready + static_cast<double>(below(3));
  record.send = at_ms(now);
  record.asked_input = 10;
  const std::int64_t kind = below(10);
  record.outcome = kind == 0 ? Outcome::kFailed : kind == 1 ? Outcome::kTimeout : kind == 2 ? Outcome::kCensored : Outcome::kOk;
  if (kind <= 1) record.failure = kind == 0 ? "early_eof" : "timeout_idle";
  const bool counts = below(3) > 0;
  std::int64_t total = 0;
  const std::int64_t events = kind > 2 ? 1 + below(30) : below(5);
  for (std::int64_t i = 0; i < events; ++i) {
    now += static_cast<double>(below(4)) * 1.25;
    const std::int64_t k = 1 + below(4);
    total += k;
    unsigned marks = kTextToken;
    if (!record.events.empty() && record.events.back().at == at_ms(now)) marks |= kCoalesced;
    record.events.push_back(event(now, marks, counts ? std::optional(k) : std::nullopt));
  }
  if (events > 0) {
    record.first_event = record.first_token = record.first_answer = record.events.front().at;
    record.last_token = record.last_choice = record.events.back().at;
  }
  record.end = at_ms(now + 1);
  if (below(5) > 0) {
    record.usage_output = total + below(2);
    record.usage_final = true;
    record.usage_input = 10;
  }
  return record;
}

TEST(Invariants, HoldForRandomStreams) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 3000; ++i) {
    const RequestRecord record = random_record(random, i);
    const RequestMetrics m = metrics_of(record);
    ASSERT_EQ(order_violation(record), "");
    if (m.token_events == 0) continue;
    if (m.single_burst || m.token_events < 2) {
      ASSERT_TRUE(m.gap.empty());
      ASSERT_FALSE(m.tpot_ms || m.max_gap_ms || m.ttst_ms || m.user_tps);
    } else {
      ASSERT_EQ(static_cast<std::int64_t>(m.gap.size()), m.token_events - 1);
      double sum = 0, itl_sum = 0;
      std::int64_t weights = 0;
      for (const Sample& gap : m.gap) sum += gap.ms;
      ASSERT_NEAR(sum, millis_of(record.events.back().at - record.events.front().at), 1e-6);
      for (const Sample& itl : m.itl) {
        itl_sum += itl.ms * static_cast<double>(itl.weight);
        weights += itl.weight;
      }
      if (m.itl_known) {
        ASSERT_NEAR(itl_sum, sum, 1e-6);
        ASSERT_GT(weights, 0);
      } else {
        ASSERT_TRUE(m.itl.empty());
      }
    }
    if (m.k_residual && record.events[0].tokens()) {
      std::int64_t k = 0;
      for (const StreamEvent& each : record.events) k += each.tokens().value_or(0);
      ASSERT_EQ(k + *m.k_residual, output_tokens(record).count);
    }
  }
}

SummaryOptions all_options() {
  SummaryOptions options;
  options.slo = {{"ttft_ms", 3}, {"tpot_ms", 2}};
  options.profiles.assign(all_profiles().begin(), all_profiles().end());
  return options;
}

TEST(SummaryMerge, OfWorkersEqualsASingleThread) {
  std::mt19937_64 random(9);
  Summary whole(all_options(), at_ms(0));
  std::vector<Summary> parts;
  for (int i = 0; i < 3; ++i) parts.emplace_back(all_options(), at_ms(0));
  constexpr int kRequests = 4000;
  for (int i = 0; i < kRequests; ++i) {
    const RequestRecord record = random_record(random, i);
    whole.add(record);
    parts[static_cast<std::size_t>(i) % 3].add(record);
  }
  Summary merged(all_options(), at_ms(0));
  for (const Summary& part : parts) merged.merge(part);
  model::BenchResult a, b;
  whole.fill(a);
  merged.fill(b);
  EXPECT_EQ(a.counts.ok + a.counts.failed + a.counts.timeout + a.counts.cancelled + a.counts.censored + a.counts.skipped, kRequests);
  EXPECT_EQ(a.counts.planned, kRequests);
  EXPECT_EQ(a.flags, b.flags);
  EXPECT_EQ(a.metrics.size(), b.metrics.size());
  const auto same = [](double x, double y) { return (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= 1e-12 * std::max(1.0, std::abs(x)); };
  const auto compare = [&](const std::map<std::string, model::Distribution>& left, const std::map<std::string, model::Distribution>& right) {
    for (const auto& [key, d] : left) {
      SCOPED_TRACE(key);
      ASSERT_TRUE(right.contains(key));
      const model::Distribution& e = right.at(key);
      EXPECT_EQ(d.n, e.n);
      for (const auto member : {&model::Distribution::mean, &model::Distribution::std, &model::Distribution::min, &model::Distribution::p50,
                                &model::Distribution::p90, &model::Distribution::p99, &model::Distribution::p99_9, &model::Distribution::max}) {
        EXPECT_TRUE(same(d.*member, e.*member)) << d.*member << " " << e.*member;
      }
    }
  };
  compare(a.metrics, b.metrics);
  for (const auto& [name, block] : a.details->compat) compare(block.metrics, b.details->compat.at(name).metrics);
  EXPECT_EQ(a.details->goodput->good, b.details->goodput->good);
  EXPECT_EQ(a.details->peak_in_flight, b.details->peak_in_flight);
  EXPECT_TRUE(same(a.details->mean_in_flight, b.details->mean_in_flight));
  EXPECT_EQ(a.details->timeline.tokens, b.details->timeline.tokens);
  ASSERT_TRUE(a.details->steady && b.details->steady);
  EXPECT_EQ(a.details->steady->requests, b.details->steady->requests);
}

class MemorySpill final : public Spill {
 public:
  Result<std::uint64_t> append(std::span<const std::byte> bytes) override {
    const std::uint64_t offset = store.size();
    store.insert(store.end(), bytes.begin(), bytes.end());
    return offset;
  }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    if (offset + into.size() > store.size()) return internal_error("past the end");
    std::copy_n(store.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    return {};
  }
  std::vector<std::byte> store;
};

TEST(RequestTable, IsExactAndFlatWithASpill) {
  MemorySpill spill;
  RequestTable flat(3, &spill), plain(3, nullptr);
  std::size_t most = 0;
  for (int i = 0; i < 60000; ++i) {
    const std::array row{static_cast<double>(i), i % 7 == 0 ? std::nan("") : i * 0.5, -1.0 * i};
    flat.add(row);
    plain.add(row);
    most = std::max(most, flat.memory());
  }
  EXPECT_GT(spill.store.size(), 500'000u);
  EXPECT_LT(most, 18u * 1024 * 3 * 8 + 1024 * 3 * 8 * 2);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(flat.known(c), plain.known(c));
  }
  EXPECT_FALSE(flat.damaged());
}

TEST(SampleSet, IsExactWhenSmallAndCloseWhenLarge) {
  SampleSet small, large;
  std::vector<double> values;
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    const double value = static_cast<double>(random() % 50'000'000) / 1e6;
    large.add(value);
    values.push_back(value);
    if (i < 1000) small.add(value);
  }
  EXPECT_TRUE(small.exact());
  EXPECT_FALSE(large.exact());
  const auto exact = describe(values);
  const auto close = large.describe(false);
  EXPECT_EQ(close.n, exact.n);
  EXPECT_NEAR(close.mean, exact.mean, 1e-9);
  EXPECT_EQ(close.max, exact.max);
  for (const auto member : {&model::Distribution::p50, &model::Distribution::p90, &model::Distribution::p99, &model::Distribution::p99_9}) {
    EXPECT_NEAR(close.*member, exact.*member, 0.001 * exact.*member);
  }
}

TEST(Describe, MarksPercentilesThatSoFewValuesDoNotSupport) {
  std::vector<double> values;
  for (int i = 1; i <= 100; ++i) values.push_back(i);
  const auto d = describe(values);
  ASSERT_TRUE(d.few);
  EXPECT_EQ(*d.few, (std::vector<std::string>{"p95", "p99", "p99_9"}));
  EXPECT_TRUE(d.ci99->at("p50")[0] && d.ci99->at("p50")[1]);
  EXPECT_FALSE(d.ci99->at("p99_9")[1]);
  EXPECT_LT(*d.ci99->at("p50")[0], d.p50);
  EXPECT_GT(*d.ci99->at("p50")[1], d.p50);
  EXPECT_EQ(describe({}).n, 0);
}

TEST(InFlight, EndsBeforeItStarts) {
  const std::vector<double> sends{0, 10, 20}, ends{10, 20, 30};
  const InFlight steps(sends, ends);
  EXPECT_EQ(steps.peak(), 1);
  EXPECT_DOUBLE_EQ(steps.mean(0, 30), 1);
  const auto window = steps.longest_at_least(1);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->from, 0);
  EXPECT_EQ(window->to, 30);
  const std::vector<double> more_sends{0, 5, 6}, more_ends{100, 50, 60};
  const auto two = InFlight(more_sends, more_ends).longest_at_least(2);
  EXPECT_EQ(two->from, 5);
  EXPECT_EQ(two->to, 60);
  EXPECT_DOUBLE_EQ(sum_between(std::vector<double>{10, 20, 30}, 0.5, 2.5), 5 + 20 + 15);
}

TEST(Goodput, CountsRequestsThatKeepEveryTerm) {
  SummaryOptions options;
  options.slo = {{"ttft_ms", 50}, {"tpot_ms", 10}};
  Summary summary(options, at_ms(0));
  summary.add(conformance());  // ttft 50, tpot 9.8: good
  RequestRecord slow = conformance();
  slow.send = at_ms(-1);
  slow.ready = at_ms(-1);
  summary.add(slow);
  RequestRecord burst = conformance();
  burst.events = {event(50, kTextToken, 100)};
  summary.add(burst);  // its rate is unknown: fails the term
  RequestRecord single = conformance();
  single.events = {event(50, kTextToken, 1)};
  single.usage_output = 1;
  summary.add(single);  // one token: passes
  RequestRecord failed = conformance();
  failed.outcome = Outcome::kFailed;
  failed.failure = "early_eof";
  summary.add(failed);
  model::BenchResult result;
  summary.fill(result);
  EXPECT_EQ(result.details->goodput->good, 2);
  EXPECT_DOUBLE_EQ(result.details->goodput->good_share, 0.4);
  EXPECT_EQ(result.details->partial.at("ttft_ms").n, 1);
  EXPECT_EQ(result.metrics.at("ttft_ms").n, 4);
}

TEST(Slo, IsReadWithAndWithoutUnits) {
  EXPECT_EQ(parse_slo("ttft:500")->metric, "ttft_ms");
  EXPECT_EQ(parse_slo("tpot_ms:20.5")->bound, 20.5);
  EXPECT_EQ(parse_slo("ttft:500ms")->bound, 500);
  for (const char* bad : {"", "ttft", "nope:1", "ttft:", "ttft:x", "ttft:-1", "ttft:1s"}) EXPECT_FALSE(parse_slo(bad)) << bad;
}

TEST(RecordLines, ComeBackAsTheyWere) {
  std::mt19937_64 random(21);
  for (int i = 0; i < 300; ++i) {
    RequestRecord record = random_record(random, i);
    record.detail = "a \"quote\" and \xFF";
    record.flags = {{"no_done", 1}};
    record.text = "é";
    std::string line;
    append_record(record, at_ms(0), line);
    const auto back = read_record(line, at_ms(0), "line");
    ASSERT_TRUE(back) << back.error().message;
    record.detail = back->detail;  // not UTF-8: replaced
    std::string again;
    append_record(*back, at_ms(0), again);
    std::string expected;
    append_record(record, at_ms(0), expected);
    ASSERT_EQ(again, expected);
  }
  EXPECT_FALSE(read_record("{}", at_ms(0), "line"));
  EXPECT_FALSE(read_record("[1", at_ms(0), "line"));
  EXPECT_FALSE(read_record(R"({"phase":"measured","outcome":"ok","events":[[1,2]]})", at_ms(0), "line"));
  RecordsHead head;
  head.model_id = "m";
  std::string line;
  append_head(head, line);
  EXPECT_EQ(read_head(line, "line")->model_id, "m");
  EXPECT_FALSE(read_head(R"({"schema":"x"})", "line"));
}

}  // namespace
}  // namespace pawl::measure
