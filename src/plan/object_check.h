#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plan/schema.h"

namespace pawl::plan {

/// Where the schema check stands: collects violations with the key path that leads to them.
class SchemaContext {
 public:
  SchemaContext(const codec::YamlDocument& document, std::string config, std::vector<Violation>& out)
      : document_(document), config_(std::move(config)), out_(out) {}

  void complain(const codec::YamlNode& node, std::string rule, std::string path, std::string message, std::string expected = {}, std::string nearest = {});
  [[nodiscard]] std::size_t count() const { return out_.size(); }

 private:
  const codec::YamlDocument& document_;
  std::string config_;
  std::vector<Violation>& out_;
};

/// Checks the value of one field; complains about what is wrong.
using FieldCheck = std::function<void(SchemaContext&, const codec::YamlNode& value, const std::string& path)>;

struct Field {
  const char* name;  ///< canonical spelling, with '-'
  bool required;
  FieldCheck check;
};

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

/// An object with known fields: unknown, missing and doubly spelled keys are violations. `known_to_others`: keys that another shape has, with the
/// rule to name when they stand here.
class ObjectCheck {
 public:
  ObjectCheck(std::string what, std::vector<Field> fields) : what_(std::move(what)), fields_(std::move(fields)) {}

  /// Checks every field. True when nothing at all was wrong below this node; only then cross rules may run.
  bool run(SchemaContext& context, const codec::YamlNode& node, const std::string& path, Fields& out) const;
  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }

 private:
  std::string what_;
  std::vector<Field> fields_;
};

// Checks of single values, by the typing of section 3.
[[nodiscard]] FieldCheck a_text(bool may_be_empty = true);
[[nodiscard]] FieldCheck a_lax_int();
[[nodiscard]] FieldCheck a_positive_lax_int();
[[nodiscard]] FieldCheck a_size();  ///< strict, above 0
[[nodiscard]] FieldCheck a_lax_bool();
[[nodiscard]] FieldCheck one_of(std::vector<std::string> words);
[[nodiscard]] FieldCheck a_literal(bool wanted, const char* rule);
[[nodiscard]] FieldCheck list_of(FieldCheck item);
[[nodiscard]] FieldCheck optional(FieldCheck check);  ///< or null

}  // namespace pawl::plan
