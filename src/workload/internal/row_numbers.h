#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace pawl::workload {

constexpr std::int64_t kLongestRow = 100'000'000;  ///< tokens that a row may ask for
constexpr std::size_t kMostBlocks = 200'000'000;   ///< of one file

[[nodiscard]] inline std::optional<double> number_at(const codec::Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (found == json.end() || !found->is_number()) return std::nullopt;
  const auto value = found->get<double>();
  return std::isfinite(value) && std::abs(value) < 1e15 ? std::optional(value) : std::nullopt;
}

/// A whole number; 5.0 is one.
[[nodiscard]] inline std::optional<std::int64_t> integer_at(const codec::Json& json, const char* key) {
  const auto value = number_at(json, key);
  return value && *value == std::floor(*value) ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
}

/// Appends `hash_ids`; false, and nothing appended, when they are no list of whole numbers of 32 bits.
[[nodiscard]] inline bool add_blocks(const codec::Json& json, std::vector<std::uint32_t>& out) {
  const auto found = json.is_object() ? json.find("hash_ids") : json.end();
  if (found == json.end() || !found->is_array() || out.size() + found->size() > kMostBlocks) return false;
  const std::size_t first = out.size();
  for (const codec::Json& id : *found) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > UINT32_MAX) {
      out.resize(first);
      return false;
    }
    out.push_back(static_cast<std::uint32_t>(id.get<std::uint64_t>()));
  }
  return true;
}

/// BC-10.11: fewer usable rows than asked for is an error, unless rows may be used again.
[[nodiscard]] inline Status check_usable(const std::string& path, std::int64_t usable, std::int64_t asked, bool repeat,
                                         const std::map<std::string, std::int64_t>& dropped) {
  if (usable > 0 && (repeat || usable >= asked)) return {};
  std::string drops;
  for (const auto& [reason, count] : dropped) drops += fmt::format("{}{} {}", drops.empty() ? "; dropped: " : ", ", reason, count);
  return bad_input(
      fmt::format("{}: {} usable, {} asked{}", path, usable, asked, drops),
      usable == 0 ? "check that the file is of this kind of data set" : "ask for fewer requests, or allow rows to be used again (--dataset-repeat)");
}

}  // namespace pawl::workload
