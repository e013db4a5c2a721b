#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::backend {

/// The bytes of one event as a pattern for those that follow: servers write thousands of events that differ in a few
/// places only. An event that fits was read, byte for byte, when the pattern was learned, so it means the same but for
/// its text. The places that may differ are the contents of strings and the digits of numbers; within them only bytes
/// are taken that stand for themselves, so that whatever fits is well-formed JSON if the pattern was.
class EventShape {
 public:
  /// `text`, and what else may differ (`free`: contents of strings, or whole numbers without sign, in any order; others
  /// of them are left out), are views into `json`.
  void learn(std::string_view json, std::string_view text, const std::string_view* free, std::size_t n);
  /// Whether `json` fits; `text` is then what stands in the place of the text, never empty.
  [[nodiscard]] bool fits(std::string_view json, std::string_view& text) const;
  void forget() { n_ = 0; }
  /// Something was learned.
  [[nodiscard]] bool known() const { return n_ > 0; }

 private:
  static constexpr std::size_t kHoles = 4, kBytes = 1024;
  struct Hole {
    std::uint16_t begin = 0, end = 0;  ///< in `bytes_`
    bool number = false, text = false;
  };
  std::array<Hole, kHoles> holes_;
  std::size_t n_ = 0;
  std::string bytes_;
};

}  // namespace pawl::backend
