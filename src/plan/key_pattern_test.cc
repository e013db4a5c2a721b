#include "plan/key_pattern.h"

#include <gtest/gtest.h>

namespace pawl::plan {
namespace {

TEST(KeyPattern, BytesThatAreNoUtf8AreCharactersOfTheirOwn) {
  // Found by the fuzzer: the byte once read as the character 0.
  EXPECT_FALSE(pattern_matches("\xE0", std::string_view("\0", 1)));
  EXPECT_TRUE(pattern_matches("\xE0", "\xE0"));
  EXPECT_FALSE(pattern_matches("\xE0", "\xE1"));
  EXPECT_TRUE(pattern_matches("a?b",
                              "a\xFF"
                              "b"));
  EXPECT_TRUE(pattern_matches("a?b", "aéb"));
  EXPECT_FALSE(pattern_matches("a?b",
                               "a\xC3\xC3"
                               "b"));
}

TEST(KeyPattern, ManyStarsDoNotMultiply) {
  // 40 stars over 4000 characters: with naive backtracking this would never end.
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "*a";
  EXPECT_FALSE(pattern_matches(pattern + "b", std::string(4000, 'a')));
  EXPECT_TRUE(pattern_matches(pattern + "*", std::string(4000, 'a')));
}

}  // namespace
}  // namespace pawl::plan
