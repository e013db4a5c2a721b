#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace pawl::model {

/// One role of a multi-node deployment.
struct Worker {
  std::int64_t num_worker = 0, tp = 0, pp = 1, dcp_size = 1, pcp_size = 1, ep = 1;
  bool dp_attn = false;
  std::string hardware;  ///< empty when the recipe names none
  bool operator==(const Worker&) const = default;
};
BOOST_DESCRIBE_STRUCT(Worker, (), (num_worker, tp, pp, dcp_size, pcp_size, ep, dp_attn, hardware))

/// One measured cell: recipe, scenario, topology and concurrency, as a typed reading of a matrix row. The row itself
/// (`codec::Json`, in the contract's key order) stays the source: it is what files and other programs see.
struct Point {
  std::string image, model, model_prefix, precision, framework, runner;
  std::optional<std::int64_t> isl, osl;  ///< tokens; absent for agentic-coding
  std::int64_t tp = 1, pp = 1, dcp_size = 1, pcp_size = 1, ep = 1;
  bool dp_attn = false;
  std::optional<Worker> prefill, decode;  ///< set for multi-node rows, where tp…dp_attn above are unused
  std::string spec_decoding = "none";
  std::int64_t conc = 1;  ///< of a row with several: the first
  std::string exp_name;
  std::string scenario;  ///< "fixed-seq-len" or "agentic-coding"
  bool disagg = false;
  bool eval_only = false;

  /// GPUs that the deployment occupies: tp·pp·pcp, or the sum over workers and roles.
  [[nodiscard]] std::int64_t gpus() const;
  /// "8k/1k", "512/64", "AgentX"
  [[nodiscard]] std::string workload() const;
  /// "TP2/EP1", "PTP4x1/DTP4x2"
  [[nodiscard]] std::string topology() const;
  /// "TP2/EP1 conc 4"
  [[nodiscard]] std::string label() const;
};

/// Reads a matrix row of any of the four layouts (recipes-matrix-changelog 8).
[[nodiscard]] Result<Point> point_of_row(const codec::Json& row);

/// What makes two rows of different images the same point: SHA-256 over the sorted row without image, experiment name,
/// fingerprint, priority, queue token and the eval marks (upgrade-loop 2). 64 hex digits; show the first 6.
[[nodiscard]] std::string point_key(const codec::Json& row);

/// The row without its concurrency: rows that share it are one deployment shape.
[[nodiscard]] std::string shape_key(const codec::Json& row);

/// `recipe-fingerprint` of recipes-matrix-changelog 12.8.
[[nodiscard]] std::string recipe_fingerprint(const codec::Json& row);

}  // namespace pawl::model
