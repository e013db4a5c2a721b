#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "codec/describe.h"
#include "codec/json.h"
#include "codec/yaml.h"

namespace pawl::codec {
namespace {

Json read(const std::string& yaml) {
  auto document = parse_yaml(yaml, "t.yaml");
  if (!document) return Json("error: " + document.error().message);
  auto value = yaml_value(*document, document->root);
  return value ? *value : Json("error: " + value.error().message);
}

TEST(Json, ThreeTextForms) {
  const Json value = Json::parse(R"({"b":[1,2.0,0.5],"a":"中🎉\u0001/"})");
  EXPECT_EQ(write_json(value, JsonForm::kPySpaced), R"({"b": [1, 2.0, 0.5], "a": "\u4e2d\ud83c\udf89\u0001/"})");
  EXPECT_EQ(write_json(value, JsonForm::kCompactUtf8), "{\"b\":[1,2.0,0.5],\"a\":\"中🎉\\u0001/\"}");
  EXPECT_EQ(write_json_sorted(value), R"({"a":"\u4e2d\ud83c\udf89\u0001/","b":[1,2.0,0.5]})");
}

TEST(Json, FloatsAsPythonWritesThem) {
  EXPECT_EQ(python_float(1e-5), "1e-05");
  EXPECT_EQ(python_float(1e16), "1e+16");
  EXPECT_EQ(python_float(123456789012345.0), "123456789012345.0");
  EXPECT_EQ(python_float(0.1), "0.1");
  EXPECT_EQ(python_float(1.5e300), "1.5e+300");
  EXPECT_EQ(python_float(-0.0001), "-0.0001");
}

TEST(Json, ParseErrorsSayWhere) {
  const auto bad = parse_json("{\n  \"a\": tru\n}", "x.json");
  ASSERT_FALSE(bad);
  EXPECT_TRUE(bad.error().message.starts_with("x.json:2:")) << bad.error().message;
  EXPECT_FALSE(parse_json(std::string(400, '['), "deep"));
  EXPECT_FALSE(parse_json("[NaN]", "nan"));
}

enum class Colour { kDeepRed, kBlue };
BOOST_DESCRIBE_ENUM(Colour, kDeepRed, kBlue)
struct Inner {
  int n = 0;
  std::optional<std::string> note;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (n, note))
struct Outer {
  Colour colour = Colour::kBlue;
  std::vector<Inner> inner;
  std::map<std::string, double> numbers;
  double unknown = 0;
};
BOOST_DESCRIBE_STRUCT(Outer, (), (colour, inner, numbers, unknown))

TEST(Describe, RoundTripAndAbsentMembers) {
  Outer outer{Colour::kDeepRed, {{1, "x"}, {2, std::nullopt}}, {{"p99", 0.5}}, std::numeric_limits<double>::quiet_NaN()};
  const Json json = to_json(outer);
  EXPECT_EQ(write_json(json, JsonForm::kCompactUtf8), R"({"colour":"deep-red","inner":[{"n":1,"note":"x"},{"n":2}],"numbers":{"p99":0.5}})");
  const auto back = from_json<Outer>(json, "outer");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->inner[0].note, "x");
  EXPECT_EQ(to_json(*back), json);
}

TEST(Describe, ErrorsNameThePathAndTheNearestKey) {
  const auto wrong = from_json<Outer>(Json::parse(R"({"colour":"blue","inner":[{"n":"one"}],"numbers":{}})"), "outer");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "outer.inner[0].n: expected an integer, found \"one\"");
  const auto unknown = from_json<Inner>(Json::parse(R"({"n":1,"nots":"x"})"), "inner");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "inner.nots: unknown key");
  EXPECT_EQ(unknown.error().remedy, "did you mean note?");
  EXPECT_FALSE(from_json<Outer>(Json::parse(R"({"colour":"green","inner":[],"numbers":{}})"), "o"));
  EXPECT_FALSE(from_json<Inner>(Json::parse(R"({"n":99999999999})"), "i"));
}

