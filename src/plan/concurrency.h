#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace pawl::plan {

enum class EntryKind { kSingleFixed, kMultiFixed, kAgentic };

/// Which concurrencies of a search-space entry are generated (7.2 to 7.4).
struct ConcurrencyRules {
  EntryKind kind = EntryKind::kSingleFixed;
  bool list_by_presence = false;  ///< test-config on fixed items: a present `conc-list` counts, however empty
  std::int64_t step = 2;
  std::optional<std::int64_t> min, max;
  std::vector<std::int64_t> only;  ///< empty: all
};

/// The raw values, in order; nothing when the entry is skipped. Errors have no place yet.
[[nodiscard]] Result<std::optional<codec::Json::array_t>> entry_concurrencies(const codec::Json& entry, const ConcurrencyRules& rules);

/// The concurrencies of a range: from start, times step, the end always last (7.2). Requires 0 < start ≤ end, step > 1.
[[nodiscard]] std::vector<std::int64_t> concurrency_range(std::int64_t start, std::int64_t end, std::int64_t step);

}  // namespace pawl::plan
