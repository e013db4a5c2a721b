#include "codec/json_scan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codec/json.h"

namespace pawl::codec {
namespace {

bool scans(std::string_view text) {
  JsonScan scan(text);
  scan.skip();
  return scan.finish();
}

TEST(JsonScan, FindsMembersAndPassesTheRest) {
  JsonScan scan(R"( {"a":[1,{"b":null},"x\"y"],"n":-12,"f":1.5e3,"t":"\u00e9","ok":true} )");
  ASSERT_TRUE(scan.enter_object());
  std::vector<std::string> keys;
  for (std::string_view key; scan.next_key(key);) {
    keys.emplace_back(key);
    if (key == "n") {
      EXPECT_EQ(scan.integer(), -12);
    } else if (key == "f") {
      EXPECT_EQ(scan.number(), 1500.0);
    } else if (key == "t") {
      std::string text;
      append_unescaped(*scan.raw_string(), text);
      EXPECT_EQ(text, "é");
    } else if (key == "ok") {
      EXPECT_EQ(scan.boolean(), true);
    } else {
      EXPECT_EQ(scan.skip(), R"([1,{"b":null},"x\"y"])");
    }
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "n", "f", "t", "ok"}));
  EXPECT_TRUE(scan.finish());
}

TEST(JsonScan, GivesNothingForAnotherKindAndGoesOn) {
  JsonScan scan(R"({"a":"1","b":1.0,"c":99999999999999999999,"d":7})");
  ASSERT_TRUE(scan.enter_object());
  std::vector<std::optional<std::int64_t>> seen;
  for (std::string_view key; scan.next_key(key);) seen.push_back(scan.integer());
  EXPECT_EQ(seen, (std::vector<std::optional<std::int64_t>>{std::nullopt, std::nullopt, std::nullopt, 7}));
  EXPECT_TRUE(scan.finish());
}

TEST(JsonScan, ReadsEscapesAsTheTreeParserDoes) {
  for (const std::string text : {R"("\"\\\/\b\f\n\r\t")", R"("\u4f60\ud83d\ude00z")", R"("")", R"("plain é 你 😀")"}) {
    JsonScan scan(text);
    std::string mine;
    append_unescaped(scan.raw_string().value(), mine);
    EXPECT_EQ(mine, parse_json(text, "t")->get<std::string>()) << text;
  }
  std::string lone;
  append_unescaped(R"(a\ud83d!\ude00)", lone);
  EXPECT_EQ(lone, "a\xEF\xBF\xBD!\xEF\xBF\xBD");
}

/// Every text that comes out of a valid one by cutting it, or by putting one byte in another's place, is taken by the
/// scanner exactly when the tree parser takes it.
TEST(JsonScan, IsAsStrictAsTheTreeParser) {
  const std::vector<std::string> seeds{
      R"({"a":[1,-0.5e+3,{"b":null,"c":[true,false]}],"é":"\u00e9\n","":""})", R"([[],{},"",0,-1,1E9])", R"("😀")", "12", " null ",
      R"({"choices":[{"index":0,"delta":{"content":"x"}}],"usage":null})"};
  std::vector<std::string> texts{"",
                                 "{",
                                 "[1,]",
                                 "{\"a\":1,}",
                                 "{,}",
                                 "01",
                                 "-",
                                 "1.",
                                 ".5",
                                 "1e",
                                 "nul",
                                 "tru",
                                 "NaN",
                                 "Infinity",
                                 "'a'",
                                 "{a:1}",
                                 "[1 2]",
                                 "\"\x01\"",
                                 "\"\xC0\x80\"",
                                 "\"\xED\xA0\x80\"",
                                 "\"\xF4\x90\x80\x80\"",
                                 "\"\xE0\x80\x80\"",
                                 "\"\\x\"",
                                 "\"\\u12g4\"",
                                 "1 1",
                                 "[]]",
                                 "\xEF\xBB\xBF{}"};
  for (const std::string& seed : seeds) {
    for (std::size_t i = 0; i <= seed.size(); ++i) texts.push_back(seed.substr(0, i));
    for (std::size_t i = 0; i < seed.size(); ++i) {
      for (const char c : {'"', '\\', '{', '}', '[', ']', ',', ':', '0', '-', '.', 'e', ' ', '\n', 'u', '\x7F', '\x80', '\xFF', '\x01'}) {
        std::string changed = seed;
        changed[i] = c;
        texts.push_back(std::move(changed));
      }
    }
  }
  for (const std::string& text : texts) {
    if (text.starts_with("\xEF\xBB\xBF")) continue;  // the tree parser passes over a byte order mark
    EXPECT_EQ(scans(text), parse_json(text, "t").has_value()) << text;
  }
}

TEST(JsonScan, RefusesWhatIsNestedTooDeep) {
  const auto nested = [](int n) { return std::string(static_cast<std::size_t>(n), '[') + std::string(static_cast<std::size_t>(n), ']'); };
  EXPECT_TRUE(scans(nested(300)));
  EXPECT_FALSE(scans(nested(301)));
  EXPECT_FALSE(scans(std::string(5'000'000, '[')));
}

}  // namespace
}  // namespace pawl::codec
