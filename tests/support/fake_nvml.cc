// A simulation of NVIDIA's management library, for tests only: no number of it comes from a GPU, and its GPUs say so by name.
// Power is a function of time; energy is its exact integral, shown in steps as a real counter shows it. Environment:
//   FAKE_NVML_GPUS (1)          FAKE_NVML_WATTS (400)       FAKE_NVML_SWING (0: constant; else a triangle of ± so many watts)
//   FAKE_NVML_PERIOD_S (2)      FAKE_NVML_STEP_MS (97)      FAKE_NVML_READ_MS (4: an energy read takes so long)
//   FAKE_NVML_OLD (1: no instant power, no energy)          FAKE_NVML_BROKEN (1: nvmlInit fails)
//   FAKE_NVML_STOP_S (0; power reads fail after so many seconds)   FAKE_NVML_DRIFT (1: the counter counts so many times too much)
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

double setting(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atof(text) : otherwise;
}

double now_s() {
  static const auto begin = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double watts(double t) {
  const double swing = setting("FAKE_NVML_SWING", 0), period = setting("FAKE_NVML_PERIOD_S", 2);
  const double at = std::fmod(t, period) / period;
  return setting("FAKE_NVML_WATTS", 400) + swing * (at < 0.5 ? 4 * at - 1 : 3 - 4 * at);
}

/// Integral of `watts` from 0 to t.
double joules(double t) {
  const double swing = setting("FAKE_NVML_SWING", 0), period = setting("FAKE_NVML_PERIOD_S", 2);
  const double at = std::fmod(t, period) / period;
  const double part = at < 0.5 ? 2 * at * at - at : 3 * at - 2 * at * at - 1;
  return setting("FAKE_NVML_WATTS", 400) * t + swing * period * part;
}

int copy(char* out, unsigned size, const char* text) {
  std::snprintf(out, size, "%s", text);
  return 0;
}

constexpr int kNotSupported = 3;
constexpr int kGpuIsLost = 15;

bool stopped() {
  const double stop = setting("FAKE_NVML_STOP_S", 0);
  return stop > 0 && now_s() > stop;
}

struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  unsigned type;
  int status;
  unsigned long long value;
};

}  // namespace

extern "C" {

int nvmlInit_v2() {
  now_s();
  return setting("FAKE_NVML_BROKEN", 0) > 0 ? 9 : 0;
}
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int status) { return status == 9 ? "Driver Not Loaded (simulated)" : "simulated error"; }
int nvmlSystemGetDriverVersion(char* out, unsigned size) { return copy(out, size, "0.0-simulated"); }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(setting("FAKE_NVML_GPUS", 1));
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(index + 1));
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned size) {
  char text[64];
  std::snprintf(text, sizeof text, "GPU-simulated-%zu", reinterpret_cast<std::uintptr_t>(device) - 1);
  return copy(out, size, text);
}
int nvmlDeviceGetName(void*, char* out, unsigned size) { return copy(out, size, "Simulated GPU (test library)"); }
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* mw) {
  *mw = 700000;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* mw) {
  if (stopped()) return kGpuIsLost;
  const double t = now_s(), from = t > 1 ? t - 1 : 0;
  *mw = static_cast<unsigned>(1000 * (t > from ? (joules(t) - joules(from)) / (t - from) : watts(t)));
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* mj) {
  if (setting("FAKE_NVML_OLD", 0) > 0) return kNotSupported;
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(setting("FAKE_NVML_READ_MS", 4)));
  const double step = setting("FAKE_NVML_STEP_MS", 97) / 1000;
  const double t = step > 0 ? std::floor(now_s() / step) * step : now_s();
  *mj = static_cast<unsigned long long>(1000 * joules(t) * setting("FAKE_NVML_DRIFT", 1));
  return 0;
}
int nvmlDeviceGetClockInfo(void*, unsigned type, unsigned* mhz) {
  if (type != 1) return kNotSupported;
  *mhz = 1800;
  return 0;
}
int nvmlDeviceGetFieldValues(void*, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    values[i].status = kNotSupported;
    if (values[i].field != 186 || setting("FAKE_NVML_OLD", 0) > 0) continue;
    values[i].status = stopped() ? kGpuIsLost : 0;
    values[i].type = 1;  // unsigned int
    values[i].value = 0;
    const unsigned mw = static_cast<unsigned>(1000 * watts(now_s()));
    std::memcpy(&values[i].value, &mw, sizeof mw);
  }
  return 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* mask) {
  *mask = 0x4;
  return 0;
}
}
