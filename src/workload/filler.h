#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tokenizer/tokenizer.h"
#include "workload/split_mix.h"
#include "workload/workload.h"

namespace pawl::workload {

using tokenizer::Tokenizer;
using tokenizer::TokenizerPtr;

/// Makes random content of a wanted number of tokens. Without a tokenizer, text is everyday words, one for each token
/// wanted, and ids come from [100, vocabulary): the first ids of a vocabulary are special or single bytes.
/// Const calls may come from several threads.
class Filler {
 public:
  /// `tokenizer` may be empty. Errors: kInvalid for a vocabulary of at most 100 tokens, a tokenizer with fewer than 16
  /// ordinary tokens.
  static Result<std::shared_ptr<const Filler>> make(TokenizerPtr tokenizer, std::int64_t vocabulary = 30000);

  /// Appends `tokens` ordinary ids (BC-10.1: special ones are never drawn).
  void add_ids(SplitMix64& random, std::int64_t tokens, std::vector<std::int32_t>& out) const;

  /// Appends words worth `tokens` tokens. Where `additive()`, the pieces of a text that was begun empty and appended to
  /// again and again are aligned in tokens. At least one token.
  void add_words(SplitMix64& random, std::int64_t tokens, std::string& out) const;

  struct Text {
    std::string text;
    std::int64_t tokens = 0;  ///< achieved (BC-10.2)
    bool counted = false;     ///< by the tokenizer, or by a construction that was checked with it
  };
  /// A text of `tokens` tokens: by construction where words add up, else by at most ten rounds of counting and repair.
  [[nodiscard]] Text text(SplitMix64& random, std::int64_t tokens) const;

  /// Fills the member of a prompt that `form` asks for with what `add` makes, and sets its lengths. `tokens` at least 1.
  void fill(Form form, SplitMix64& random, std::int64_t tokens, Prompt& prompt) const;

  /// Tokens of a text; without a tokenizer, its words, which is an estimate. Error: kInvalid from the tokenizer.
  [[nodiscard]] Result<std::int64_t> count(std::string_view text) const;

  /// Whether each word is one token wherever it stands, checked with the tokenizer on a sample.
  [[nodiscard]] bool additive() const { return additive_; }
  [[nodiscard]] const Tokenizer* tokenizer() const { return tokenizer_.get(); }
  [[nodiscard]] std::string tokenizer_name() const { return tokenizer_ ? tokenizer_->name() : std::string(); }

 private:
  Filler() = default;
  void choose_words();

  TokenizerPtr tokenizer_;
  std::vector<std::int32_t> ids_;  ///< ordinary; empty: [100, vocabulary)
  std::int64_t vocabulary_ = 0;
  std::vector<std::string> words_;   ///< with a blank before each
  std::vector<std::string> firsts_;  ///< without one, one token at the start of a text
  bool additive_ = false;
};

}  // namespace pawl::workload
