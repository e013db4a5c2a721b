#include "telemetry/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace pawl::telemetry {
namespace {

// The part of NVML's binary interface that is used here; stable since driver 450.
using Device = void*;
constexpr int kSuccess = 0;
constexpr unsigned kClockSm = 1;
constexpr unsigned kFieldPowerInstant = 186;
constexpr unsigned kNoScope = 0;
enum ValueType : unsigned { kDouble = 0, kUint = 1, kUlong = 2, kUlonglong = 3, kSlonglong = 4, kInt = 5 };

struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp_us;
  long long latency_us;
  unsigned type;
  int status;
  union {
    double as_double;
    int as_int;
    unsigned as_uint;
    unsigned long as_ulong;
    unsigned long long as_ulonglong;
    long long as_slonglong;
  } value;
};
static_assert(sizeof(FieldValue) == 40, "nvmlFieldValue_t");

class Loaded final : public Nvml {
 public:
  static Result<std::shared_ptr<Nvml>> load(void* handle, const std::string& path) {
    std::shared_ptr<Loaded> out(new Loaded);
    out->handle_ = handle;
    out->library_ = path;
    out->find(out->init_, "nvmlInit_v2");
    out->find(out->shutdown_, "nvmlShutdown");
    out->find(out->error_text_, "nvmlErrorString");
    out->find(out->driver_version_, "nvmlSystemGetDriverVersion");
    out->find(out->get_count_, "nvmlDeviceGetCount_v2");
    out->find(out->get_handle_, "nvmlDeviceGetHandleByIndex_v2");
    out->find(out->get_uuid_, "nvmlDeviceGetUUID");
    out->find(out->get_name_, "nvmlDeviceGetName");
    out->find(out->get_limit_, "nvmlDeviceGetEnforcedPowerLimit");
    out->find(out->get_power_, "nvmlDeviceGetPowerUsage");
    out->find(out->get_energy_, "nvmlDeviceGetTotalEnergyConsumption");
    out->find(out->get_clock_, "nvmlDeviceGetClockInfo");
    out->find(out->get_fields_, "nvmlDeviceGetFieldValues");
    out->find(out->get_throttle_, "nvmlDeviceGetCurrentClocksEventReasons");
    if (out->get_throttle_ == nullptr) out->find(out->get_throttle_, "nvmlDeviceGetCurrentClocksThrottleReasons");
    if (out->init_ == nullptr || out->get_count_ == nullptr || out->get_handle_ == nullptr || out->get_power_ == nullptr) {
      return not_found(fmt::format("{} is no NVML, or one older than driver 450", path));
    }
    if (const int status = out->init_(); status != kSuccess) {
      return not_found(fmt::format("{}: nvmlInit: {}", path, out->text(status)), "is the driver of the GPU loaded? nvidia-smi says more");
    }
    out->ready_ = true;
    unsigned count = 0;
    if (const int status = out->get_count_(&count); status != kSuccess) return not_found(fmt::format("{}: nvmlDeviceGetCount: {}", path, out->text(status)));
    for (unsigned i = 0; i < count; ++i) {
      Device device = nullptr;
      if (const int status = out->get_handle_(i, &device); status != kSuccess) {
        return not_found(fmt::format("{}: GPU {}: {}", path, i, out->text(status)));
      }
      out->devices_.push_back(device);
    }
    return std::shared_ptr<Nvml>(std::move(out));
  }

