#include "telemetry/power_samples.h"

#include <gtest/gtest.h>

#include <cmath>

#include "telemetry/power_csv.h"

namespace pawl::telemetry {
namespace {

PowerSample at(double unix_s, double watts, std::string gpu = "0") { return {unix_s, std::move(gpu), watts, {}, {}, {}}; }

/// Samples each second from `from` to `until`, of a function of time.
template <class F>
std::vector<PowerSample> each_second(double from, double until, F watts, const std::string& gpu = "0") {
  std::vector<PowerSample> out;
  for (double t = from; t <= until; t += 1) out.push_back(at(t, watts(t), gpu));
  return out;
}

std::vector<std::string> codes(const model::BenchPower& power) {
  std::vector<std::string> out;
  for (const auto& reason : power.reasons) out.push_back(reason.code);
  return out;
}
using Codes = std::vector<std::string>;

model::BenchResult sound_result(double begin, double end) {
  model::BenchResult result;
  result.started_unix_s = begin;
  result.ended_unix_s = end;
  result.duration_s = end - begin;
  result.counts.ok = 10;
  result.total_input_tokens = 1000;
  result.total_output_tokens = 250;
  return result;
}

TEST(PowerSamples, ConstantPowerGivesExactlyPowerTimesTime) {
  const auto power = judge_samples(each_second(0, 20, [](double) { return 500.0; }), {2.25, 17.75}, {1});
  ASSERT_TRUE(power.valid) << power.reasons.front().code;
  EXPECT_EQ(power.total_gpu_energy_j, 500 * 15.5);
  EXPECT_EQ(power.avg_total_gpu_power_w, 500);
  EXPECT_EQ(power.avg_power_w, 500);
  EXPECT_EQ(power.max_total_gpu_power_w, 500);
}

TEST(PowerSamples, ARampGivesItsClosedFormWithTheEndsInterpolated) {
  const auto power = judge_samples(each_second(0, 20, [](double t) { return 100 + 10 * t; }), {2.5, 10.25}, {1});
  ASSERT_TRUE(power.valid);
  const double closed = 100 * 7.75 + 5 * (10.25 * 10.25 - 2.5 * 2.5);
  EXPECT_NEAR(power.total_gpu_energy_j, closed, 0.00051);
}

TEST(PowerSamples, SplittingTheWindowAddsTheEnergies) {
  const auto samples = each_second(0, 30, [](double t) { return 300 + 100 * std::sin(t); });
  const double whole = *energy_j(samples, "0", {3.3, 27.7});
  for (const double cut : {4.0, 9.1, 15.5, 27.69}) {
    EXPECT_NEAR(*energy_j(samples, "0", {3.3, cut}) + *energy_j(samples, "0", {cut, 27.7}), whole, 1e-9);
  }
}

TEST(PowerSamples, EqualMomentsOfAGpuAreAveraged) {
  auto samples = each_second(0, 10, [](double) { return 400.0; });
  samples.push_back(at(5, 600));
  const auto power = judge_samples(samples, {4, 6}, {1});
  ASSERT_TRUE(power.valid);
  EXPECT_EQ(power.total_gpu_energy_j, 450 + 450);
}

TEST(PowerSamples, GpusAddUpAndTheMeanIsOfOne) {
  auto samples = each_second(0, 10, [](double) { return 400.0; });
  for (const auto& sample : each_second(
           0.5, 10.5, [](double) { return 200.0; }, "1"))
    samples.push_back(sample);
  const auto power = judge_samples(samples, {2, 8}, {2});
  ASSERT_TRUE(power.valid);
  EXPECT_EQ(power.total_gpu_energy_j, 3600);
  EXPECT_EQ(power.avg_total_gpu_power_w, 600);
  EXPECT_EQ(power.avg_power_w, 300);
  EXPECT_EQ(power.max_total_gpu_power_w, 600);
}

TEST(PowerSamples, EachConditionHasItsReason) {
  const auto constant = [](double) { return 400.0; };
  const auto good = each_second(0, 20, constant);
  const auto reasons = [&](const std::vector<PowerSample>& samples, const Window& window, const PowerRules& rules) {
    return codes(judge_samples(samples, window, rules));
  };
  EXPECT_EQ(reasons(good, {5, 5}, {1}), (Codes{"invalid_benchmark_window"}));
  EXPECT_EQ(reasons(good, {model::kUnknown, 5}, {1}), (Codes{"invalid_benchmark_window"}));
  EXPECT_EQ(reasons(good, {5, 10}, {0}), (Codes{"invalid_expected_gpu_count"}));
  EXPECT_EQ(reasons(good, {5, 10}, {1, 0}), (Codes{"invalid_max_sample_gap"}));
  EXPECT_EQ(reasons(good, {5, 4}, {0, -1}), (Codes{"invalid_benchmark_window", "invalid_expected_gpu_count", "invalid_max_sample_gap"}));
  EXPECT_EQ(reasons({}, {5, 10}, {1}), (Codes{"no_usable_power_samples"}));
  EXPECT_EQ(reasons(good, {100, 110}, {1}), (Codes{"no_usable_power_samples"}));
  EXPECT_EQ(reasons(good, {5, 10}, {8}), (Codes{"expected_gpu_count_mismatch"}));
  EXPECT_EQ(reasons({at(5, 400)}, {5, 6}, {1}), (Codes{"insufficient_power_samples"}));
  EXPECT_EQ(reasons(good, {-1, 10}, {1}), (Codes{"benchmark_window_not_bracketed"}));
  EXPECT_EQ(reasons(good, {10, 20.5}, {1}), (Codes{"benchmark_window_not_bracketed"}));
  auto bad = good;
  bad[8].watts.reset();
  EXPECT_EQ(reasons(bad, {5, 10}, {1}), (Codes{"invalid_power_sample"}));
  bad[8].watts = -1;
  EXPECT_EQ(reasons(bad, {5, 10}, {1}), (Codes{"invalid_power_sample"}));
  EXPECT_EQ(reasons(bad, {12, 15}, {1}), (Codes{}));  // further than the gap from the window: not looked at
  auto nameless = good;
  nameless[8].gpu.clear();
  EXPECT_EQ(reasons(nameless, {5, 10}, {1}), (Codes{"gpu_identity_missing"}));
}

TEST(PowerSamples, AGapOfExactlyTheLimitIsAllowed) {
  const double day = 1796050697;
  std::vector<PowerSample> samples{at(day, 400), at(day + 3.0, 400), at(day + 6, 400)};
  EXPECT_TRUE(judge_samples(samples, {day + 0.5, day + 5.5}, {1}).valid);
  samples[1].unix_s += 0.0001;
  EXPECT_EQ(codes(judge_samples(samples, {day + 0.5, day + 5.5}, {1})), (Codes{"sampling_gap_exceeded"}));
}

TEST(PowerSamples, AGapBeforeTheWindowIsIgnored) {
  auto samples = each_second(20, 40, [](double) { return 400.0; });
  samples.insert(samples.begin(), at(5, 90));
  EXPECT_TRUE(judge_samples(samples, {25, 35}, {1}).valid);
}

TEST(PowerSamples, AnUnsoundResultGivesItsReasonsFirst) {
  auto power = judge_samples(each_second(0, 20, [](double) { return 400.0; }), {5, 10}, {2});
  auto result = sound_result(5, 10);
  result.duration_s = 6;
  result.counts.ok = 0;
  result.total_input_tokens = 0;
  result.total_output_tokens = 0;
  apply_result(result, power);
  EXPECT_FALSE(power.valid);
  EXPECT_EQ(codes(power), (Codes{"benchmark_duration_mismatch", "invalid_successful_query_count", "invalid_input_token_count", "invalid_output_token_count",
                                 "expected_gpu_count_mismatch"}));
  EXPECT_TRUE(std::isnan(power.total_gpu_energy_j));
}

TEST(PowerSamples, JoulesPerTokenAreEnergyThroughTokens) {
  auto power = judge_samples(each_second(0, 20, [](double) { return 400.0; }), {5, 15}, {1});
  apply_result(sound_result(5, 15), power);
  EXPECT_EQ(power.joules_per_successful_query, 400);
  EXPECT_EQ(power.joules_per_input_token, 4);
  EXPECT_EQ(power.joules_per_output_token, 16);
  EXPECT_EQ(power.joules_per_total_token, 3.2);
}

TEST(PowerSamples, ADurationMayDifferByHalfASecondOrOnePercent) {
  auto result = sound_result(100, 300);
  result.duration_s = 202;
  EXPECT_TRUE(judge_result(result).empty());
  result.duration_s = 202.1;
  EXPECT_EQ(judge_result(result).at(0).code, "benchmark_duration_mismatch");
  result = sound_result(100, 101);
  result.duration_s = 1.5;
  EXPECT_TRUE(judge_result(result).empty());
}

TEST(PowerCsv, FilesOfBothVendorsAreRead) {
  const auto nvidia = read_power_csv(
      "timestamp, index, power.draw [W], power.limit [W], clocks.current.sm [MHz]\n"
      "2026/11/30 14:39:11.250, 0, 71.25 W, 700.00 W, 345\n"
      "2026/11/30 14:39:12.250, 0, [N/A], 700.00 W, 345\n"
      "2026/11/30 14:39:13.250, 0, 71.",
      NaiveTime::kUtc);
  ASSERT_TRUE(nvidia.problems.empty());
  ASSERT_EQ(nvidia.samples.size(), 2u);  // the cut line is gone
  EXPECT_EQ(nvidia.samples[0].watts, 71.25);
  EXPECT_EQ(nvidia.samples[0].unix_s, 1796049551.25);
  EXPECT_FALSE(nvidia.samples[1].watts);
  const auto amd = read_power_csv("timestamp,gpu,socket_power\n1796049551,0,312 W\n\ntimestamp,gpu,socket_power\n1796049552000,1,313\n", NaiveTime::kLocal);
  ASSERT_TRUE(amd.problems.empty());
  ASSERT_EQ(amd.samples.size(), 2u);
  EXPECT_EQ(amd.samples[1].unix_s, 1796049552);
  EXPECT_EQ(amd.samples[1].gpu, "1");
}

TEST(PowerCsv, MissingColumnsAndBadMomentsAreNamed) {
  const auto codes_of = [](const PowerCsv& csv) {
    Codes out;
    for (const auto& problem : csv.problems) out.push_back(problem.code);
    return out;
  };
  EXPECT_EQ(codes_of(read_power_csv("", NaiveTime::kUtc)), (Codes{"telemetry_file_empty"}));
  EXPECT_EQ(codes_of(read_power_csv("a,b\n1,2\n", NaiveTime::kUtc)),
            (Codes{"timestamp_column_missing", "power_column_missing", "gpu_identity_column_missing"}));
  EXPECT_EQ(codes_of(read_power_csv("time,gpu,power.limit\n1,2,3\n", NaiveTime::kUtc)), (Codes{"power_column_missing"}));
  const auto bad = read_power_csv("time,gpu,power\n1,0,5\nyesterday,0,5\n", NaiveTime::kUtc);
  EXPECT_EQ(codes_of(bad), (Codes{"invalid_timestamp_sample"}));
  EXPECT_TRUE(bad.samples.empty());
}

TEST(PowerCsv, MomentsOfEveryKindAreRead) {
  EXPECT_EQ(parse_moment("1796049551", NaiveTime::kUtc), 1796049551);
  EXPECT_EQ(parse_moment("1796049551500", NaiveTime::kUtc), 1796049551.5);
  EXPECT_EQ(parse_moment("2026-11-30T14:39:11Z", NaiveTime::kLocal), 1796049551);
  EXPECT_EQ(parse_moment("2026-11-30T15:39:11.5+01:00", NaiveTime::kLocal), 1796049551.5);
  EXPECT_EQ(parse_moment("2026-11-30 09:39:11-0500", NaiveTime::kLocal), 1796049551);
  for (const char* bad : {"", "nan", "-5", "2026/11-30 14:39:11", "2026/11/30", "2026/13/30 14:39:11", "14:39:11", "2026/11/30 14:39:11 PST"}) {
    EXPECT_FALSE(parse_moment(bad, NaiveTime::kUtc)) << bad;
  }
}

TEST(PowerCsv, WhatIsWrittenReadsBack) {
  std::vector<PowerSample> samples = each_second(1796049551, 1796049560, [](double t) { return t / 1e7; });
  const auto again = read_power_csv(power_csv_text(samples), NaiveTime::kLocal);
  ASSERT_EQ(again.samples.size(), samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(again.samples[i].unix_s, samples[i].unix_s);
    EXPECT_EQ(again.samples[i].watts, samples[i].watts);
  }
}

}  // namespace
}  // namespace pawl::telemetry
