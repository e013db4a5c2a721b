#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

/// SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// The same over bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::string_view bytes);
  /// Ends it; no `add` after that.
  [[nodiscard]] std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The bytes that a Base64 text stands for (RFC 4648, padding needed); nothing when it is none.
[[nodiscard]] std::optional<std::string> base64_decode(std::string_view text);
[[nodiscard]] std::string base64_encode(std::string_view bytes);

}  // namespace pawl
