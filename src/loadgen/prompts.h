#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backend/backend.h"
#include "loadgen/load.h"
#include "loadgen/record.h"
#include "loadgen/target.h"
#include "workload/workload.h"

namespace pawl::loadgen {

/// A request ready to go out.
struct PlannedRequest {
  RequestRecord record;  ///< with the lengths that were asked for
  std::string bytes;     ///< head and body
};

/// Turns the prompts of a workload into bytes. What number `index` of a phase looks like depends on the workload and on
/// nothing else: not on timing, not on the order of calls.
class RequestBuilder {
 public:
  /// Both must outlive the builder. Without a workload in `load` the prompts are random ones of its lengths.
  RequestBuilder(const LoadRequest& load, const Target& target);
  [[nodiscard]] PlannedRequest build(Phase phase, std::int64_t index) const;
  [[nodiscard]] const backend::Backend& protocol() const { return *backend_; }
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

 private:
  const LoadRequest& load_;
  std::shared_ptr<const workload::Workload> workload_;
  const backend::Backend* backend_;
  backend::BodyOptions options_;
  std::string endpoint_;    ///< path
  std::string head_start_;  ///< request line and the fields that never change
};

}  // namespace pawl::loadgen
