#include "codec/pattern.h"

#include <gtest/gtest.h>

namespace pawl::codec {
namespace {

TEST(Pattern, IsFoundAnywhereWithItsGroups) {
  const auto pattern = Pattern::compile_search("(?P<name>[a-z]+)=(?P<value>\\d+)(;)?");
  ASSERT_TRUE(pattern) << pattern.error().message;
  EXPECT_EQ(pattern->groups(), 3u);
  EXPECT_EQ(pattern->group("value"), 2u);
  EXPECT_FALSE(pattern->group("other"));
  const std::string text = "x a=1; bc=23";
  std::vector<std::string_view> groups;
  ASSERT_TRUE(pattern->find(text, groups));
  EXPECT_EQ(groups, (std::vector<std::string_view>{"a=1;", "a", "1", ";"}));
  ASSERT_TRUE(pattern->find(text, groups, 6));
  EXPECT_EQ(groups, (std::vector<std::string_view>{"bc=23", "bc", "23", ""})) << "a group that took no part is empty";
  EXPECT_FALSE(pattern->find(text, groups, text.size()));
  EXPECT_TRUE(groups.empty());
}

TEST(Pattern, WhatStandsBeforeTheStartIsSeen) {
  std::vector<std::string_view> groups;
  EXPECT_FALSE(Pattern::compile_search("^b")->find("abb", groups, 1));
  EXPECT_TRUE(Pattern::compile_search("(?<=a)b")->find("ab", groups, 1));
}

TEST(Pattern, CharactersAreThoseOfUtf8) {
  std::vector<std::string_view> groups;
  const std::string text = "\xc3\xa4";
  ASSERT_TRUE(Pattern::compile_search(".", true)->find(text, groups));
  EXPECT_EQ(groups[0].size(), 2u);
  ASSERT_TRUE(Pattern::compile_search(".")->find(text, groups));
  EXPECT_EQ(groups[0].size(), 1u);
  EXPECT_TRUE(Pattern::compile_search("b", true)->find("\xff\xfe b", groups)) << "bytes that are no text do not end a search";
}

TEST(Pattern, AHostileTextEndsTheSearch) {
  std::vector<std::string_view> groups;
  EXPECT_FALSE(Pattern::compile_search("(a+)+$")->find(std::string(40, 'a') + "b", groups));
  EXPECT_FALSE(Pattern::compile_search("("));
}

}  // namespace
}  // namespace pawl::codec
