#pragma once

#include "store/database.h"

namespace pawl::results {

/// Tables results_*: run, config, benchmark, eval, run_stat, changelog, availability, curve_row, ingest, token, audit,
/// meta. Every write of `ResultStore` raises `generation` in results_meta and stamps the runs that it touched.
[[nodiscard]] store::Schema results_schema();

}  // namespace pawl::results
