#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;
struct pcre2_real_jit_stack_8;

namespace pawl::tokenizer {

/// Scratch of one thread for all expressions, with the limits that bound a hostile one.
class RegexScratch {
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;

 private:
  friend class Regex;
  pcre2_real_match_data_8* match_ = nullptr;
  pcre2_real_match_context_8* context_ = nullptr;
  pcre2_real_jit_stack_8* stack_ = nullptr;
};

/// A regular expression of a tokenizer file. Those are written for Oniguruma; where PCRE2 means something else by the
/// same text it is rewritten: `\s` is the Unicode property White_Space, and `[a&&[^b]]` an intersection.
class Regex {
 public:
  /// Errors: kInvalid for an expression that does not compile.
  [[nodiscard]] static Result<Regex> compile(std::string_view pattern);
  /// One that matches `text` itself.
  [[nodiscard]] static Result<Regex> literal(std::string_view text);

  struct Match {
    std::size_t begin = 0, end = 0;
  };
  /// The first match that is not empty and begins at `from` or later. `text` is well-formed UTF-8. Error: kInvalid when
  /// the search needs more steps than the limit allows.
  [[nodiscard]] Result<std::optional<Match>> find(std::string_view text, std::size_t from, RegexScratch& scratch) const;

 private:
  explicit Regex(std::shared_ptr<pcre2_real_code_8> code) : code_(std::move(code)) {}
  static Result<Regex> compile_with(std::string_view pattern, std::string_view shown, unsigned options);
  std::shared_ptr<pcre2_real_code_8> code_;
};

/// The rewriting, visible for tests.
[[nodiscard]] std::string to_pcre(std::string_view oniguruma);

}  // namespace pawl::tokenizer
