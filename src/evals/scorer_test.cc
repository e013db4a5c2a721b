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

bool exact_match(std::string_view extracted, std::string_view gold) {
  static const Matcher kMatcher = std::move(*Matcher::compile({}));
  return kMatcher.equal(extracted, gold);
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
      EXPECT_EQ(numeric_equal(extract(kFlexible, response), gold), one.at("expected").at("numeric_equal_flexible").get<bool>());
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

TEST(Scorer, MatchRulesAreThoseOfTheTask) {
  const auto plain = Matcher::compile({{}, false, false});
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->equal("ABC", "abc"));
  EXPECT_FALSE(plain->equal("1,234", "1234"));
  const auto bare = Matcher::compile({{}, false, true});
  ASSERT_TRUE(bare);
  EXPECT_TRUE(bare->equal("it's, so: (true)!", "its so true"));
  const auto empty = Matcher::compile({{"x*"}, true, false});
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->normalised("axxb\u00e4"), "ab\u00e4") << "empty matches go on by whole characters";
  EXPECT_FALSE(Matcher::compile({{"("}, true, false}));
}

TEST(Scorer, TheSameNumberInAnotherDressIsNoticed) {
  EXPECT_TRUE(numeric_equal("$29.00", "29"));
  EXPECT_TRUE(numeric_equal("18.0", "hence\n#### 18"));
  EXPECT_TRUE(numeric_equal("1,234.", "1234"));
  EXPECT_TRUE(numeric_equal("-3", "-3"));
  EXPECT_FALSE(numeric_equal("\u22123", "-3"));
  EXPECT_FALSE(numeric_equal("...", "18"));
  EXPECT_FALSE(numeric_equal(kInvalid, "18"));
}

TEST(Scorer, ExtractionVectors) {
  struct Vector {
    const char *response, *first, *last, *flexible;
  };
  for (const Vector& v : std::vector<Vector>{
           {"#### 1,234", "1,234", "1,234", "1,234"},
           {"It costs $5", "[invalid]", "[invalid]", "$5"},
           {"#### 42.", "42.", "42.", "42."},
           {"#### -17", "-17", "-17", "-17"},
           {"from -3 to -12", "[invalid]", "[invalid]", "-12"},
           {"#### 8\nNo: #### 9", "8", "9", "9"},
           {"3 of 12 are 9 and then 4", "[invalid]", "[invalid]", "4"},
           {"#### 12 apples, 3 pears", "12", "12", "3"},
           {"####18", "[invalid]", "[invalid]", "18"},
           {"no number at all", "[invalid]", "[invalid]", "[invalid]"},
           {"so it is 7 , I think . . .", "[invalid]", "[invalid]", "7"},
       }) {
    SCOPED_TRACE(v.response);
    EXPECT_EQ(extract(kFirstStrict, v.response), v.first);
    EXPECT_EQ(extract(kLastStrict, v.response), v.last);
    EXPECT_EQ(extract(kFlexible, v.response), v.flexible);
  }
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

TEST(Scorer, PatternsSeeCharactersAndOnlyTheBeginningBeginsALine) {
  EXPECT_EQ(extract({"^b", 0}, std::string(10'000, 'b') + "\n"), "b");
  EXPECT_EQ(extract({"^b", 1}, std::string(10'000, 'b') + " "), kInvalid);
  EXPECT_EQ(extract({"a.c", 0}, "a\u00e4c"), "a\u00e4c") << "a dot is a character";
  EXPECT_EQ(extract({"[0-9]+", 0}, "\xff\xfe 12"), "12") << "bytes that are no text do not end the search";
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
