#include "evals/scorer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "codec/json.h"

namespace pawl::evals {
namespace {

// The two definitions of gsm8k that the cases are for differ in which strict match counts (sweep-run-results 4.5).
const Filter kFirstStrict{"#### (-?[0-9.,]+)", 0};
const Filter kLastStrict{"#### (-?[0-9.,]+)", -1};
const Filter kFlexible{"(-?[$0-9.,]{2,})|(-?[0-9]+)", -1};

std::string extract(const Filter& filter, std::string_view response) {
  const auto extractor = Extractor::compile(filter);
  EXPECT_TRUE(extractor) << extractor.error().message;
  return extractor ? extractor->extract(response) : "";
}

TEST(Scorer, CasesFromPublicReportsComeOutAsTheReferenceScoresThem) {
  std::ifstream in(PAWL_SOURCE_DIR "/../shared/cases/gsm8k.json");
  if (!in) GTEST_SKIP() << "the shared cases are not beside this checkout";
  const codec::Json document = codec::Json::parse(in);
  std::size_t checked = 0;
  for (const codec::Json& one : document.at("cases")) {
    SCOPED_TRACE(one.at("id").get<std::string>() + ": " + one.at("title").get<std::string>());
    const auto response = one.at("response").get<std::string>();
    const auto gold = one.at("gold").get<std::string>();
    for (const auto& [definition, strict] : {std::pair{"lm-eval", kFirstStrict}, std::pair{"inferencex", kLastStrict}}) {
      SCOPED_TRACE(definition);
      const codec::Json& expected = one.at("expected").at(definition);
      EXPECT_EQ(extract(strict, response), expected.at("strict").get<std::string>());
      EXPECT_EQ(exact_match(extract(strict, response), gold), expected.at("strict_match") == 1);
      EXPECT_EQ(extract(kFlexible, response), expected.at("flexible").get<std::string>());
      EXPECT_EQ(exact_match(extract(kFlexible, response), gold), expected.at("flexible_match") == 1);
      ++checked;
    }
  }
  EXPECT_GT(checked, 0u);
}

TEST(Scorer, GroupSelectIsAnIndexFromEitherEnd) {
  EXPECT_EQ(extract({"[0-9]+", 0}, "1 2 3"), "1");
  EXPECT_EQ(extract({"[0-9]+", 2}, "1 2 3"), "3");
  EXPECT_EQ(extract({"[0-9]+", -2}, "1 2 3"), "2");
  EXPECT_EQ(extract({"[0-9]+", 3}, "1 2 3"), kInvalid);
  EXPECT_EQ(extract({"[0-9]+", -4}, "1 2 3"), kInvalid);
  EXPECT_EQ(extract({"[0-9]+", 0}, ""), kInvalid);
}

TEST(Scorer, OfSeveralGroupsTheFirstNonEmptyOneCounts) {
  EXPECT_EQ(extract({"(a)|(b)|(c)", 0}, "b"), "b");
  EXPECT_EQ(extract({"(x?)(y)", 0}, "y"), "y");
  EXPECT_EQ(extract({"answer:( *[0-9]+ *)", 0}, "answer:  42  "), "42") << "blanks at the ends go";
}

TEST(Scorer, MatchingIgnoresCaseCommasDollarsAndOneFullStop) {
  EXPECT_TRUE(exact_match("$1,234.", "1234"));
  EXPECT_TRUE(exact_match("ABC", "abc"));
  EXPECT_TRUE(exact_match("a #### b #### 7", "7"));
  EXPECT_FALSE(exact_match("7..", "7"));
  EXPECT_FALSE(exact_match("7.0", "7"));
  EXPECT_FALSE(exact_match(kInvalid, "7"));
}

TEST(Scorer, LongResponsesNeitherOverflowTheStackNorLoseMatches) {
  std::string text(300'000, '1');
  EXPECT_FALSE(extract(kFlexible, text).empty());
  text.clear();
  for (int i = 0; i < 40'000; ++i) text += "step " + std::to_string(i) + "\n";
  text += "#### 815";
  EXPECT_EQ(extract(kLastStrict, text), "815");
  EXPECT_EQ(extract({"step ([0-9]+)", 39'999}, text), "39999");
  EXPECT_EQ(extract({"step ([0-9]+)", 40'000}, text), kInvalid);
}

TEST(Scorer, AMatchAcrossTheEndOfAWindowIsWhole) {
  for (std::size_t blanks = 4080; blanks < 4110; ++blanks) {
    EXPECT_EQ(extract(kLastStrict, std::string(blanks, ' ') + "#### 1234567890" + std::string(9000, ' ')), "1234567890") << blanks;
  }
  EXPECT_EQ(extract({"^b", 0}, std::string(10'000, 'b') + "\n"), "b");
  EXPECT_EQ(extract({"^b", 1}, std::string(10'000, 'b') + " "), kInvalid) << "a window does not begin a line";
}

TEST(Scorer, APatternThatIsNoneIsRefused) {
  const auto extractor = Extractor::compile({"(", 0});
  ASSERT_FALSE(extractor);
  EXPECT_EQ(extractor.error().cls, ErrorClass::kInvalid);
}

TEST(Scorer, StandardErrorsUseNMinusOne) {
  const Score some = score(3, 4);
  EXPECT_DOUBLE_EQ(some.value, 0.75);
  EXPECT_DOUBLE_EQ(some.standard_error, std::sqrt(0.75 * 0.25 / 3));
  EXPECT_DOUBLE_EQ(score(1319, 1319).standard_error, 0);
  EXPECT_TRUE(std::isnan(score(1, 1).standard_error));
  EXPECT_TRUE(std::isnan(score(0, 0).value));
}

}  // namespace
}  // namespace pawl::evals
