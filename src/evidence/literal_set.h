#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::evidence {

/// Finds which of many literal texts stand in a line, in one pass over its bytes (Aho and Corasick, CACM 1975). Immutable after `build`.
class LiteralSet {
 public:
  /// The number of `literal`, which must not be empty; the same text has the same number.
  int add(const std::string& literal);
  /// After the last `add`.
  void build();
  /// Numbers of the literals that stand in `line`, each once, in no order. `found` is cleared first.
  void find(std::string_view line, std::vector<int>& found) const;
  [[nodiscard]] std::size_t size() const { return literals_.size(); }

 private:
  using Row = std::array<std::uint16_t, 256>;

  std::vector<std::string> literals_;
  std::vector<Row> next_{Row{}};
  std::vector<std::vector<int>> ends_{{}};  ///< by state: literals that end there, also as a suffix
};

}  // namespace pawl::evidence
