#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/internal/regex.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <array>

namespace pawl::tokenizer {
namespace {

constexpr std::size_t kMaxPattern = 64 << 10;
constexpr std::uint32_t kMatchLimit = 5'000'000;
constexpr std::uint32_t kHeapLimitKib = 16 << 10;

constexpr std::string_view kSpaces = R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

/// The end of the class that opens at `at`: the place after its bracket; npos when it has none.
std::size_t class_end(std::string_view pattern, std::size_t at) {
  std::size_t depth = 0;
  for (std::size_t i = at; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == '[') {
      ++depth;
      // A bracket right after the opening one is a member.
      if (i + 1 < pattern.size() && pattern[i + 1] == '^') ++i;
      if (i + 1 < pattern.size() && pattern[i + 1] == ']') ++i;
    } else if (pattern[i] == ']' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

std::string class_to_pcre(std::string_view body) {
  // `[A&&[^B]]`, the only intersection that tokenizers use: not a B, then an A.
  if (const std::size_t both = body.find("&&[^"); both != std::string_view::npos) {
    const std::size_t end = class_end(body, both + 2);
    if (end != std::string_view::npos && end + 1 == body.size()) {
      const std::string without = to_pcre("[" + std::string(body.substr(both + 4)).substr(0, end - both - 5) + "]");
      return "(?:(?!" + without + ")" + class_to_pcre(std::string(body.substr(0, both)) + "]") + ")";
    }
  }
  std::string out;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '\\' && i + 1 < body.size()) {
      if (body[i + 1] == 's') {
        out += kSpaces;
      } else {
        out += body.substr(i, 2);
      }
      ++i;
    } else if (body[i] == '[' && i > 0 && i + 1 < body.size() && body[i + 1] != ':') {
      out += "\\[";  // PCRE2 has no nested classes; Oniguruma's files mean the character here
    } else {
      out += body[i];
    }
  }
  return out;
}

}  // namespace

std::string to_pcre(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      if (pattern[i + 1] == 's') {
        out += "[" + std::string(kSpaces) + "]";
      } else if (pattern[i + 1] == 'S') {
        out += "[^" + std::string(kSpaces) + "]";
      } else {
        out += pattern.substr(i, 2);
      }
      ++i;
    } else if (pattern[i] == '[') {
      const std::size_t end = class_end(pattern, i);
      if (end == std::string_view::npos) {
        out += pattern.substr(i);  // the compiler will say what is wrong
        break;
      }
      out += class_to_pcre(pattern.substr(i, end - i));
      i = end - 1;
    } else {
      out += pattern[i];
    }
  }
  return out;
}

RegexScratch::RegexScratch()
    : match_(pcre2_match_data_create_8(1, nullptr)),
      context_(pcre2_match_context_create_8(nullptr)),
      stack_(pcre2_jit_stack_create_8(32 << 10, 1 << 20, nullptr)) {
  pcre2_set_match_limit_8(context_, kMatchLimit);
  pcre2_set_heap_limit_8(context_, kHeapLimitKib);
  pcre2_jit_stack_assign_8(context_, nullptr, stack_);
}

RegexScratch::~RegexScratch() {
  pcre2_match_data_free_8(match_);
  pcre2_match_context_free_8(context_);
  pcre2_jit_stack_free_8(stack_);
}

Result<Regex> Regex::compile_with(std::string_view pattern, std::string_view shown, unsigned options) {
  if (pattern.size() > kMaxPattern) return bad_input(fmt::format("a regular expression of {} bytes, at most {} are read", pattern.size(), kMaxPattern));
  int error = 0;
  std::size_t place = 0;
  pcre2_code_8* code = pcre2_compile_8(
      reinterpret_cast<PCRE2_SPTR8>(pattern.data()), pattern.size(),
      ((options & PCRE2_LITERAL) != 0 ? PCRE2_UTF : PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C) | options, &error, &place, nullptr);
  if (code == nullptr) {
    std::array<PCRE2_UCHAR8, 200> text{};
    pcre2_get_error_message_8(error, text.data(), text.size());
    return bad_input(fmt::format("regular expression \"{}\": {}", shown.substr(0, 200), reinterpret_cast<const char*>(text.data())));
  }
  pcre2_jit_compile_8(code, PCRE2_JIT_COMPLETE);  // where it is not available the interpreter does the same
  return Regex(std::shared_ptr<pcre2_real_code_8>(code, [](pcre2_code_8* owned) { pcre2_code_free_8(owned); }));
}

Result<Regex> Regex::compile(std::string_view pattern) {
  const std::string rewritten = to_pcre(pattern);
  return compile_with(rewritten, pattern, 0);
}

Result<Regex> Regex::literal(std::string_view text) { return compile_with(text, text, PCRE2_LITERAL); }

Result<std::optional<Regex::Match>> Regex::find(std::string_view text, std::size_t from, RegexScratch& scratch) const {
  while (from <= text.size()) {
    const int rc =
        pcre2_match_8(code_.get(), reinterpret_cast<PCRE2_SPTR8>(text.data()), text.size(), from, PCRE2_NO_UTF_CHECK, scratch.match_, scratch.context_);
    if (rc == PCRE2_ERROR_NOMATCH) return std::optional<Match>();
    if (rc < 0) {
      return bad_input(fmt::format("a regular expression of the tokenizer needs too many steps on this text (PCRE2 error {})", rc),
                       "the tokenizer file is broken, or the text is one very long line that it cannot split");
    }
    const std::size_t* found = pcre2_get_ovector_pointer_8(scratch.match_);
    if (found[1] > found[0]) return std::optional<Match>({found[0], found[1]});
    // Empty: on by one character.
    from = found[1] + 1;
    while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
  }
  return std::optional<Match>();
}

}  // namespace pawl::tokenizer
