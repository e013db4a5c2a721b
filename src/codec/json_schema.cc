#include "codec/json_schema.h"

namespace pawl::codec::detail {

Json schema_document(const std::string& title, Json body) {
  Json document{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  document.update(body);
  return document;
}

Json object_schema(Json properties, const std::vector<std::string>& required) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", required}, {"additionalProperties", false}};
}

Json enum_schema(const std::vector<std::string>& texts) { return {{"enum", texts}}; }

}  // namespace pawl::codec::detail
