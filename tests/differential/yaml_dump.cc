// Reads documents from standard input, each as its length in decimal, a line feed and its bytes; writes one line of JSON for each: its tree with types
// ({"str": …}, {"int": "digits"}, {"seq": […]}, {"map": [[key, value], …]}, …) or {"error": message}. For yaml_differential.py.
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>

#include "codec/yaml.h"

namespace {

using namespace pawl::codec;

Json typed(const YamlDocument& document, const YamlNode& node) {
  Json out = Json::object();
  if (node.kind == YamlNode::Kind::kSequence) {
    Json items = Json::array();
    for (const YamlNode& item : node.items) items.push_back(typed(document, item));
    out["seq"] = std::move(items);
    return out;
  }
  if (node.kind == YamlNode::Kind::kMapping) {
    Json entries = Json::array();
    for (const YamlEntry& entry : node.entries) entries.push_back(Json::array({typed(document, entry.key), typed(document, entry.value)}));
    out["map"] = std::move(entries);
    return out;
  }
  const std::string text = node.text;
  switch (node.type()) {
    case YamlNode::Type::kNull:
      out["null"] = true;
      break;
    case YamlNode::Type::kInt:
      out["int"] = yaml_integer_digits(node).value_or("?");
      break;
    case YamlNode::Type::kBool:
      out["bool"] = *yaml_value(document, node);
      break;
    case YamlNode::Type::kFloat: {
      const auto value = yaml_value(document, node);
      out["float"] = value ? python_float(value->get<double>())
                     : text.find("nan") != std::string::npos || text.find("NaN") != std::string::npos || text.find("NAN") != std::string::npos ? "nan"
                     : text.starts_with('-')                                                                                                   ? "-inf"
                                                                                                                                               : "inf";
      break;
    }
    case YamlNode::Type::kTimestamp:
      out["date"] = text;
      break;
    case YamlNode::Type::kText:
      out["str"] = text;
      break;
  }
  return out;
}

}  // namespace

int main() {
  std::string length;
  while (std::getline(std::cin, length)) {
    std::string bytes(std::stoul(length), '\0');
    std::cin.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto document = parse_yaml(std::move(bytes), "input");
    Json line = document ? typed(*document, document->root) : Json{{"error", document.error().message}};
    std::cout << write_json(line, JsonForm::kPyCompact) << '\n' << std::flush;
  }
  return 0;
}
