#include "compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "model/metrics.h"
#include "model/row.h"

namespace pawl::compare {
namespace {

using codec::Json;

double number(const Json& row, const std::string& key) {
  const auto it = row.find(key);
  return it != row.end() && it->is_number() ? it->get<double>() : model::kUnknown;
}

std::string origin_text(const Json& row, const char* key) {
  const auto pawl = row.find("pawl");
  return pawl != row.end() && pawl->is_object() ? pawl->value(key, std::string()) : std::string();
}

/// What a reader must know first: the class of a whole is the first of these that any part has.
constexpr Change kTellingFirst[] = {Change::kRegressed, Change::kInconclusive, Change::kImproved, Change::kEquivalent, Change::kNotComparable};

Change combine(Change a, Change b) {
  for (const Change c : kTellingFirst) {
    if (a == c || b == c) return c;
  }
  return Change::kNotComparable;
}

MetricChange compare_metric(const Json& old_row, const Json& new_row, const std::string& key, bool higher_is_better, double margin) {
  MetricChange m{.key = key, .baseline = number(old_row, key), .candidate = number(new_row, key)};
  if (!std::isfinite(m.baseline) || m.baseline == 0) {
    m.note = "no baseline value";
    return m;
  }
  if (!std::isfinite(m.candidate)) {
    m.note = "not measured";
    return m;
  }
  if (origin_text(old_row, "scale") != origin_text(new_row, "scale")) {
    m.note = fmt::format("measured at scale {}, the baseline at {}", origin_text(new_row, "scale"), origin_text(old_row, "scale"));
    return m;
  }
  m.delta_percent = (m.candidate / m.baseline - 1) * 100;
  const double gain = higher_is_better ? m.delta_percent : -m.delta_percent;
  m.change = std::abs(gain) <= margin ? Change::kEquivalent : gain > 0 ? Change::kImproved : Change::kRegressed;
  for (const Json* row : {&old_row, &new_row}) {
    const std::string verdict = origin_text(*row, "verdict");
    if (verdict.empty() || verdict == "VALID") continue;
    m.change = Change::kInconclusive;
    m.note = fmt::format("the {} is {}", row == &old_row ? "baseline" : "measurement", verdict);
  }
  return m;
}

using Index = std::map<std::string, const Json*>;

Result<Index> index_rows(const std::vector<Json>& rows, const char* side) {
  Index index;
  for (const Json& row : rows) {
    const std::string key = model::row_point_key(row) + "/" + row.value("task", std::string());
    if (!index.emplace(key, &row).second) return bad_input(fmt::format("two {} rows of one point: {}", side, model::row_label(row)));
  }
  return index;
}

}  // namespace

Result<Comparison> compare(const std::vector<Json>& baseline, const std::vector<Json>& candidate, const std::vector<Json>& baseline_evals,
                           const std::vector<Json>& candidate_evals, Statistic statistic, const Margins& margins) {
  Comparison result;
  result.statistic = statistic;
  const std::string prefix = statistic == Statistic::kMean ? "mean_" : "median_";
  PAWL_ASSIGN(const Index old_rows, index_rows(baseline, "baseline"));
  PAWL_ASSIGN(const Index new_rows, index_rows(candidate, "candidate"));
  for (const Json& row : candidate) {
    PointChange point{.point_key = model::row_point_key(row), .label = model::row_label(row)};
    const auto found = old_rows.find(point.point_key + "/");
    static const Json kNothing = Json::object();
    const Json& old_row = found == old_rows.end() ? kNothing : *found->second;
    point.matched = found != old_rows.end();
    const std::pair<std::string, double> metrics[] = {
        {"tput_per_gpu", margins.throughput}, {"output_tput_per_gpu", margins.throughput}, {prefix + "tpot", margins.tpot}, {prefix + "ttft", margins.ttft}};
    for (const auto& [key, margin] : metrics) {
      const auto family = key.starts_with(prefix) ? key.substr(prefix.size()) : key;
      const model::MetricDefinition* definition = model::find_metric(family);
      MetricChange m = compare_metric(old_row, row, key, definition != nullptr && definition->higher_is_better, margin);
      if (!point.matched) m.note = "no matched baseline";
      point.change = combine(point.change, m.change);
      point.metrics.push_back(std::move(m));
    }
    if (point.matched) {
      ++result.matched;
      result.change = combine(result.change, point.change);
    }
    result.points.push_back(std::move(point));
  }
  for (const Json& row : baseline) {
    if (!new_rows.contains(model::row_point_key(row) + "/")) result.missing.push_back(model::row_label(row));
  }
  PAWL_ASSIGN(const Index old_evals, index_rows(baseline_evals, "baseline eval"));
  PAWL_TRY(index_rows(candidate_evals, "candidate eval"));
  for (const Json& row : candidate_evals) {
    const Json pawl = row.value("pawl", Json::object());
    EvalChange e{.point_key = model::row_point_key(row),
                 .label = model::row_label(row),
                 .task = row.value("task", std::string()),
                 .score = number(row, "em_strict"),
                 .score_se = number(row, "em_strict_se"),
                 .flexible = number(row, "em_flexible"),
                 .n_eff = row.value("n_eff", std::int64_t{0}),
                 .threshold = number(pawl, "threshold"),
                 .passed = pawl.value("passed", false)};
    const auto found = old_evals.find(e.point_key + "/" + e.task);
    if (found == old_evals.end()) {
      e.note = "no published eval of this task at this point";
      for (const Json& other : baseline_evals) {
        if (other.value("task", std::string()) != e.task) continue;
        e.note = fmt::format("published only at {}: indicative, no delta", model::row_label(other));
        break;
      }
    } else if (origin_text(*found->second, "definition") != origin_text(row, "definition")) {
      e.note = "the baseline used another definition of the task";
    } else {
      e.baseline = number(*found->second, "em_strict");
      e.baseline_n = found->second->value("n_eff", std::int64_t{0});
    }
    result.evals.push_back(std::move(e));
  }
  return result;
}

}  // namespace pawl::compare
