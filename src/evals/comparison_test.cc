#include "evals/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pawl::evals {
namespace {

model::EvalResult result_of(const std::string& right) {
  model::EvalResult result;
  result.task = "t";
  result.definition = "d";
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (right[i] == '-') continue;  // not answered
    model::EvalSample sample;
    sample.doc_id = static_cast<std::int64_t>(i);
    sample.passed_strict = sample.passed_flexible = right[i] == '1';
    sample.response = std::string(1, right[i]);
    result.samples.push_back(sample);
  }
  return result;
}

TEST(EvalComparison, IsPairedByQuestion) {
  const auto found = compare(result_of("1101-0"), result_of("10110-"));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->both, 4);
  ASSERT_EQ(found->scores.size(), 2u);
  EXPECT_EQ(found->scores[0].lost, std::vector<std::int64_t>{1});
  EXPECT_EQ(found->scores[0].gained, std::vector<std::int64_t>{2});
  EXPECT_EQ(found->scores[0].difference, 0);
  EXPECT_EQ(found->scores[0].p_value, 1);
  EXPECT_EQ(found->texts_differ, 2);
  EXPECT_FALSE(found->worse);
}

TEST(EvalComparison, ALossThatIsNoChanceIsWorse) {
  EXPECT_TRUE(compare(result_of("1111111111"), result_of("0000000111"))->worse) << "7 lost, none gained: p = 2/128";
  EXPECT_FALSE(compare(result_of("1111111111"), result_of("0001111111"))->worse) << "3 lost: p = 1/4";
  EXPECT_FALSE(compare(result_of("0000000000"), result_of("1111111111"))->worse);
}

TEST(EvalComparison, McNemarIsExact) {
  EXPECT_DOUBLE_EQ(mcnemar_p(0, 0), 1);
  EXPECT_NEAR(mcnemar_p(0, 7), 2.0 / 128, 1e-12);
  EXPECT_NEAR(mcnemar_p(1, 5), 2.0 * 7 / 64, 1e-12);
  EXPECT_DOUBLE_EQ(mcnemar_p(4, 4), 1);
  EXPECT_GT(mcnemar_p(400, 500), 0);
}

TEST(EvalComparison, TwoDefinitionsAreNotCompared) {
  auto other = result_of("1");
  other.definition = "e";
  EXPECT_FALSE(compare(result_of("1"), other));
  EXPECT_FALSE(compare(result_of("1-"), result_of("-1"))) << "no question in common";
}

}  // namespace
}  // namespace pawl::evals
