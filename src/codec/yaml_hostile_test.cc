#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "codec/yaml.h"

namespace pawl::codec {
namespace {

/// The error for an input, "accepted" when there is none.
std::string refusal(std::string bytes, const YamlLimits& limits = {}) {
  const auto document = parse_yaml(std::move(bytes), "hostile.yaml", limits);
  return document ? "accepted" : document.error().message;
}

bool says(const std::string& message, std::string_view part) { return message.find(part) != std::string::npos; }

TEST(HostileYaml, AHundredMegabytesAreRefusedBeforeTheyAreRead) {
  const std::string bytes(100u << 20, '[');  // had it been read, the nesting limit would speak
  const std::string message = refusal(bytes);
  EXPECT_TRUE(says(message, "104857600 bytes of YAML, more than the 64 MiB allowed")) << message;
  EXPECT_TRUE(says(refusal(std::string(4096, '[') + "\n", {.bytes = 1u << 12}), "more than")) << "the limit is the caller's";
  EXPECT_EQ(refusal("a: b\n", {.bytes = 5}), "accepted");
}

TEST(HostileYaml, DeepNestingIsRefusedInEveryStyle) {
  EXPECT_TRUE(says(refusal(std::string(301, '[')), "nesting deeper than 300 levels"));
  EXPECT_TRUE(says(refusal(std::string(100'000, '[')), "nesting deeper than 300 levels"));
  std::string flow, block, items;
  for (int i = 0; i < 400; ++i) {
    flow += "{a: ";
    block += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
    items += "- ";
  }
  EXPECT_TRUE(says(refusal(flow), "nesting deeper than 300 levels"));
  EXPECT_TRUE(says(refusal(block), "nesting deeper than 300 levels"));
  EXPECT_TRUE(says(refusal(items + "x"), "nesting deeper than 300 levels"));
  EXPECT_EQ(refusal(std::string(300, '[') + std::string(300, ']')), "accepted");
}

std::string bomb(int levels) {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < levels; ++i) {
    text += fmt::format("a{0}: &a{0} [", i);
    for (int k = 0; k < 10; ++k) text += fmt::format("{}*a{}", k ? "," : "", i - 1);
    text += "]\n";
  }
  return text;
}

TEST(HostileYaml, AnAliasBombIsRefusedAndItsLimitNamed) {
  EXPECT_TRUE(says(refusal(bomb(10)), "aliases expand to too many nodes: more than 1000000"));
  EXPECT_TRUE(says(refusal("a: &a [1, 2, 3, 4]\nb: [*a, *a, *a]\n", {.expanded = 10}), "more than 10"));
  EXPECT_EQ(refusal(bomb(5)), "accepted");
  // Through merge keys, which copy entries.
  std::string text = "m0: &m0 {a: 1, b: 2}\n";
  for (int i = 1; i < 40; ++i) text += fmt::format("m{0}: &m{0} {{<<: [*m{1}, *m{1}]}}\n", i, i - 1);
  EXPECT_TRUE(says(refusal(text), "aliases expand to too many nodes"));
}

TEST(HostileYaml, CharactersThatNoYamlFileHoldsAreRefusedWithTheirPlace) {
  const auto place = [](std::string bytes) {
    const auto document = parse_yaml(std::move(bytes), "hostile.yaml");
    return document ? std::string("accepted") : fmt::format("{}:{} {}", document.error().place->line, document.error().place->column, document.error().message);
  };
  EXPECT_EQ(place(std::string("a: b\nc: \0d\n", 11)), "2:4 not valid YAML: the control character U+0000 is not allowed");
  EXPECT_EQ(place(std::string("a: 1\n# \0\n", 10)), "2:3 not valid YAML: the control character U+0000 is not allowed");
  EXPECT_EQ(place("é: \xC3\x28\n"), "1:4 not valid YAML: not valid UTF-8");
  EXPECT_EQ(place("a: \xFF\n"), "1:4 not valid YAML: not valid UTF-8");
  EXPECT_EQ(place("a: \xC0\xAF\n"), "1:4 not valid YAML: not valid UTF-8");      // overlong
  EXPECT_EQ(place("a: \xED\xA0\x80\n"), "1:4 not valid YAML: not valid UTF-8");  // half of a surrogate pair
  EXPECT_EQ(place("a: \xE4\xB8"), "1:4 not valid YAML: not valid UTF-8");        // cut short
  EXPECT_EQ(place(std::string("\xFF\xFE"
                              "a\0:\0",
                              6)),
            "1:1 not valid YAML: not valid UTF-8");  // UTF-16
}

TEST(HostileYaml, AByteOrderMarkAndCarriageReturnsAreReadAndPlacesStayTrue) {
  const std::string text =
      "\xEF\xBB\xBF"
      "a: é\r\nb:\r\n  - 'x'\r\n";
  const auto document = parse_yaml(text, "t.yaml");
  ASSERT_TRUE(document) << document.error().message;
  const YamlNode& x = document->root.find("b")->items[0];
  EXPECT_EQ(text.substr(x.begin, x.end - x.begin), "'x'");
  EXPECT_EQ(x.line, 3);
  EXPECT_EQ(x.column, 5);
  EXPECT_EQ(document->place(x).text, "  - 'x'");
  EXPECT_NE(refusal("a: 1\n\xEF\xBB\xBF"
                    "b: 2\n"),
            "accepted");
  EXPECT_TRUE(says(refusal("\xEF\xBB\xBF\xEF\xBB\xBF\n"), "byte-order mark"));  // libyaml skips both, PyYAML reads the second as text
}

TEST(HostileYaml, CopiesOfADocumentShareItAndOutliveIt) {
  YamlDocument copy;
  {
    const auto document = parse_yaml("k: [v, \"a\\nb\"]\n", "t.yaml");  // short: nothing may point into the moved string itself
    ASSERT_TRUE(document);
    copy = *document;
  }
  const YamlNode* list = copy.root.find("k");
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->items[0].text, "v");
  EXPECT_EQ(list->items[1].text, "a\nb");
  EXPECT_EQ(copy.bytes, "k: [v, \"a\\nb\"]\n");
}

}  // namespace
}  // namespace pawl::codec