TEST(Yaml, ScalarsOfYaml11) {
  EXPECT_EQ(read("[yes, Off, TRUE, y]"), Json::parse(R"([true,false,true,"y"])"));
  EXPECT_EQ(read("[1_6, 010, 08, 0x10, 0b11, 0o17, 1:30, 190:20:30, +8, '1,000']"), Json::parse(R"([16,8,"08",16,3,"0o17",90,685230,8,"1,000"])"));
  EXPECT_EQ(read("[0.80, .5, 5., 1e3, 1.5e+3, 1.2.3, 2026-07-20, 9:30, 1:60]"), Json::parse(R"([0.8,0.5,5.0,"1e3",1500.0,"1.2.3","2026-07-20",570,"1:60"])"));
  EXPECT_EQ(read("{a: ~, b: , c: ''}"), Json::parse(R"({"a":null,"b":null,"c":""})"));
  EXPECT_EQ(read("!!str 0123"), Json("0123"));
}

TEST(Yaml, AliasesMergeKeysAndRepeatedKeys) {
  EXPECT_EQ(read("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\na2: *x"), Json::parse(R"({"a":{"p":1,"q":2},"b":{"p":1,"q":3},"a2":{"p":1,"q":2}})"));
  EXPECT_EQ(read("a: 1\na: 2"), Json::parse(R"({"a":2})"));
  EXPECT_EQ(read("a: *nope"), Json("error: not valid YAML: undefined alias *nope"));
}

/// A node with its types, as the shared cases write it.
Json typed(const YamlDocument& document, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kSequence) {
    Json items = Json::array();
    for (const YamlNode& item : node.items) items.push_back(typed(document, item));
    return {{"seq", items}};
  }
  if (node.kind == YamlNode::Kind::kMapping) {
    Json entries = Json::array();
    for (const YamlEntry& entry : node.entries) entries.push_back(Json::array({typed(document, entry.key), typed(document, entry.value)}));
    return {{"map", entries}};
  }
  switch (node.type()) {
    case YamlNode::Type::kNull:
      return {{"null", true}};
    case YamlNode::Type::kInt:
      return {{"int", *yaml_integer_digits(node)}};
    case YamlNode::Type::kBool:
      return {{"bool", *yaml_value(document, node)}};
    case YamlNode::Type::kFloat: {
      const auto value = yaml_value(document, node);
      return {{"float", value ? python_float(value->get<double>()) : node.text.contains("inf") ? "inf" : "nan"}};
    }
    case YamlNode::Type::kTimestamp:
      return {{"date", node.text}};
    case YamlNode::Type::kText:
      break;
  }
  return {{"str", node.text}};
}

TEST(Yaml, ReadsTheSharedCasesAsPyYamlDoes) {
  const auto path = std::filesystem::path(PAWL_SOURCE_DIR) / ".." / "shared" / "cases" / "yaml.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no ../shared/cases beside the project";
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  const Json cases = Json::parse(text.str());
  std::size_t vectors = 0;
  for (const Json& c : cases["cases"]) {
    for (const Json& v : c["vectors"]) {
      ++vectors;
      const std::string yaml = v["yaml"], id = c["id"];
      const auto document = parse_yaml(yaml, "t.yaml");
      if (v["reads_as"].contains("error")) {
        ASSERT_FALSE(document) << id << ": " << yaml;
        EXPECT_NE(document.error().message.find(v.value("error_contains", "")), std::string::npos) << id << ": " << yaml << ": " << document.error().message;
        EXPECT_TRUE(document.error().place && document.error().place->line > 0 && document.error().place->column > 0) << id << ": " << yaml;
        continue;
      }
      ASSERT_TRUE(document) << id << ": " << yaml << ": " << document.error().message;
      EXPECT_EQ(typed(*document, document->root), v["reads_as"]) << id << ": " << yaml;
    }
  }
  EXPECT_EQ(vectors, 69u);
}

