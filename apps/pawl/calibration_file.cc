#include "calibration_file.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstdlib>

#include "base/time.h"
#include "codec/describe.h"
#include "version.h"

namespace pawl::app {
namespace {

std::filesystem::path calibration_path() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') return std::filesystem::path(cache) / "pawl/calibration.json";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') return std::filesystem::path(home) / ".cache/pawl/calibration.json";
  return {};
}

utsname this_system() {
  utsname system{};
  ::uname(&system);
  return system;
}

}  // namespace

std::optional<model::Calibration> latest_calibration(const World& world) {
  const auto path = calibration_path();
  if (path.empty()) return std::nullopt;
  const auto text = world.files.read(path);
  if (!text) return std::nullopt;
  const auto json = codec::parse_json(*text, path.string());
  if (!json) return std::nullopt;
  auto calibration = codec::from_json<model::Calibration>(*json, path.string());
  const utsname system = this_system();
  if (!calibration || calibration->host != system.nodename || calibration->kernel != system.release) return std::nullopt;
  return std::move(*calibration);
}

Status keep_calibration(const World& world, const model::Calibration& calibration) {
  const auto path = calibration_path();
  if (path.empty()) return bad_input("there is no folder to keep the calibration in", "set HOME or XDG_CACHE_HOME");
  return world.files.write_atomic(path, codec::write_json_pretty(codec::to_json(calibration)));
}

void sign_calibration(const World& world, model::Calibration& calibration) {
  const utsname system = this_system();
  calibration.taken_at = iso_utc(world.clock.wall());
  calibration.host = system.nodename;
  calibration.kernel = system.release;
  calibration.version = kVersion;
}

std::string calibration_line(const model::Calibration& c) {
  return fmt::format("TTFT {:+.3f} ms (p99 {:.3f}), after the opening burst {:+.3f} (p99 {:.3f}), gaps p99 {:.3f}, at {} streams of {} ms",
                     c.ttft_error_mean_ms, c.ttft_error_p99_ms, c.ttft_error_after_burst_mean_ms, c.ttft_error_after_burst_p99_ms, c.gap_error_p99_ms,
                     c.streams, c.gap_ms);
}

}  // namespace pawl::app
