#include "steward/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/image.h"
#include "model/point.h"
#include "model/row.h"

namespace pawl::steward {
namespace {

using codec::Json;

bool pawl_flag(const Json& row, const char* key) {
  const auto pawl = row.find("pawl");
  return pawl != row.end() && pawl->is_object() && pawl->value(key, false);
}

}  // namespace

std::vector<report::Check> judge(const io::RunEvidence& evidence, const Expectation& expected) {
  std::vector<report::Check> checks;
  const auto add = [&](const char* code, std::int64_t found, std::int64_t wanted) { checks.push_back({code, found == wanted && wanted > 0, found, wanted}); };

  const Json& manifest = evidence.manifest;
  // Of the job graph those that measure; a manifest of another runner holds nothing else.
  Json jobs = manifest.value("jobs", Json::array());
  std::erase_if(jobs.get_ref<Json::array_t&>(), [](const Json& job) { return !job.value("measures", true); });
  add("jobs-succeeded", std::ranges::count_if(jobs, [](const Json& job) { return job.value("state", std::string()) == "succeeded"; }),
      static_cast<std::int64_t>(expected.points.size() + expected.evals.size()));
  add("head-matches", manifest.value("head", std::string()) == expected.head ? 1 : 0, 1);
  if (expected.run != 0) {
    const bool same = manifest.value("run", std::int64_t{0}) == expected.run && manifest.value("attempt", std::int64_t{0}) == expected.attempt;
    add("run-matches", same ? 1 : 0, 1);
  }
  if (expected.full_sweep) add("full-sweep", manifest.value("full_sweep", false) ? 1 : 0, 1);

  std::map<std::string, int> rows, evals;
  for (const Json& row : evidence.rows) ++rows[model::row_point_key(row)];
  for (const Json& row : evidence.evals) ++evals[model::row_point_key(row)];
  add("rows-present", std::ranges::count_if(expected.points, [&](const Json& point) { return rows[model::point_key(point)] == 1; }),
      static_cast<std::int64_t>(expected.points.size()));
  const auto names_image = [&](const Json& row) { return model::same_image(row.value("image", std::string()), expected.image); };
  add("image-matches", std::ranges::count_if(evidence.rows, names_image) + std::ranges::count_if(evidence.evals, names_image),
      static_cast<std::int64_t>(expected.points.size() + expected.evals.size()));
  add("numbers-valid",
      std::ranges::count_if(evidence.rows, [](const Json& row) { return row.contains("pawl") && row["pawl"].value("verdict", std::string()) != "INVALID"; }),
      static_cast<std::int64_t>(expected.points.size()));
  add("logs-clean", std::ranges::count_if(jobs, [](const Json& job) { return job.value("log_complaints", std::int64_t{-1}) == 0; }),
      static_cast<std::int64_t>(expected.points.size() + expected.evals.size()));
  if (!expected.evals.empty()) {
    const auto wanted = static_cast<std::int64_t>(expected.evals.size());
    add("evals-clean", std::ranges::count_if(evidence.evals, [](const Json& row) { return pawl_flag(row, "infrastructure_success"); }), wanted);
    add("evals-pass", std::ranges::count_if(evidence.evals, [](const Json& row) { return pawl_flag(row, "passed"); }), wanted);
  }
  if (expected.baseline != nullptr) {
    add("baseline-covered", std::ranges::count_if(expected.baseline->rows, [&](const Json& row) { return rows[model::row_point_key(row)] == 1; }),
        static_cast<std::int64_t>(expected.baseline->rows.size()));
  }
  return checks;
}

std::string first_failure(const std::vector<report::Check>& checks) {
  for (const report::Check& check : checks) {
    if (!check.ok) return report::check_sentence(check);
  }
  return {};
}

}  // namespace pawl::steward
