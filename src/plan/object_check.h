#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/format.h"
#include "plan/schema.h"

namespace pawl::plan {

/// The fields of one object as the schema sees them: both spellings lead to the same field.
class Fields {
 public:
  /// The node of a field that is given and not null, else null.
  [[nodiscard]] const codec::YamlNode* value(std::string_view name) const;
  /// The node of a field that is given, null values included.
  [[nodiscard]] const codec::YamlNode* given(std::string_view name) const;

 private:
  friend class ObjectCheck;
  std::vector<std::pair<std::string_view, const codec::YamlNode*>> found_;
};

/// Walks a node along the objects of a generation and collects what is wrong, with the key path that leads there. Rules
/// that look at several keys are `cross_rules` (schema.cc), called for every object whose fields are all good.
class ObjectCheck {
 public:
  ObjectCheck(const codec::YamlDocument& document, std::string config, const Generation& generation, std::vector<Violation>& out)
      : document_(document), generation_(generation), config_(std::move(config)), out_(out) {}

  /// Checks a mapping. True when nothing at all was wrong below this node.
  bool run(const ObjectSpec& object, const codec::YamlNode& node, Fields& out);

  /// A mapping of labels to their nodes.
  void labels(const codec::YamlNode& node);

  /// `below` is put behind the path that the walk has reached: ".tp", "[2]", or nothing.
  void complain(const codec::YamlNode& node, std::string rule, const std::string& below, std::string message, std::string expected = {},
                std::string nearest = {});
  [[nodiscard]] std::size_t count() const { return out_.size(); }
  [[nodiscard]] const Generation& generation() const { return generation_; }

 private:
  struct Step {
    std::string_view key;
    std::size_t index = 0;
    bool item = false;  ///< an item of a list: the index counts
  };
  [[nodiscard]] std::string path() const;
  void value(const FieldSpec& field, const ValueType& type, const codec::YamlNode& node);
  void wrong(const FieldSpec& field, const codec::YamlNode& node, const std::string& expected);
  void text(const FieldSpec& field, const codec::YamlNode& node, bool may_be_empty);
  void list(const FieldSpec& field, const ValueType& type, const codec::YamlNode& node);
  void map(const FieldSpec& field, const ValueType& type, const codec::YamlNode& node);
  void nodes(const codec::YamlNode& node);
  void unknown_key(const ObjectSpec& object, const codec::YamlNode& key);

  const codec::YamlDocument& document_;
  const Generation& generation_;
  std::string config_;
  std::vector<Violation>& out_;
  std::vector<Step> steps_;
};

/// The rules of an object beyond its fields (4 and 5 of the contract), by its id; the first that is broken.
void cross_rules(ObjectCheck& check, const ObjectSpec& object, const codec::YamlNode& node, const Fields& fields);

}  // namespace pawl::plan
