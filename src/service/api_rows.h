#pragma once

#include "codec/json.h"
#include "results/model_names.h"
#include "results/result_store.h"

namespace pawl::service {

/// A row of `GET /api/v1/benchmarks`: members, order and wire types of api-dashboard 1.2.2, then one more object,
/// `pawl`, which is ours: provenance, scale, clock, verdict. Consumers of the reference API ignore it; none of it stands
/// in `metrics`. What we do not know yet (`curve_run_started_at`, `run_started_at`) is left out.
[[nodiscard]] codec::Json benchmark_row(const results::StoredRow& stored, const results::ModelNames& names);

/// A row of `GET /api/v1/evaluations` (api-dashboard 1.2.5), then `pawl`.
[[nodiscard]] codec::Json evaluation_row(const results::StoredRow& stored, const results::ModelNames& names);

}  // namespace pawl::service
