#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "tokenizer/internal/regex.h"

namespace pawl::tokenizer {

/// The `normalizer` of a tokenizer.json: steps over a whole text.
class Normalizer {
 public:
  /// Errors: kInvalid for a step that is not supported.
  static Result<Normalizer> from_json(const codec::Json& json);

  [[nodiscard]] bool empty() const { return steps_.empty(); }
  /// Errors: kInvalid from an expression that needs too many steps.
  Status apply(std::string& text, RegexScratch& scratch) const;

 private:
  enum class Form { kNfc, kNfd, kNfkc, kNfkd };
  struct Unicode {
    Form form;
  };
  struct Lowercase {};
  struct Strip {
    bool left = true, right = true;
  };
  struct Prepend {
    std::string text;
  };
  struct Replace {
    Regex pattern;
    std::string content;
    std::string plain;  ///< the text that `pattern` is, when it is no expression
  };
  using Step = std::variant<Unicode, Lowercase, Strip, Prepend, Replace>;
  static Status add(const codec::Json& json, std::vector<Step>& steps);
  static Status unicode(std::string& text, Form form);

  std::vector<Step> steps_;
};

}  // namespace pawl::tokenizer