TEST(Yaml, IsAsStrictAsPyYamlsOwnLoader) {
  for (const std::string bad : {"d: b\tc",
                                "d: |\n  a\n\t\n",
                                "d: | \t\n  a\n",
                                "\t\n",
                                "a: 1\n\t",
                                "[http://h/?q=1]",
                                "d: |#c\n  a\n",
                                "d: >2#c\n  a\n",
                                "a: \x01",
                                "# \x7f\na: 1",
                                "# \xC2\x80\n",
                                "a: '\xEF\xBF\xBF'",
                                "a: \xff",
                                "a: 2026-13-01",
                                "a: 2026-02-30",
                                "2026-02-29: a",
                                "a: 2026-07-20 25:02:03",
                                "a: 0b_",
                                "a: !!int '08'",
                                "a: !!bool maybe",
                                "a: !!timestamp x",
                                "a: <<",
                                "- =",
                                "a: !foo b",
                                "a: !!seq {}",
                                "? [a]\n: b",
                                "a: &x 1\nb: &x 2",
                                "<<: 1",
                                "a: ! =",
                                "! <<: 1",
                                "a: >\n  \tb\n  c\n",
                                "a: 1\n\xEF\xBB\xBF"
                                "b: 2"}) {
    EXPECT_FALSE(parse_yaml(bad, "t.yaml")) << bad;
  }
  EXPECT_EQ(read("a: 'x\ty'  # c\td\n# \t\nb: \"\t\"\n"), Json::parse(R"({"a":"x\ty","b":"\t"})"));
  EXPECT_EQ(read("&a 'x\ty'"), Json("x\ty"));
  EXPECT_FALSE(parse_yaml("&a\t'x'", "t.yaml"));
  EXPECT_EQ(read("d: |\n\n  \ta\n  b\ne: |+\n  \tc\n\n"), Json::parse(R"({"d":"\n\ta\nb\n","e":"\tc\n\n"})"));
  EXPECT_EQ(read("a: 1 # c\xC2\x85"
                 "b: 2\xE2\x80\xA8"
                 "c: 'x\xC2\x85y\xE2\x80\xA8z'"),
            Json::parse("{\"a\":1,\"b\":2,\"c\":\"x y\xE2\x80\xA8z\"}"));
  EXPECT_EQ(read("a: ! '~'\nb: !\nc: -.5\nd: 1.e5\n=: 1"), Json::parse(R"({"a":null,"b":null,"c":"-.5","d":"1.e5","=":1})"));
  EXPECT_EQ(read("a: &x {p: 1}\nb: {q: 2, <<: [{p: 3}, *x], '<<': 4}"), Json::parse(R"({"a":{"p":1},"b":{"p":3,"q":2,"<<":4}})"));
  EXPECT_EQ(read("a: >-\n  \tb\n"), Json::parse(R"({"a":"\tb"})"));
  EXPECT_EQ(read("%YAML 1.2\n---\na: 010\n..."), Json::parse(R"({"a":8})"));
  const std::string deep(301, '[');
  EXPECT_NE(parse_yaml(deep, "t.yaml").error().message.find("nesting"), std::string::npos);
}

TEST(Yaml, PlacesAreBytesAlsoAfterNonAsciiAndBom) {
  const std::string text = "\xEF\xBB\xBF# 中文 comment\r\nkey: \"ü\"\r\nimage: old:1   \r\n";
  const auto document = parse_yaml(text, "t.yaml");
  ASSERT_TRUE(document) << document.error().message;
  const YamlNode* image = document->root.find("image");
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(text.substr(image->begin, image->end - image->begin), "old:1");
  EXPECT_EQ(image->line, 3);
  EXPECT_EQ(image->column, 8);
}

TEST(Yaml, ErrorsShowLineColumnAndText) {
  const auto bad = parse_yaml("a: 1\nb: [1, 2\nc: 3\n", "m.yaml");
  ASSERT_FALSE(bad);
  ASSERT_TRUE(bad.error().place);
  EXPECT_EQ(bad.error().place->file, "m.yaml");
  EXPECT_GE(bad.error().place->line, 2);
  EXPECT_FALSE(bad.error().place->text.empty());
}

TEST(Yaml, BillionLaughsIsRefused) {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    text += fmt::format("a{0}: &a{0} [", i);
    for (int k = 0; k < 10; ++k) text += fmt::format("{}*a{}", k ? "," : "", i - 1);
    text += "]\n";
  }
  const auto bad = parse_yaml(text, "bomb.yaml");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("too many nodes"), std::string::npos);
}

TEST(Yaml, WrittenScalarsReadBack) {
  for (const std::string text : {"https://example.org/pull/1",
                                 "010",
                                 "yes",
                                 "a: b",
                                 "",
                                 "中文",
                                 "- x",
                                 "XXX",
                                 "line\nbreak",
                                 "quote\"",
                                 "1.10",
                                 "#c",
                                 "v0.5.19-cu130",
                                 "blank before a separator \xE2\x80\xA8",
                                 "\xC2\x85",
                                 "\xEF\xBB\xBF",
                                 "\x7F",
                                 "\xC2\x80x",
                                 "\\",
                                 "tab\t",
                                 "\xF0\x9F\x9A\x80"}) {
    EXPECT_EQ(read("k: " + yaml_scalar(text)), (Json{{"k", text}})) << text;
  }
}

}  // namespace
}  // namespace pawl::codec
