#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::workload {

/// The rows of a data set file: the elements of one JSON array, or one JSON value a line (blank lines are skipped). The
/// views are into `text`; what is in them is not looked at. Errors: kInvalid for a file without rows, an array that does
/// not end, more than 50 million rows.
[[nodiscard]] Result<std::vector<std::string_view>> split_rows(std::string_view text, const std::string& name);

/// The bytes of a gzip file, or `bytes` itself when they are none. Errors: kInvalid for a broken file or one that grows
/// beyond `max_bytes`.
[[nodiscard]] Result<std::string> unpacked(std::string bytes, const std::string& name, std::uint64_t max_bytes);

/// 0, …, n−1 in an order that depends on the seed only (BC-10.11).
[[nodiscard]] std::vector<std::uint32_t> shuffled(std::size_t n, std::int64_t seed);

}  // namespace pawl::workload