  ~Loaded() override {
    if (ready_ && shutdown_ != nullptr) shutdown_();
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  [[nodiscard]] std::string driver() const override {
    std::array<char, 96> text{};
    if (driver_version_ == nullptr || driver_version_(text.data(), text.size() - 1) != kSuccess) return {};
    return text.data();
  }
  [[nodiscard]] std::string library() const override { return library_; }
  [[nodiscard]] unsigned count() const override { return static_cast<unsigned>(devices_.size()); }
  [[nodiscard]] std::string uuid(unsigned gpu) const override { return text_of(get_uuid_, gpu); }
  [[nodiscard]] std::string name(unsigned gpu) const override { return text_of(get_name_, gpu); }
  [[nodiscard]] std::optional<double> limit_w(unsigned gpu) const override { return milli_of(get_limit_, gpu); }
  [[nodiscard]] std::optional<double> average_w(unsigned gpu) const override { return milli_of(get_power_, gpu); }

  [[nodiscard]] std::optional<double> instant_w(unsigned gpu) const override {
    if (get_fields_ == nullptr) return std::nullopt;
    FieldValue field{};
    field.field = kFieldPowerInstant;
    field.scope = kNoScope;
    if (get_fields_(devices_[gpu], 1, &field) != kSuccess || field.status != kSuccess) return std::nullopt;
    switch (field.type) {
      case kUint:
        return field.value.as_uint / 1000.0;
      case kUlong:
        return static_cast<double>(field.value.as_ulong) / 1000.0;
      case kUlonglong:
        return static_cast<double>(field.value.as_ulonglong) / 1000.0;
      default:
        return std::nullopt;
    }
  }

  [[nodiscard]] std::optional<double> energy_j(unsigned gpu) const override {
    unsigned long long mj = 0;
    if (get_energy_ == nullptr || get_energy_(devices_[gpu], &mj) != kSuccess) return std::nullopt;
    return static_cast<double>(mj) / 1000.0;
  }
  [[nodiscard]] std::optional<double> sm_clock_mhz(unsigned gpu) const override {
    unsigned mhz = 0;
    if (get_clock_ == nullptr || get_clock_(devices_[gpu], kClockSm, &mhz) != kSuccess) return std::nullopt;
    return mhz;
  }
  [[nodiscard]] std::optional<std::uint64_t> throttle(unsigned gpu) const override {
    unsigned long long mask = 0;
    if (get_throttle_ == nullptr || get_throttle_(devices_[gpu], &mask) != kSuccess) return std::nullopt;
    return mask;
  }

 private:
  using GetText = int (*)(Device, char*, unsigned);
  using GetUint = int (*)(Device, unsigned*);
  using GetUlonglong = int (*)(Device, unsigned long long*);

  Loaded() = default;
  template <class F>
  void find(F& function, const char* symbol) {
    function = reinterpret_cast<F>(::dlsym(handle_, symbol));
  }
  [[nodiscard]] std::string text(int status) const {
    const char* words = error_text_ != nullptr ? error_text_(status) : nullptr;
    return words != nullptr ? words : fmt::format("status {}", status);
  }
  [[nodiscard]] std::string text_of(GetText get, unsigned gpu) const {
    std::array<char, 128> text{};
    if (get == nullptr || get(devices_[gpu], text.data(), text.size() - 1) != kSuccess) return {};
    return text.data();
  }
  [[nodiscard]] std::optional<double> milli_of(GetUint get, unsigned gpu) const {
    unsigned value = 0;
    if (get == nullptr || get(devices_[gpu], &value) != kSuccess) return std::nullopt;
    return value / 1000.0;
  }

  void* handle_ = nullptr;
  std::string library_;
  bool ready_ = false;
  std::vector<Device> devices_;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  const char* (*error_text_)(int) = nullptr;
  int (*driver_version_)(char*, unsigned) = nullptr;
  int (*get_count_)(unsigned*) = nullptr;
  int (*get_handle_)(unsigned, Device*) = nullptr;
  GetText get_uuid_ = nullptr, get_name_ = nullptr;
  GetUint get_limit_ = nullptr, get_power_ = nullptr;
  GetUlonglong get_energy_ = nullptr, get_throttle_ = nullptr;
  int (*get_clock_)(Device, unsigned, unsigned*) = nullptr;
  int (*get_fields_)(Device, int, FieldValue*) = nullptr;
};

}  // namespace

Result<std::shared_ptr<Nvml>> Nvml::open(const std::filesystem::path& library) {
  std::vector<std::string> candidates{library.string()};
  if (library.empty()) {
    // By its name as the loader finds it, then where drivers, containers and WSL put it.
    candidates = {"libnvidia-ml.so.1",
                  "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
                  "/usr/lib64/libnvidia-ml.so.1",
                  "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
                  "/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
                  "/run/opengl-driver/lib/libnvidia-ml.so.1",
                  "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
  }
  std::string first_problem;
  for (const std::string& path : candidates) {
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      if (first_problem.empty()) first_problem = ::dlerror();
      continue;
    }
    return Loaded::load(handle, path);
  }
  return not_found("NVML cannot be loaded: " + first_problem, "it comes with the driver of an NVIDIA GPU, as libnvidia-ml.so.1");
}

}  // namespace pawl::telemetry
