#pragma once

#include <string>

#include "benchout/run_info.h"

namespace pawl::benchout {

/// The run as one page that needs nothing else: plots are SVG inside, no script, no font, no address outside. Light and
/// dark as the reader's system is. Text of servers and users is escaped.
[[nodiscard]] std::string html_report(const model::BenchResult& result, const RunInfo& info);

}  // namespace pawl::benchout
