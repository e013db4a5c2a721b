#pragma once

#include <string>

#include "io/clock.h"
#include "io/domain/capacity_source.h"
#include "io/files.h"

namespace pawl::steward {

/// Capacity from a file that somebody else keeps up to date, a JSON document:
///   {"schema": "pawl.capacity/1", "time": "2026-11-30T16:03:27Z", "clusters": {"b200-dgxc": {"runners": ["b200"],
///    "total": 40, "allocated": 20, "mixed": 2, "idle": 18, "status": "operational", "stale": false}}}
/// Passes only when every cluster that serves the runner passes: (allocated + mixed) × 100 < total × bound, one node
/// idle, status operational or degraded, not stale, the document at most 120 s old and at most 5 s from the future.
/// Anything missing, unreadable or inconsistent is "no" (upgrade-loop 7); the reason is for people here, never published.
class FileCapacity final : public io::CapacitySource {
 public:
  FileCapacity(const io::Files& files, const io::Clock& clock, std::string path) : files_(files), clock_(clock), path_(std::move(path)) {}
  Result<io::Capacity> check(const std::string& runner, std::int64_t below_percent) override;

 private:
  const io::Files& files_;
  const io::Clock& clock_;
  std::string path_;
};

/// The rule itself. Pure.
[[nodiscard]] io::Capacity judge_capacity(const std::string& document, const std::string& runner, std::int64_t below_percent, WallTime now);

}  // namespace pawl::steward
