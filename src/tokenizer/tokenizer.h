#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::tokenizer {

using TokenId = std::int32_t;

/// Turns text into token ids. Holds scratch memory and a cache of about 0.5 MB: make one for a thread and keep it. Its
/// tokenizer must outlive it. Results do not depend on what was encoded before.
class Encoder {
 public:
  virtual ~Encoder() = default;

  /// Appends the ids of `text` to `out`, as the reference libraries give them without adding special tokens; the text of
  /// a special token within `text` does become that token, as there. Errors: kInvalid for text that is no UTF-8, and for
  /// a pre-tokenizer expression that needs too many steps on it; `out` is then unspecified.
  virtual Status encode(std::string_view text, std::vector<TokenId>& out) = 0;

  [[nodiscard]] Result<std::int64_t> count(std::string_view text);

 private:
  std::vector<TokenId> counted_;
};

/// A vocabulary with its rules. Immutable; may be used from several threads, with an encoder for each.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// What errors and results call it: the name that was given when it was loaded.
  [[nodiscard]] virtual const std::string& name() const = 0;
  /// What kind it is, for people: "byte-level BPE", "unigram (SentencePiece)"…
  [[nodiscard]] virtual std::string kind() const = 0;
  /// Tokens of the model, without those added to it: what the reference libraries call `vocab_size`.
  [[nodiscard]] virtual std::int64_t vocab_size() const = 0;
  /// One above the greatest id, added tokens included.
  [[nodiscard]] virtual TokenId id_limit() const = 0;
  /// Special tokens that an engine puts around one prompt of text (a begin-of-text token is 1).
  [[nodiscard]] virtual std::int64_t special_overhead() const = 0;
  /// Whether an id is not for ordinary text: added, control, unknown, a hole in the numbering, or out of range.
  [[nodiscard]] virtual bool is_special(TokenId id) const = 0;
  /// The bytes that a token stands for within a text, blanks as blanks; may be a part of a character. Empty: unknown id.
  [[nodiscard]] virtual std::string piece(TokenId id) const = 0;

  [[nodiscard]] virtual std::unique_ptr<Encoder> encoder() const = 0;

  /// Text of the ids, special tokens included, broken characters as U+FFFD. Errors: kInvalid for an id out of range, and
  /// for a file whose decoder is none that we know.
  [[nodiscard]] virtual Result<std::string> decode(std::span<const TokenId> ids) const = 0;
};

using TokenizerPtr = std::shared_ptr<const Tokenizer>;

/// Reads a Hugging Face `tokenizer.json`: BPE (byte-level, byte fallback, plain) and unigram models. `name` is the name of
/// the file for errors and results. Time and memory grow linearly with `text`. Errors: kInvalid for a broken file, for a
/// part that is not supported (named, with those that are), and for one beyond these limits: 256 MiB, 4 million tokens
/// or merges, 64 levels of nesting, 64 KiB a regular expression.
[[nodiscard]] Result<TokenizerPtr> load_tokenizer_json(std::string_view text, const std::string& name);

/// Reads Mistral's `tekken.json`. Errors as above.
[[nodiscard]] Result<TokenizerPtr> load_tekken(std::string_view text, const std::string& name);

/// Reads a SentencePiece `.model` through its library. Errors as above.
[[nodiscard]] Result<TokenizerPtr> load_sentencepiece(std::string_view bytes, const std::string& name);

/// Takes whichever of the three the bytes are.
[[nodiscard]] Result<TokenizerPtr> load_tokenizer(std::string_view bytes, const std::string& name);

}  // namespace pawl::tokenizer
