#include "evals/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace pawl::evals {
namespace {

constexpr double kChance = 0.05, kTwoSided95 = 1.959963984540054;

}  // namespace

double mcnemar_p(std::int64_t a, std::int64_t b) {
  const std::int64_t n = a + b, few = std::min(a, b);
  if (n == 0) return 1;
  double tail = 0;
  for (std::int64_t k = 0; k <= few; ++k) {
    const auto nd = static_cast<double>(n), kd = static_cast<double>(k);
    tail += std::exp(std::lgamma(nd + 1) - std::lgamma(kd + 1) - std::lgamma(nd - kd + 1) - nd * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

Result<EvalComparison> compare(const model::EvalResult& before, const model::EvalResult& after) {
  if (before.definition != after.definition) {
    return bad_input(
        fmt::format("two definitions: {} ({}) and {} ({})", before.task, before.definition.substr(0, 12), after.task, after.definition.substr(0, 12)),
        "scores of different prompts, filters or questions say nothing about an engine");
  }
  EvalComparison out;
  out.task = before.task;
  out.definition = before.definition;
  std::map<std::int64_t, std::pair<const model::EvalSample*, const model::EvalSample*>> pairs;
  for (const model::EvalSample& sample : before.samples) pairs[sample.doc_id].first = &sample;
  for (const model::EvalSample& sample : after.samples) pairs[sample.doc_id].second = &sample;
  std::erase_if(pairs, [](const auto& pair) { return pair.second.first == nullptr || pair.second.second == nullptr; });
  if (pairs.empty()) return bad_input("no question was answered in both evals", "samples are kept with --output");
  out.both = static_cast<std::int64_t>(pairs.size());
  for (const auto& [document, pair] : pairs) out.texts_differ += pair.first->response != pair.second->response ? 1 : 0;
  const bool choices = std::isfinite(before.accuracy) || pairs.begin()->second.first->log_likelihoods.has_value();
  using Passed = bool model::EvalSample::*;
  std::vector<std::pair<const char*, Passed>> scores{{choices ? "accuracy" : "strict", &model::EvalSample::passed_strict}};
  if (!choices) scores.emplace_back("flexible", &model::EvalSample::passed_flexible);
  for (const auto& [name, passed] : scores) {
    ScoreChange one;
    one.name = name;
    std::int64_t was = 0, is = 0;
    for (const auto& [document, pair] : pairs) {
      const bool right_before = pair.first->*passed, right_after = pair.second->*passed;
      was += right_before ? 1 : 0;
      is += right_after ? 1 : 0;
      if (right_before && !right_after) one.lost.push_back(document);
      if (!right_before && right_after) one.gained.push_back(document);
    }
    const auto n = static_cast<double>(pairs.size());
    const auto lost = static_cast<double>(one.lost.size()), gained = static_cast<double>(one.gained.size());
    one.before = static_cast<double>(was) / n;
    one.after = static_cast<double>(is) / n;
    one.difference = one.after - one.before;
    // Differences are −1, 0 and 1: their variance over n − 1.
    const double variance = n < 2 ? 0 : (lost + gained - (gained - lost) * (gained - lost) / n) / (n - 1);
    const double error = std::sqrt(variance / n);
    one.low = one.difference - kTwoSided95 * error;
    one.high = one.difference + kTwoSided95 * error;
    one.p_value = mcnemar_p(static_cast<std::int64_t>(one.lost.size()), static_cast<std::int64_t>(one.gained.size()));
    out.worse = out.worse || (one.difference < 0 && one.p_value < kChance);
    out.scores.push_back(std::move(one));
  }
  return out;
}

}  // namespace pawl::evals
