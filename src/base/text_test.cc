#include "base/text.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/time.h"

namespace pawl {
namespace {

TEST(Text, GlobMatchesWholeText) {
  EXPECT_TRUE(glob_match("lmsysorg/sglang:v0.5.14*", "lmsysorg/sglang:v0.5.14-cu130"));
  EXPECT_FALSE(glob_match("v0.5", "v0.5.1"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
}

TEST(Text, NearestFindsSlipsOnly) {
  const std::vector<std::string> keys{"qwen3.5-fp4-b200-sglang", "dsr1-fp8-h200-vllm"};
  EXPECT_EQ(nearest("qwen3.5-fp4-b20-sglang", keys), "qwen3.5-fp4-b200-sglang");
  EXPECT_EQ(nearest("something-else-entirely", keys), std::nullopt);
  EXPECT_EQ(nearest("dsr1-fp8", keys), "dsr1-fp8-h200-vllm");
}

TEST(Text, ParseIntTakesWholeDecimalText) {
  EXPECT_EQ(parse_int("42"), 42);
  EXPECT_EQ(parse_int("-7"), -7);
  EXPECT_EQ(parse_int("4 "), std::nullopt);
  EXPECT_EQ(parse_int(""), std::nullopt);
  EXPECT_EQ(parse_int("99999999999999999999"), std::nullopt);
}

TEST(Text, Utf8IsCheckedStrictly) {
  EXPECT_TRUE(is_utf8("plain, 中文, 🎉"));
  EXPECT_FALSE(is_utf8("\xC0\x80"));          // overlong
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));      // surrogate
  EXPECT_FALSE(is_utf8("\xE4\xB8"));          // cut short
  EXPECT_FALSE(is_utf8("\xF5\x80\x80\x80"));  // beyond U+10FFFF
}

TEST(Hash, Sha256OfKnownVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Time, FormsOfAMoment) {
  const WallTime t{Seconds{1796054607}};
  EXPECT_EQ(iso_utc(t), "2026-11-30T16:03:27Z");
  EXPECT_EQ(minute_utc(t), "2026-11-30 16:03 UTC");
  EXPECT_EQ(day_utc(WallTime{Seconds{0}}), "1970-01-01");
}

}  // namespace
}  // namespace pawl
