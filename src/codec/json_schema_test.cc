#include "codec/json_schema.h"

#include <gtest/gtest.h>

namespace pawl::codec {
namespace {

enum class Colour { kRed, kDarkBlue };
BOOST_DESCRIBE_ENUM(Colour, kRed, kDarkBlue)

struct Inner {
  std::int64_t n = 0;
  double mean = 0;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (n, mean))

struct Outer {
  std::string schema = "pawl.outer/1";
  Colour colour = Colour::kRed;
  std::optional<Inner> inner;
  std::map<std::string, std::vector<bool>> marks;
  Json row;
};
BOOST_DESCRIBE_STRUCT(Outer, (), (schema, colour, inner, marks, row))

TEST(JsonSchema, SaysWhatToJsonWrites) {
  const Json expected = Json::parse(R"({
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "an outer",
    "type": "object",
    "properties": {
      "schema": {"const": "pawl.outer/1"},
      "colour": {"enum": ["red", "dark-blue"]},
      "inner": {"type": "object", "properties": {"n": {"type": "integer"}, "mean": {"type": "number"}}, "required": ["n"], "additionalProperties": false},
      "marks": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "boolean"}}},
      "row": true
    },
    "required": ["schema", "colour", "marks", "row"],
    "additionalProperties": false
  })");
  EXPECT_EQ(write_json_pretty(schema_of<Outer>("an outer")), write_json_pretty(expected));
}

}  // namespace
}  // namespace pawl::codec
