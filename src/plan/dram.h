#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pawl::plan {

/// `floor(min(mib, 2861022) × 2^20 × utilization × gpus ÷ per_node ÷ 10^9)` in exact arithmetic; `utilization` is decimal
/// text ("0.80", "1e-05"). Nothing when that text is no decimal number. Requires mib > 0, gpus ≥ 0, per_node > 0.
[[nodiscard]] std::optional<std::int64_t> dram_gigabytes(std::int64_t mib, std::string_view utilization, std::int64_t gpus, std::int64_t per_node);

}  // namespace pawl::plan
