#pragma once

#include <boost/describe.hpp>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::images {

/// How mature a build is. A pin stays in its channel or moves to a more stable one (upgrade-loop 5.1).
enum class Channel { kStable, kCandidate, kDevelopment, kNightly, kNone };
BOOST_DESCRIBE_ENUM(Channel, kStable, kCandidate, kDevelopment, kNightly, kNone)

/// A version as PEP 440 orders it, in the spellings that image tags use: 0.5.12.post1, 1.3.0rc14.post1, 1.3.0-dev.1.
class Version {
 public:
  /// The whole text must be a version: 1 to 8 numbers between dots, then optionally a/b/alpha/beta/c/rc, post and dev, each
  /// with a number (0 when left out) and joined by '.', '-', '_' or nothing. Nothing for anything else, for numbers over
  /// 18 digits, and for texts over 64 characters.
  [[nodiscard]] static std::optional<Version> parse(std::string_view text);

  /// dev < a < b < rc < final < post; 1.3 equals 1.3.0.
  [[nodiscard]] std::strong_ordering operator<=>(const Version& other) const;
  [[nodiscard]] bool operator==(const Version& other) const { return (*this <=> other) == std::strong_ordering::equal; }

  /// kDevelopment for dev, alpha and beta, kCandidate for rc, kStable for finals and their post releases.
  [[nodiscard]] Channel channel() const;
  /// Numbers as written: 3 for 1.3.0. A tag with fewer than the pin has is a floating one.
  [[nodiscard]] std::size_t components() const { return release_.size(); }
  /// Whether the numbers count days, not releases: the first one is a year or a date.
  [[nodiscard]] bool is_calendar() const;

 private:
  /// Where the parts after the numbers stand in the order, most significant first.
  [[nodiscard]] std::pair<std::pair<int, std::int64_t>, std::pair<std::int64_t, std::int64_t>> suffix_key() const;

  std::vector<std::int64_t> release_;
  std::optional<std::pair<char, std::int64_t>> pre_;  ///< 'a', 'b' or 'r' and its number
  std::optional<std::int64_t> post_, dev_;
};

}  // namespace pawl::images
