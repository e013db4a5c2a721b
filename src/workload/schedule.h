#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "workload/split_mix.h"

namespace pawl::workload {

enum class ArrivalProcess {
  kConstant,  ///< equal gaps
  kGamma,     ///< gaps of a gamma distribution with shape = burstiness; 1 is Poisson, below 1 burstier
  kAtOnce,    ///< all at the start
};
BOOST_DESCRIBE_ENUM(ArrivalProcess, kConstant, kGamma, kAtOnce)

/// How the rate moves within a stage.
enum class StageShape { kLinear, kExponential };
BOOST_DESCRIBE_ENUM(StageShape, kLinear, kExponential)

/// A span of the schedule. Equal rates at both ends: a constant stage.
struct Stage {
  double from_rate = 1, to_rate = 1;  ///< requests per second, above 0
  double duration_s = 0;              ///< above 0; of the last stage 0 means without end, at `to_rate`
  StageShape shape = StageShape::kLinear;
};
BOOST_DESCRIBE_STRUCT(Stage, (), (from_rate, to_rate, duration_s, shape))

/// Open-loop arrivals (BC-9.1..9.4). The process is drawn at rate 1 and stretched by the inverse of the cumulative rate,
/// so that one burstiness holds through every ramp.
struct ArrivalPlan {
  ArrivalProcess process = ArrivalProcess::kGamma;
  double burstiness = 1;
  std::vector<Stage> stages;  ///< at least one, unless all at once
  std::int64_t seed = 0;
  std::uint64_t salt = 0;                 ///< BC-9.10
  bool first_at_start = true;             ///< the first request at offset 0; false: one gap after it
  std::optional<std::int64_t> rescale_n;  ///< BC-9.3: stretched so that the last of n comes at n / rate; one endless constant stage only
};
BOOST_DESCRIBE_STRUCT(ArrivalPlan, (), (process, burstiness, stages, seed, salt, first_at_start, rescale_n))

/// A plan of one rate for ever.
[[nodiscard]] ArrivalPlan constant_rate_plan(ArrivalProcess process, double rate_per_s, double burstiness, std::int64_t seed);

/// The arrival offsets of a plan, one after the other; never falling. Memory does not grow with their number. A copy
/// goes on by itself: parallel workers copy one schedule and each take their own indexes of the one sequence (BC-9.11).
class Schedule {
 public:
  /// Errors: kInvalid for a rate, burstiness or duration that is not above 0 and finite, for missing stages, for a
  /// rescaling of anything but one endless constant stage.
  static Result<Schedule> make(const ArrivalPlan& plan);

  /// The offset from the start instant of the next request; nothing after the end of the last stage.
  [[nodiscard]] std::optional<Nanos> next();

 private:
  explicit Schedule(const ArrivalPlan& plan);
  double unit_gap();
  std::optional<double> time_at(double cumulated);

  ArrivalPlan plan_;
  SplitMix64 random_;
  double cumulated_ = 0;   ///< of the process at rate 1
  double stretch_ = 1;     ///< from rescaling
  std::size_t stage_ = 0;  ///< that the next offset falls into, or a later one
  double stage_start_s_ = 0;
  double stage_start_cumulated_ = 0;
  bool started_ = false;
};

}  // namespace pawl::workload
