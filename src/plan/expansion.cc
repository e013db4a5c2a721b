#include "plan/expansion.h"

#include <algorithm>

#include "model/point.h"
#include "plan/generator.h"
#include "plan/schema.h"

namespace pawl::plan {
namespace {

using codec::Json;

std::int64_t conc_of(const Json& row) { return row["conc"].is_array() ? row["conc"][0].get<std::int64_t>() : row["conc"].get<std::int64_t>(); }

}  // namespace

Result<std::vector<Json>> expand(const Catalogue& catalogue, const std::vector<const Recipe*>& recipes, EvalMode mode) {
  for (const Recipe* recipe : recipes) {
    const auto violations = validate_recipe(catalogue, *recipe);
    if (!violations.empty()) return violations.front().error();
  }
  TestConfig options;
  options.no_evals = mode == EvalMode::kNone;
  options.evals_only = mode == EvalMode::kEvalsOnly;
  PAWL_ASSIGN(Matrix matrix, test_config_rows(catalogue, recipes, options));
  return std::move(matrix.rows);
}

SmokeSelection select_smoke(const std::vector<Json>& points, const std::vector<Json>& evals, SmokeEval where) {
  SmokeSelection smoke;
  std::vector<std::string> shapes;
  for (const Json& row : points) {
    const std::string shape = model::shape_key(row);
    const auto at = std::ranges::find(shapes, shape);
    if (at == shapes.end()) {
      shapes.push_back(shape);
      smoke.points.push_back(row);
    } else if (Json& kept = smoke.points[static_cast<std::size_t>(at - shapes.begin())]; conc_of(row) < conc_of(kept)) {
      kept = row;
    }
  }
  for (Json& row : smoke.points) row["run-eval"] = false;
  if (evals.empty()) return smoke;
  if (where == SmokeEval::kCanonicalConcurrency) {
    smoke.evals.push_back(*std::ranges::min_element(evals, {}, conc_of));
    return smoke;
  }
  const Json& largest = *std::ranges::max_element(evals, {}, conc_of);
  Json eval = largest;
  for (const Json& row : smoke.points) {
    if (model::shape_key(row) == model::shape_key(largest)) eval["conc"] = row["conc"];
  }
  smoke.evals.push_back(std::move(eval));
  return smoke;
}

}  // namespace pawl::plan
