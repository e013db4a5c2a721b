#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "tokenizer/internal/regex.h"

namespace pawl::tokenizer {

/// A part of a text on its way to the model.
struct Piece {
  std::string_view text;
  bool at_start = false;  ///< it begins where the whole text begins
};

/// Pieces, and the texts of those that were rewritten. Reused from text to text.
struct Pieces {
  std::vector<Piece> items, next;
  std::deque<std::string> owned;
};

/// The `pre_tokenizer` of a tokenizer.json: steps that cut pieces into smaller ones. The last step of a byte-level model
/// is only noted here: its model takes raw bytes.
class PreTokenizer {
 public:
  /// Errors: kInvalid for a step that is not supported, or one after ByteLevel.
  static Result<PreTokenizer> from_json(const codec::Json& json);

  [[nodiscard]] bool byte_level() const { return byte_level_; }
  /// Errors: kInvalid from an expression that needs too many steps.
  Status apply(Pieces& pieces, RegexScratch& scratch) const;

 private:
  enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
  enum class PrependScheme { kAlways, kFirst, kNever };
  struct Split {
    Regex pattern;
    Behavior behavior = Behavior::kIsolated;
    bool invert = false;
  };
  struct PrefixSpace {};
  struct Metaspace {
    std::string replacement;
    PrependScheme scheme = PrependScheme::kAlways;
    bool split = true;
  };
  using Step = std::variant<Split, PrefixSpace, Metaspace>;
  Status add(const codec::Json& json);
  static Status cut(const Split& split, const Piece& piece, std::vector<Piece>& out, RegexScratch& scratch);
  static Result<Split> split_at(const char* pattern, Behavior behavior);

  std::vector<Step> steps_;
  bool byte_level_ = false;
};

}  // namespace pawl::tokenizer
