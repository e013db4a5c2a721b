#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/stream_reader.h"
#include "loadgen/load.h"
#include "loadgen/record.h"
#include "loadgen/target.h"
#include "workload/workload.h"

namespace pawl::loadgen {

/// A request ready to go out.
struct PlannedRequest {
  RequestRecord record;          ///< with the lengths that were asked for
  std::string bytes;             ///< what follows the head of the server it goes to (`RequestBuilder::head`)
  std::optional<Nanos> arrival;  ///< offset from the start; only data sets with times of their own
  std::size_t echo_bytes = 0;    ///< of the prompt's text, where the answer begins with it
};

/// Turns the prompts of a workload into bytes. What number `index` of a phase looks like depends on the workload and on
/// nothing else: not on timing, not on the order of calls. Immutable; any number of threads.
class RequestBuilder {
 public:
  /// `load` must outlive the builder. Without a workload in it the prompts are random ones of its lengths.
  explicit RequestBuilder(const LoadRequest& load);

  [[nodiscard]] PlannedRequest build(Phase phase, std::int64_t index) const;
  /// A turn that goes on from live replies: `prompt` with the whole conversation in place of its own messages.
  [[nodiscard]] PlannedRequest build_turn(Phase phase, std::int64_t index, workload::Prompt prompt, std::vector<workload::Message> conversation) const;
  /// What is known of a request before it is sent.
  [[nodiscard]] RequestRecord plan(Phase phase, std::int64_t index, const workload::Prompt& prompt) const;
  /// The first part of every request to one server: request line and the fields that never change.
  [[nodiscard]] std::string head(const Target& target) const;

  [[nodiscard]] workload::Prompt prompt(Phase phase, std::int64_t index) const;
  /// The requests of session number `unit`; a warm-up has one each.
  [[nodiscard]] workload::SessionSpan span(Phase phase, std::int64_t unit) const;
  [[nodiscard]] const workload::Workload& workload() const { return *workload_; }
  [[nodiscard]] const backend::Backend& backend() const { return *backend_; }
  [[nodiscard]] backend::ReadOptions read_options() const;
  /// Path of the requests, after the prefix of the target.
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

 private:
  [[nodiscard]] PlannedRequest write(Phase phase, std::int64_t index, const workload::Prompt& prompt) const;

  const LoadRequest& load_;
  std::shared_ptr<const workload::Workload> workload_;
  const backend::Backend* backend_;
  backend::BodyOptions options_;
  std::string endpoint_;
};

}  // namespace pawl::loadgen
