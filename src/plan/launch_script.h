#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/point.h"

namespace pawl::plan {

/// Paths at which a single-node point's launch script may lie, relative to the catalogue's root, the more specific one
/// first: `benchmarks/single_node/fixed_seq_len/PREFIX_PRECISION_SKU[_FRAMEWORK][_mtp].sh` (sweep-run-results 3.1).
[[nodiscard]] std::vector<std::string> launch_script_paths(const model::Point& point);

/// The engine flags that a launch script passes: the words after `sglang.launch_server`, `vllm serve` or
/// `trtllm-serve`, continuation lines joined, quotes removed, up to a redirection or `&`. `--host`, `--port` and a
/// flag whose value holds `$` are left out: whoever runs the script sets them. Empty when no launch command is found.
[[nodiscard]] std::vector<std::string> launch_flags(std::string_view script);

/// The script with the switch `flag` (a whole word, no value) replaced by `replacement`, which may be several words or
/// empty. Every other byte stays. kNotFound when the flag is not there, kInvalid when it is there more than once.
[[nodiscard]] Result<std::string> replace_switch(const std::string& script, const std::string& flag, const std::string& replacement);

}  // namespace pawl::plan
