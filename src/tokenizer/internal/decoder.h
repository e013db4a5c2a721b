#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "tokenizer/internal/regex.h"

namespace pawl::tokenizer {

/// The `decoder` of a tokenizer.json: steps over the texts of tokens, which are joined at the end. Byte-level
/// vocabularies do not come here: their tokens are bytes.
class Decoder {
 public:
  /// Never fails: a decoder with an unknown step says so when it is used, since encoding does not need it.
  static Decoder from_json(const codec::Json& json);
  Result<std::string> apply(std::vector<std::string> tokens) const;

 private:
  struct Metaspace {
    std::string replacement;
    bool drop_first = true;
  };
  struct ByteFallback {};
  struct Fuse {};
  struct Strip {
    std::string content;
    std::size_t start = 0, stop = 0;
  };
  struct Replace {
    std::string plain, content;
  };
  struct Suffix {
    std::string suffix;
  };
  using Step = std::variant<Metaspace, ByteFallback, Fuse, Strip, Replace, Suffix>;
  void add(const codec::Json& json);

  std::vector<Step> steps_;
  std::string unknown_;
  bool none_ = false;  ///< no decoder: tokens are joined with blanks
};

}  // namespace pawl::tokenizer
