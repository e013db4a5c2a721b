#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace pawl::evals {

/// A text with fields of a row in it: `{{question}}` and `{question}` alike. Field names are letters, digits and `_`; everything else in braces stands as
/// it is, but `{{…}}` that is no field name is refused: it would be a template that is not understood.
class FieldTemplate {
 public:
  [[nodiscard]] static Result<FieldTemplate> parse(std::string text);
  /// Errors: a field that the row does not have, or that is neither text nor number.
  [[nodiscard]] Result<std::string> fill(const codec::Json& row) const;

 private:
  struct Part {
    std::string text;
    bool field = false;
  };
  std::vector<Part> parts_;
};

/// The rows of a data set: JSON lines or one JSON array of objects, packed with gzip or not. Errors name file and row.
[[nodiscard]] Result<std::vector<codec::Json>> read_rows(std::string bytes, const std::string& name);

}  // namespace pawl::evals
