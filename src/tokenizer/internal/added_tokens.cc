#include "tokenizer/internal/added_tokens.h"

#include <utf8proc.h>

#include <algorithm>

#include "tokenizer/internal/utf8.h"

namespace pawl::tokenizer {
namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

bool is_word(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return false;
  }
}

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == 0x85 || category(c) == UTF8PROC_CATEGORY_ZS || category(c) == UTF8PROC_CATEGORY_ZL || category(c) == UTF8PROC_CATEGORY_ZP;
}

std::size_t start_of_last(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

void AddedTokens::add(AddedToken token) {
  if (token.content.empty()) return;
  std::uint32_t node = 0;
  for (const char c : token.content) {
    const auto [place, fresh] = nodes_[node].next.try_emplace(static_cast<unsigned char>(c), static_cast<std::uint32_t>(nodes_.size()));
    node = place->second;
    if (fresh) nodes_.emplace_back();
  }
  begins_[static_cast<unsigned char>(token.content[0])] = true;
  nodes_[node].token = static_cast<std::uint32_t>(tokens_.size());
  tokens_.push_back(std::move(token));
}

void AddedTokens::split(std::string_view text, std::vector<Part>& out) const {
  std::size_t done = 0;
  if (!tokens_.empty()) {
    for (std::size_t at = 0; at < text.size();) {
      if (!begins_[static_cast<unsigned char>(text[at])]) {
        ++at;
        continue;
      }
      const AddedToken* longest = nullptr;
      std::uint32_t node = 0;
      for (std::size_t i = at; i < text.size(); ++i) {
        const auto next = nodes_[node].next.find(static_cast<unsigned char>(text[i]));
        if (next == nodes_[node].next.end()) break;
        node = next->second;
        if (nodes_[node].token) longest = &tokens_[*nodes_[node].token];
      }
      if (longest == nullptr) {
        ++at;
        continue;
      }
      std::size_t begin = at, end = at + longest->content.size();
      at = end;
      if (longest->single_word) {
        if (begin > 0 && is_word(utf8_at(text, start_of_last(text.substr(0, begin))))) continue;
        if (end < text.size() && is_word(utf8_at(text, end))) continue;
      }
      while (longest->left_strip && begin > done) {
        const std::size_t last = start_of_last(text.substr(0, begin));
        if (last < done || !is_space(utf8_at(text, last))) break;
        begin = last;
      }
      while (longest->right_strip && end < text.size() && is_space(utf8_at(text, end))) end += utf8_length(text[end]);
      if (begin > done) out.push_back({text.substr(done, begin - done), std::nullopt});
      out.push_back({text.substr(begin, end - begin), longest->id});
      done = end;
      at = std::max(at, end);
    }
  }
  if (done < text.size()) out.push_back({text.substr(done), std::nullopt});
}

}  // namespace pawl::tokenizer
