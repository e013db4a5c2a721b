#include "workload/random_workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "workload/split_mix.h"

namespace pawl::workload {
namespace {

LengthRanges ranges(RangeProfile profile, std::int64_t isl, std::int64_t osl, double ratio, std::int64_t overhead = 0) {
  auto out = length_ranges({profile, isl, osl, ratio, overhead});
  EXPECT_TRUE(out.has_value());
  return out ? *out : LengthRanges{};
}

// BC-10.4, one row a profile.
TEST(Lengths, FollowTheRuleOfEachProfile) {
  EXPECT_EQ(ranges(RangeProfile::kInferencex, 1024, 1024, 0.8).input, (LengthRange{819, 1024}));
  EXPECT_EQ(ranges(RangeProfile::kInferencex, 1024, 1000, 0.8, 24).input, (LengthRange{800, 1000}));
  EXPECT_EQ(ranges(RangeProfile::kInferencex, 10, 10, 0).output, (LengthRange{0, 10}));
  EXPECT_EQ(ranges(RangeProfile::kVllm, 101, 33, 0.1, 1).input, (LengthRange{90, 111}));  // ceil of 110.00000000000001
  EXPECT_EQ(ranges(RangeProfile::kVllm, 100, 1, 0.9).output, (LengthRange{1, 2}));
  EXPECT_EQ(ranges(RangeProfile::kSglang, 100, 50, 0, 2).input, (LengthRange{1, 100}));
  EXPECT_EQ(ranges(RangeProfile::kSglang, 100, 50, 0, 2).removed, 2);
  EXPECT_EQ(ranges(RangeProfile::kAiperf, 10, 10, 1).input, (LengthRange{1, 20}));
}

TEST(Lengths, AreFixedAtTheRatioThatSaysSo) {
  for (const RangeProfile profile : {RangeProfile::kInferencex, RangeProfile::kVllm, RangeProfile::kSglang, RangeProfile::kAiperf}) {
    EXPECT_EQ(ranges(profile, 77, 33, fixed_ratio(profile)).input, (LengthRange{77, 77}));
    EXPECT_EQ(ranges(profile, 77, 33, fixed_ratio(profile)).output, (LengthRange{33, 33}));
  }
}

TEST(Lengths, RefuseWhatHasNoMeaning) {
  EXPECT_FALSE(length_ranges({RangeProfile::kVllm, 10, 10, 1, 0}).has_value());
  EXPECT_FALSE(length_ranges({RangeProfile::kInferencex, 10, 10, 1.1, 0}).has_value());
  EXPECT_FALSE(length_ranges({RangeProfile::kInferencex, 0, 10, 1, 0}).has_value());
  EXPECT_FALSE(length_ranges({RangeProfile::kInferencex, 10, 10, 1, 10}).has_value());
}

TEST(RandomWorkload, HasExactLengthsWithinTheRangeAndNeverAnEmptyPrompt) {
  auto made = make_random_workload({.form = Form::kIds, .lengths = {RangeProfile::kInferencex, 6, 4, 0, 0}, .seed = 3, .vocabulary = 200});
  ASSERT_TRUE(made.has_value());
  std::map<std::int64_t, int> inputs, outputs;
  for (int i = 0; i < 2000; ++i) {
    const Prompt prompt = (*made)->prompt(i);
    EXPECT_TRUE(prompt.input_exact);
    EXPECT_EQ(prompt.isl, static_cast<std::int64_t>(prompt.ids.size()));
    for (const std::int32_t id : prompt.ids) EXPECT_TRUE(id >= 100 && id < 200);
    ++inputs[prompt.isl];
    ++outputs[prompt.osl];
  }
  EXPECT_EQ(inputs.begin()->first, 1);
  EXPECT_EQ(inputs.rbegin()->first, 6);
  EXPECT_EQ(inputs.size(), 6u);
  EXPECT_EQ(outputs.size(), 4u);
}

TEST(RandomWorkload, DependsOnSeedSaltPhaseAndIndexOnly) {
  const RandomOptions options{.form = Form::kIds, .lengths = {RangeProfile::kInferencex, 40, 4, 1, 0}, .seed = 3};
  const auto a = *make_random_workload(options), b = *make_random_workload(options);
  EXPECT_EQ(a->prompt(9).ids, b->prompt(9).ids);
  EXPECT_NE(a->prompt(9).ids, a->prompt(8).ids);
  EXPECT_NE(a->prompt(9).ids, a->warmup(9).ids);
  RandomOptions salted = options;
  salted.salt = 1;
  EXPECT_NE((*make_random_workload(salted))->prompt(9).ids, a->prompt(9).ids);
}

TEST(RandomWorkload, WritesOneWordForEachTokenWantedWhereItHasNoTokenizer) {
  const auto made = *make_random_workload({.form = Form::kMessages, .lengths = {RangeProfile::kInferencex, 5, 2, 1, 0}});
  const Prompt prompt = made->prompt(0);
  ASSERT_EQ(prompt.messages.size(), 1u);
  EXPECT_EQ(prompt.messages[0].role, "user");
  EXPECT_EQ(std::ranges::count(prompt.messages[0].content, ' '), 4);
  EXPECT_FALSE(prompt.input_exact);
}

TEST(SplitMix64, GivesThePublishedNumbers) {
  SplitMix64 random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ull);
  EXPECT_EQ(random.next(), 3203168211198807973ull);
}

TEST(SplitMix64, DrawsTheWholeRange) {
  SplitMix64 random(1);
  bool low = false, high = false;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t value = random.between(-3, 3);
    EXPECT_TRUE(value >= -3 && value <= 3);
    low |= value == -3;
    high |= value == 3;
  }
  EXPECT_TRUE(low && high);
  (void)random.between(INT64_MIN, INT64_MAX);
}

}  // namespace
}  // namespace pawl::workload
