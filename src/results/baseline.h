#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/domain/results_source.h"
#include "model/point.h"
#include "results/answer_source.h"
#include "results/deployment.h"
#include "results/model_names.h"

namespace pawl::results {

/// A point of a recipe in the words of the public API.
struct WantedPoint {
  std::string label, point_key;
  Deployment deployment;  ///< GPU counts as the topology says
  std::optional<std::int64_t> isl, osl;
  std::int64_t conc = 0;
};

/// A matrix row's point as the API names it. Error: the table of names does not know the model.
[[nodiscard]] Result<WantedPoint> wanted_point(const codec::Json& matrix_row, const ModelNames& names);

struct BaselineRequest {
  std::string recipe;
  std::string display;  ///< of the model
  std::string image;    ///< that the baseline must have measured
  std::optional<std::string> date;
  std::vector<WantedPoint> points;
};

struct BaselinePoint {
  std::string label, point_key;
  std::string result_id;  ///< may be empty: old answers have none
  codec::Json row;        ///< as the API gives it
};
BOOST_DESCRIBE_STRUCT(BaselinePoint, (), (label, point_key, result_id, row))

/// The run that measured the points, as far as the API tells.
struct BaselineProducer {
  std::int64_t run = 0, attempt = 0;
  std::string url, head, change_request;
};
BOOST_DESCRIBE_STRUCT(BaselineProducer, (), (run, attempt, url, head, change_request))

/// What was published of an image of a recipe on one day (upgrade-loop 6), with what a reader must know about it.
struct FrozenBaseline {
  std::string recipe, model, date, image;
  std::vector<BaselineProducer> producers;
  std::vector<BaselinePoint> points;  ///< in the order that was asked for
  std::vector<std::string> missing;   ///< labels of points without a published row
  std::vector<codec::Json> evals;
  std::string eval_note;             ///< why there is no eval; empty when there is one
  std::vector<std::string> notes;    ///< anomalies of the feed (upgrade-loop 6.4)
  std::vector<std::string> sources;  ///< queries, as a reader can repeat them
};
BOOST_DESCRIBE_STRUCT(FrozenBaseline, (), (recipe, model, date, image, producers, points, missing, evals, eval_note, notes, sources))

/// Asks for the benchmarks of the model on the day exactly, the workflow-info of the day, and the evaluations of the model
/// on the day; for the evaluations of all days when the day has none of this identity. Without `date`: the newest day on
/// which the image was measured. Points are matched by model, hardware, framework, precision, speculative decoding,
/// topology, lengths, concurrency and image. Errors: kNotFound when no point was published; kConflict when two different
/// rows claim to be one point; those of the source.
[[nodiscard]] Result<FrozenBaseline> freeze_baseline(AnswerSource& source, const BaselineRequest& request);

/// Baselines out of answers of the results API, for the upgrade loop. `request_of` says what a recipe's points are.
class AnswerBaselines final : public io::ResultsSource {
 public:
  using RequestOf = std::function<Result<BaselineRequest>(const std::string& recipe)>;
  /// `source` is not copied.
  AnswerBaselines(AnswerSource& source, RequestOf request_of) : source_(&source), request_of_(std::move(request_of)) {}
  /// A publication that lacks a wanted point is none. Rows are result rows, in the order of `point_keys`.
  Result<std::optional<io::Baseline>> newest(const std::string& recipe, const std::string& image, const std::vector<std::string>& point_keys) override;

 private:
  AnswerSource* source_;
  RequestOf request_of_;
};

}  // namespace pawl::results
