#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"

namespace pawl::evals {

/// One score of two evals over the questions that both answered: paired, so that questions of equal difficulty cancel out.
struct ScoreChange {
  std::string name;  ///< "strict", "flexible", "accuracy"
  double before = 0, after = 0, difference = 0;
  double low = 0, high = 0;                ///< 95 % interval of the difference: ± 1.96 standard errors of the paired differences
  std::vector<std::int64_t> lost, gained;  ///< numbers of the questions that were right before only, and after only
  double p_value = 1;                      ///< McNemar's exact test: how likely so uneven a split of them is by chance, two-sided
};
BOOST_DESCRIBE_STRUCT(ScoreChange, (), (name, before, after, difference, low, high, lost, gained, p_value))

struct EvalComparison {
  std::string schema = "pawl.eval-comparison/1";
  std::string task, definition;
  std::int64_t both = 0;          ///< questions that both answered
  std::int64_t texts_differ = 0;  ///< of these, answered in other words
  std::vector<ScoreChange> scores;
  bool worse = false;  ///< a score fell, with p < 0.05
};
BOOST_DESCRIBE_STRUCT(EvalComparison, (), (schema, task, definition, both, texts_differ, scores, worse))

/// Errors: two definitions, whose scores are never compared; no question that both answered.
[[nodiscard]] Result<EvalComparison> compare(const model::EvalResult& before, const model::EvalResult& after);

/// The probability of a split of `a + b` fair coins at least as uneven as this one. Pure.
[[nodiscard]] double mcnemar_p(std::int64_t a, std::int64_t b);

}  // namespace pawl::evals
