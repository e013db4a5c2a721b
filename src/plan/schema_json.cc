#include <fmt/format.h>

#include "base/assert.h"
#include "plan/format.h"

namespace pawl::plan {
namespace {

using codec::Json;
using Kind = ValueType::Kind;

/// Texts that lax integers may be written as; see typing.h.
constexpr const char* kIntegerText = R"(^\s*[+-]?[0-9](_?[0-9])*(\.0+)?\s*$)";

Json any_of(std::initializer_list<Json> parts) { return {{"anyOf", Json(parts)}}; }

Json type_schema(const ValueType& type);

Json field_schema(const FieldSpec& field) {
  Json schema = type_schema(field.type);
  if (field.least > 0) schema["minItems"] = field.least;
  if (field.nullable) schema = any_of({std::move(schema), {{"type", "null"}}});
  if (!field.doc.empty()) schema["description"] = field.doc;
  return schema;
}

Json type_schema(const ValueType& type) {
  switch (type.kind) {
    case Kind::kText:
      return {{"type", "string"}};
    case Kind::kFilled:
      return {{"type", "string"}, {"minLength", 1}};
    case Kind::kVersion:
      return {{"type", "string"}, {"minLength", 1}, {"pattern", "^(?!image:)"}};
    case Kind::kPath:
      return {{"type", "string"}, {"pattern", R"(^(?!/)(?!.*(^|/)\.{1,2}(/|$))(?!.*//)[^:]*[^:/]$)"}};
    case Kind::kInteger:
      return any_of({{{"type", "integer"}}, {{"type", "boolean"}}, {{"type", "string"}, {"pattern", kIntegerText}}});
    case Kind::kCount:
      return any_of({{{"type", "integer"}, {"exclusiveMinimum", 0}}, {{"const", true}}, {{"type", "string"}, {"pattern", kIntegerText}}});
    case Kind::kSize:
      return {{"type", "integer"}, {"exclusiveMinimum", 0}};
    case Kind::kBoolean:
      return any_of({{{"type", "boolean"}}, {{"enum", {0, 1}}}, {{"type", "string"}, {"pattern", "^(?i:1|0|true|false|t|f|yes|no|y|n|on|off)$"}}});
    case Kind::kSwitch:
      return {{"type", "boolean"}};
    case Kind::kShare:
      return any_of({{{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1}}, {{"const", true}}, {{"type", "string"}, {"pattern", "[0-9]"}}});
    case Kind::kYes:
      return {{"enum", {true, 1}}};
    case Kind::kNo:
      return {{"enum", {false, 0}}};
    case Kind::kNodes:
      return {{"type", "array"}, {"minItems", 1}, {"items", {{"type", "string"}}}};
    case Kind::kAny:
      return Json::object();
    case Kind::kOneOf:
      return {{"enum", type.words}};
    case Kind::kList:
      return {{"type", "array"}, {"items", type_schema(*type.item)}};
    case Kind::kMap:
      return {{"type", "object"}, {"additionalProperties", type_schema(*type.item)}};
    case Kind::kObject:
      return {{"$ref", "#/$defs/" + type.object_id}};
  }
  PAWL_ASSERT(false);
  return {};
}

Json object_schema(const ObjectSpec& object) {
  Json properties = Json::object(), required = Json::array();
  for (const FieldSpec& field : object.fields) {
    properties[field.name] = field_schema(field);
    if (field.required) required.push_back(field.name);
  }
  Json schema{{"title", object.title}, {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  if (object.concurrency) {  // M-20
    schema["anyOf"] = {{{"required", {"conc-start", "conc-end"}}}, {{"required", {"conc-list"}}}};
  }
  return schema;
}

}  // namespace

Json json_schema(const Generation& generation, FileKind kind) {
  Json defs = Json::object();
  for (const auto& [id, object] : generation.objects) defs[id] = object_schema(object);
  const auto refer = [](const char* id) { return Json{{"$ref", fmt::format("#/$defs/{}", id)}}; };
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}};
  switch (kind) {
    case FileKind::kMaster:
      schema["title"] = "Master configuration, generation " + generation.id;
      schema["type"] = "object";
      schema["propertyNames"] = {{"pattern", R"(^[^*]*$)"}};
      schema["additionalProperties"] = {{"if", {{"properties", {{"multinode", {{"enum", {true, 1}}}}}}, {"required", {"multinode"}}}},
                                        {"then", refer("multi-node-entry")},
                                        {"else", refer("single-node-entry")}};
      break;
    case FileKind::kRunners:
      schema["title"] = "Runners, generation " + generation.id;
      schema["$ref"] = "#/$defs/runners";
      break;
    case FileKind::kChangelog:
      schema["title"] = "Changelog, generation " + generation.id;
      schema["type"] = "array";
      schema["items"] = refer("changelog-entry");
      break;
  }
  schema["$defs"] = std::move(defs);
  return schema;
}

}  // namespace pawl::plan
