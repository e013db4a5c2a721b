#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pawl::telemetry {

/// NVIDIA's management library, loaded when it is needed: nothing links against it. Every function but `open` is
/// thread-safe, as NVML is. What a GPU or a driver does not support reads as nothing.
class Nvml {
 public:
  /// Loads `library` (empty: libnvidia-ml.so.1 where drivers put it) and initialises it. Errors: kNotFound without a library
  /// or without a driver; the message names what was tried.
  [[nodiscard]] static Result<std::shared_ptr<Nvml>> open(const std::filesystem::path& library);
  virtual ~Nvml() = default;

  [[nodiscard]] virtual std::string driver() const = 0;
  [[nodiscard]] virtual std::string library() const = 0;
  [[nodiscard]] virtual unsigned count() const = 0;
  [[nodiscard]] virtual std::string uuid(unsigned gpu) const = 0;
  [[nodiscard]] virtual std::string name(unsigned gpu) const = 0;
  [[nodiscard]] virtual std::optional<double> limit_w(unsigned gpu) const = 0;
  /// nvmlDeviceGetPowerUsage: on recent GPUs the average of the last second.
  [[nodiscard]] virtual std::optional<double> average_w(unsigned gpu) const = 0;
  /// Field 186: the power of the moment.
  [[nodiscard]] virtual std::optional<double> instant_w(unsigned gpu) const = 0;
  /// Energy since the driver was loaded. Slow (4 ms on an H200), and steps every 100 ms or so.
  [[nodiscard]] virtual std::optional<double> energy_j(unsigned gpu) const = 0;
  [[nodiscard]] virtual std::optional<double> sm_clock_mhz(unsigned gpu) const = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> throttle(unsigned gpu) const = 0;
};

}  // namespace pawl::telemetry
