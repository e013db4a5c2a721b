#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace pawl::tokenizer {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool single_word = false, left_strip = false, right_strip = false;
};

/// Finds added tokens in a text: leftmost, of those the longest, without overlap.
class AddedTokens {
 public:
  void add(AddedToken token);
  [[nodiscard]] bool empty() const { return tokens_.empty(); }

  struct Part {
    std::string_view text;
    std::optional<TokenId> id;  ///< of an added token; nothing: ordinary text
  };
  /// Appends the parts of `text`, none of them empty.
  void split(std::string_view text, std::vector<Part>& out) const;

 private:
  struct Node {
    std::unordered_map<unsigned char, std::uint32_t> next;
    std::optional<std::uint32_t> token;
  };
  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_{1};
  std::array<bool, 256> begins_{};
};

}  // namespace pawl::tokenizer
