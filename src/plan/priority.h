#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace pawl::plan {

/// `ci-priority.yaml`, version 1 (recipes-matrix-changelog 14). Points are in units of 10^-9, so that sums are exact.
struct PriorityPolicy {
  using Points = std::int64_t;
  using Table = std::vector<std::pair<std::string, Points>>;  ///< in file order

  Points base = 0, multi_node = 0, agentic = 0, eval_only = 0, checklist = 0, patchwork = 0;
  Table events, precisions, spec_decodings, frameworks, model_prefixes;
  std::string skip_label;
  std::vector<std::string> checklist_labels, patchwork_labels, patchwork_waivers;

  /// Errors carry file and place: text that is no YAML, another version, a number that is none.
  static Result<PriorityPolicy> read(const std::string& bytes, const std::string& name);
  /// Every word that `criteria` may hold.
  [[nodiscard]] std::vector<std::string> known_criteria() const;
};

/// What is known about the run besides its rows.
struct PriorityInput {
  std::string event;  ///< "push", "pull_request"
  std::vector<std::string> labels;
  std::optional<std::int64_t> pull_request;
  std::string queue_namespace = "local";
  std::optional<std::vector<std::string>> criteria;  ///< given: only these facts of a row count, even when it is empty
};

/// The matrix with `priority`, `queue-token` and, where the skip label asks for it, `skip-queue-pr` appended to every row at
/// any depth (an object with `runner` and `framework`). Everything else is copied. Error: an unknown criterion, with the
/// nearest known one.
[[nodiscard]] Result<codec::Json> annotate_priorities(const PriorityPolicy& policy, const codec::Json& matrix, const PriorityInput& input);

/// "3.250"
[[nodiscard]] std::string priority_of(const PriorityPolicy& policy, const codec::Json& row, const PriorityInput& input);

}  // namespace pawl::plan
