#include "steward/file_capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include <boost/describe.hpp>

#include "codec/describe.h"
#include "control/iso_time.h"

namespace pawl::steward {
namespace {

struct Cluster {
  std::vector<std::string> runners;
  std::int64_t total = 0, allocated = 0, mixed = 0, idle = 0;
  std::string status;
  bool stale = false;
};
BOOST_DESCRIBE_STRUCT(Cluster, (), (runners, total, allocated, mixed, idle, status, stale))

struct Document {
  std::string schema, time;
  std::map<std::string, Cluster> clusters;
};
BOOST_DESCRIBE_STRUCT(Document, (), (schema, time, clusters))

constexpr std::int64_t kNodesMax = 10'000'000;

io::Capacity no(std::string reason) { return {false, std::move(reason)}; }

}  // namespace

io::Capacity judge_capacity(const std::string& text, const std::string& runner, std::int64_t below_percent, WallTime now) {
  const auto json = codec::parse_json(text, "capacity");
  if (!json) return no("telemetry unusable: " + json.error().message);
  const auto document = codec::from_json<Document>(*json, "capacity");
  if (!document) return no("telemetry unusable: " + document.error().message);
  if (document->schema != "pawl.capacity/1") return no("telemetry unusable: schema");
  const auto time = control::parse_iso_utc(document->time);
  if (!time) return no("telemetry unusable: " + time.error().message);
  const Nanos age = now - *time;
  if (age > Seconds{120}) return no("telemetry unusable: too old");
  if (age < Seconds{-5}) return no("telemetry unusable: from the future");
  bool any = false;
  for (const auto& [name, c] : document->clusters) {
    const bool targeted = runner == "cluster:" + name || std::ranges::find(c.runners, runner) != c.runners.end();
    if (!targeted) continue;
    any = true;
    const auto sane = [](std::int64_t nodes) { return nodes >= 0 && nodes <= kNodesMax; };
    if (!sane(c.total) || !sane(c.allocated) || !sane(c.mixed) || !sane(c.idle) || c.total == 0 || c.allocated + c.mixed + c.idle > c.total) {
      return no(fmt::format("telemetry unusable: the node counts of {} cannot be", name));
    }
    if (c.stale) return no(fmt::format("telemetry unusable: {} calls itself stale", name));
    if (c.status != "operational" && c.status != "degraded") return no(fmt::format("busy: {} is {}", name, c.status));
    if (c.idle < 1) return no(fmt::format("busy: {} has no idle node", name));
    if ((c.allocated + c.mixed) * 100 >= c.total * below_percent) return no(fmt::format("busy: {} is at the bound", name));
  }
  if (!any) return no("telemetry unusable: no cluster serves " + runner);
  return {true, {}};
}

Result<io::Capacity> FileCapacity::check(const std::string& runner, std::int64_t below_percent) {
  const auto text = files_.read(path_, 1u << 20);
  if (!text) return no("telemetry unusable: " + text.error().message);
  return judge_capacity(*text, runner, below_percent, clock_.wall());
}

}  // namespace pawl::steward
