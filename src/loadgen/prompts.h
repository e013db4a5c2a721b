#pragma once

#include <cstdint>
#include <string>

#include "loadgen/load.h"
#include "loadgen/record.h"
#include "loadgen/target.h"

namespace pawl::loadgen {

/// A small generator of 64-bit numbers (splitmix64): the same seed gives the same numbers on every machine.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// Uniform over [low, high], both included.
  std::int64_t between(std::int64_t low, std::int64_t high);

 private:
  std::uint64_t state_;
};

enum class Phase { kWarmup, kMeasured };

/// A request ready to go out.
struct PlannedRequest {
  RequestRecord record;  ///< with the lengths that were asked for
  std::string bytes;     ///< head and body
};

/// Makes requests. What number `index` of a phase looks like depends on the seed and on nothing else: not on timing,
/// not on the order of calls. Warm-ups share no prompts with measured requests.
class RequestBuilder {
 public:
  /// Both must outlive the builder.
  RequestBuilder(const LoadRequest& load, const Target& target);
  [[nodiscard]] PlannedRequest build(Phase phase, std::int64_t index) const;
  [[nodiscard]] Protocol protocol() const { return protocol_; }
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

 private:
  const LoadRequest& load_;
  Protocol protocol_;
  std::string endpoint_;    ///< path
  std::string head_start_;  ///< request line and the fields that never change
  std::string model_;       ///< as a JSON text
};

}  // namespace pawl::loadgen
