#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/yaml.h"

namespace pawl::evals {

/// Reads nodes of a task file and collects what is wrong with them, so that one look at the error shows all of it.
class NodeReader {
 public:
  explicit NodeReader(const codec::YamlDocument& document) : document_(document) {}

  void wrong(const codec::YamlNode& node, std::string message, std::string remedy = {});
  /// The value of a key that must be there; null, with the violation noted, when it is not.
  const codec::YamlNode* need(const codec::YamlNode& mapping, const std::string& key);
  bool is_mapping(const codec::YamlNode& node, const std::string& what, const std::vector<std::string>& keys);
  bool is_list(const codec::YamlNode& node, const std::string& what);
  std::string text(const codec::YamlNode* node, const std::string& what, bool may_be_empty = false);
  std::int64_t whole(const codec::YamlNode* node, const std::string& what, std::int64_t least);
  double share(const codec::YamlNode* node, const std::string& what);
  bool truth(const codec::YamlNode* node, const std::string& what);
  [[nodiscard]] bool good() const { return found_.empty(); }
  /// All violations as one error: the first with its place, the others below it.
  [[nodiscard]] Status outcome() &&;

 private:
  const codec::YamlDocument& document_;
  std::vector<Error> found_;
};

}  // namespace pawl::evals
