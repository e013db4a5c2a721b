#include "codec/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <array>

namespace pawl::codec {
namespace {

constexpr std::uint32_t kStepsMax = 1'000'000, kDepthMax = 10'000;

struct CodeDeleter {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
};
struct MatchDeleter {
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
};
struct ContextDeleter {
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
};

PCRE2_SPTR bytes_of(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

struct Pattern::Code {
  std::unique_ptr<pcre2_code, CodeDeleter> code;
  std::unique_ptr<pcre2_match_context, ContextDeleter> limits;
  std::map<std::string, std::uint32_t> groups;  ///< name → number
};

Result<Pattern> Pattern::compile(std::string_view expression) { return compile_with(expression, PCRE2_ANCHORED | PCRE2_ENDANCHORED); }

Result<Pattern> Pattern::compile_search(std::string_view expression, bool characters) {
  PAWL_ASSIGN(Pattern pattern, compile_with(expression, characters ? PCRE2_UTF | PCRE2_MATCH_INVALID_UTF : 0));
  // Without it (a kernel that forbids it) the interpreter does the same, slower.
  pcre2_jit_compile(pattern.code_->code.get(), PCRE2_JIT_COMPLETE);
  return pattern;
}

Result<Pattern> Pattern::compile_with(std::string_view expression, std::uint32_t options) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto code = std::make_shared<Code>();
  code->code.reset(pcre2_compile(bytes_of(expression), expression.size(), options, &error, &offset, nullptr));
  if (!code->code) {
    std::array<PCRE2_UCHAR, 256> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    return bad_input(fmt::format("the pattern '{}' is not valid at character {}: {}", expression, offset + 1, reinterpret_cast<const char*>(text.data())));
  }
  code->limits.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(code->limits.get(), kStepsMax);
  pcre2_set_depth_limit(code->limits.get(), kDepthMax);
  std::uint32_t count = 0, entry = 0;
  PCRE2_SPTR table = nullptr;
  pcre2_pattern_info(code->code.get(), PCRE2_INFO_NAMECOUNT, &count);
  pcre2_pattern_info(code->code.get(), PCRE2_INFO_NAMEENTRYSIZE, &entry);
  pcre2_pattern_info(code->code.get(), PCRE2_INFO_NAMETABLE, &table);
  for (std::uint32_t i = 0; i < count; ++i, table += entry) {
    code->groups[reinterpret_cast<const char*>(table + 2)] = static_cast<std::uint32_t>(table[0]) << 8 | table[1];
  }
  Pattern pattern;
  pattern.code_ = std::move(code);
  return pattern;
}

std::optional<std::map<std::string, std::string>> Pattern::match(std::string_view text) const {
  const std::unique_ptr<pcre2_match_data, MatchDeleter> data(pcre2_match_data_create_from_pattern(code_->code.get(), nullptr));
  if (pcre2_match(code_->code.get(), bytes_of(text), text.size(), 0, 0, data.get(), code_->limits.get()) < 0) return std::nullopt;
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
  std::map<std::string, std::string> groups;
  for (const auto& [name, number] : code_->groups) {
    if (number >= pcre2_get_ovector_count(data.get()) || ends[2 * number] == PCRE2_UNSET) continue;
    groups[name] = std::string(text.substr(ends[2 * number], ends[2 * number + 1] - ends[2 * number]));
  }
  return groups;
}

bool Pattern::find(std::string_view text, std::vector<std::string_view>& groups, std::size_t from) const {
  constexpr std::uint32_t kGroupsMax = 32;
  thread_local const std::unique_ptr<pcre2_match_data, MatchDeleter> data(pcre2_match_data_create(kGroupsMax, nullptr));
  const int found = pcre2_match(code_->code.get(), bytes_of(text), text.size(), from, 0, data.get(), code_->limits.get());
  groups.clear();
  if (found < 0) return false;
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
  const std::size_t captures = this->groups();
  for (std::uint32_t i = 0; i <= captures && i < kGroupsMax; ++i) {
    const bool set = (found == 0 || i < static_cast<std::uint32_t>(found)) && ends[2 * i] != PCRE2_UNSET && ends[2 * i + 1] >= ends[2 * i];
    groups.push_back(set ? text.substr(ends[2 * i], ends[2 * i + 1] - ends[2 * i]) : std::string_view());
  }
  return true;
}

std::size_t Pattern::groups() const {
  std::uint32_t captures = 0;
  pcre2_pattern_info(code_->code.get(), PCRE2_INFO_CAPTURECOUNT, &captures);
  return captures;
}

std::optional<std::size_t> Pattern::group(const std::string& name) const {
  const auto found = code_->groups.find(name);
  if (found == code_->groups.end()) return std::nullopt;
  return found->second;
}

}  // namespace pawl::codec
