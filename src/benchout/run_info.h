#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "measure/record.h"
#include "model/bench_result.h"

/// A finished run in the file formats of the field (BC-15), as text for a terminal and as a page. Pure: a result and its
/// records in, bytes out.
namespace pawl::benchout {

/// What the formats name beside the result.
struct RunInfo {
  WallTime date;             ///< when the run ended
  std::string label, tag;    ///< free words of the user
  std::string tokenizer_id;  ///< empty: the model's name
  std::string dataset = "random";
  std::map<std::string, std::string> metadata;  ///< the user's own keys
  std::optional<double> request_rate;           ///< per second; nothing: as fast as the cap allows
  double burstiness = 1;
  bool trace_rate = false;                                  ///< arrivals follow a trace
  std::vector<std::string> metrics{"ttft", "tpot", "itl"};  ///< of the vLLM file: families out of ttft, tpot, itl, e2el
  std::vector<double> percentiles{99};                      ///< of the vLLM file: out of 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9
  bool detailed = false;                                    ///< with the arrays of every request
  std::optional<double> predicted_hit_ratio;                ///< of an infinite prefix cache (BC-10.7)
  bool chat = false;
};

/// Calls the function for each record of the run, in the order of their index. Empty: the run kept none.
using Records = std::function<Status(const std::function<void(const measure::RequestRecord&)>&)>;

/// The moment from which the times of records count, on the calendar.
struct Anchor {
  MonoTime origin;
  WallTime wall;
};

}  // namespace pawl::benchout
