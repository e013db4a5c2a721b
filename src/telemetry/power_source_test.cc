#include "telemetry/power_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

#include "posix/real_clock.h"
#include "posix/real_files.h"
#include "posix/real_processes.h"
#include "telemetry/nvml.h"

namespace pawl::telemetry {
namespace {

/// Every GPU here is simulated: tests/support/fake_nvml.cc.
class Simulated : public ::testing::Test {
 protected:
  ~Simulated() override {
    for (const auto& [name, before] : before_) {
      if (before) {
        ::setenv(name.c_str(), before->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }
  void set(const std::string& name, const std::string& value) {
    const char* old = std::getenv(name.c_str());
    before_.try_emplace(name, old != nullptr ? std::optional<std::string>(old) : std::nullopt);
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  SourceOptions nvml(double interval_s = 0.02) {
    SourceOptions options;
    options.kind = "nvml";
    options.library = FAKE_NVML;
    options.interval_s = interval_s;
    return options;
  }
  SourceWorld world() { return {clock_, files_, processes_}; }

  /// Watches for `seconds` and gives what the source saw of it.
  Result<model::BenchPower> watch(PowerSource& source, Nanos length, std::int64_t expected = 0) {
    PAWL_TRY(source.start());
    model::BenchResult result;
    result.counts.ok = 4;
    result.total_input_tokens = 100;
    result.total_output_tokens = 50;
    clock_.sleep_for(Millis(30), {});
    source.mark();
    result.started_unix_s = seconds_of(clock_.wall().since_epoch);
    clock_.sleep_for(length, {});
    result.ended_unix_s = seconds_of(clock_.wall().since_epoch);
    source.mark();
    result.duration_s = result.ended_unix_s - result.started_unix_s;
    return power_of(source, result, expected, {});
  }

  posix::RealClock clock_;
  posix::RealFiles files_;
  posix::RealProcesses processes_;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(Simulated, ConstantPowerIsFoundAndTheCounterAgrees) {
  set("FAKE_NVML_WATTS", "400");
  set("FAKE_NVML_GPUS", "2");
  set("FAKE_NVML_STEP_MS", "50");
  auto source = open_power_source(nvml(), world());
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->info().gpus.size(), 2u);
  EXPECT_EQ((*source)->info().gpus[0].name, "Simulated GPU (test library)");
  const auto power = watch(**source, Millis(600));
  ASSERT_TRUE(power) << power.error().message;
  ASSERT_TRUE(power->valid) << power->reasons.front().code;
  EXPECT_EQ(power->sensor, "instant");
  EXPECT_NEAR(power->avg_total_gpu_power_w, 800, 0.01);
  EXPECT_NEAR(power->joules_per_output_token, power->total_gpu_energy_j / 50, 1e-6);
  ASSERT_TRUE(power->energy_check);
  // The counter steps every 50 ms here: each of its two reads is up to that much behind, within the 100 ms that are allowed.
  EXPECT_TRUE(power->energy_check->within_error.value_or(false)) << power->energy_check->difference_j << " ± " << power->energy_check->error_j;
  EXPECT_GE(power->energy_check->read_ms, 4);
  EXPECT_EQ(power->sm_clock_mean_mhz, 1800);
  EXPECT_EQ(power->throttle_share.at("sw-power-cap"), 1);
}

TEST_F(Simulated, PowerThatSwingsIsIntegratedRight) {
  set("FAKE_NVML_SWING", "300");
  set("FAKE_NVML_PERIOD_S", "0.5");
  set("FAKE_NVML_STEP_MS", "0");
  auto source = open_power_source(nvml(0.005), world());
  ASSERT_TRUE(source);
  const auto power = watch(**source, Millis(900));
  ASSERT_TRUE(power);
  ASSERT_TRUE(power->energy_check);
  // Against the simulation's exact integral, over the span between its two reads.
  EXPECT_NEAR(power->energy_check->samples_j, power->energy_check->counter_j, 0.1 * power->energy_check->counter_j);
}

TEST_F(Simulated, ACounterThatDisagreesIsSaidAndChangesNothing) {
  set("FAKE_NVML_DRIFT", "2");
  auto source = open_power_source(nvml(), world());
  ASSERT_TRUE(source);
  const auto power = watch(**source, Millis(500));
  ASSERT_TRUE(power);
  EXPECT_TRUE(power->valid);
  ASSERT_TRUE(power->energy_check);
  EXPECT_EQ(power->energy_check->within_error, false);
}

TEST_F(Simulated, AnOlderDriverGivesItsAverageAndNoCounter) {
  set("FAKE_NVML_OLD", "1");
  auto source = open_power_source(nvml(), world());
  ASSERT_TRUE(source);
  const auto power = watch(**source, Millis(200));
  ASSERT_TRUE(power);
  EXPECT_TRUE(power->valid);
  EXPECT_EQ(power->sensor, "average of 1 s");
  EXPECT_FALSE(power->energy_check);
}

TEST_F(Simulated, AGpuThatIsLostMakesItInvalid) {
  auto source = open_power_source(nvml(), world());
  ASSERT_TRUE(source);
  ASSERT_TRUE((*source)->start());
  set("FAKE_NVML_STOP_S", "0.000001");  // from now on
  model::BenchResult result;
  result.counts.ok = result.total_input_tokens = result.total_output_tokens = 1;
  result.started_unix_s = seconds_of(clock_.wall().since_epoch);
  clock_.sleep_for(Millis(100), {});
  result.ended_unix_s = seconds_of(clock_.wall().since_epoch);
  result.duration_s = result.ended_unix_s - result.started_unix_s;
  const auto power = power_of(**source, result, 1, {});
  ASSERT_TRUE(power);
  EXPECT_FALSE(power->valid);
  EXPECT_EQ(power->reasons.at(0).code, "invalid_power_sample");
}

TEST_F(Simulated, FewerGpusThanExpectedAreInvalid) {
  auto source = open_power_source(nvml(), world());
  ASSERT_TRUE(source);
  const auto power = watch(**source, Millis(100), 8);
  ASSERT_TRUE(power);
  EXPECT_EQ(power->reasons.at(0).code, "expected_gpu_count_mismatch");
}

TEST_F(Simulated, AGpuIsChosenByIndexOrUuid) {
  set("FAKE_NVML_GPUS", "3");
  SourceOptions options = nvml();
  options.gpus = {"2", "GPU-simulated-0"};
  auto source = open_power_source(options, world());
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->info().gpus.size(), 2u);
  options.gpus = {"7"};
  EXPECT_EQ(open_power_source(options, world()).error().cls, ErrorClass::kInvalid);
}

TEST_F(Simulated, NoLibraryAndNoDriverAreSaid) {
  SourceOptions options = nvml();
  options.library = "/nonexistent/libnvidia-ml.so.1";
  const auto none = open_power_source(options, world());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().cls, ErrorClass::kNotFound);
  set("FAKE_NVML_BROKEN", "1");
  const auto broken = open_power_source(nvml(), world());
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message.find("Driver Not Loaded"), std::string::npos);
}

TEST_F(Simulated, ACommandInThePathIsReadToItsLastWholeLine) {
  const auto folder = std::filesystem::temp_directory_path() / "pawl-power-test-path";
  std::filesystem::create_directories(folder);
  // Writes as nvidia-smi does, a line each 50 ms, 250 W.
  std::ofstream(folder / "nvidia-smi") << "#!/bin/sh\necho 'timestamp, index, power.draw [W], clocks.current.sm [MHz]'\n"
                                          "while :; do echo \"$(date '+%Y/%m/%d %H:%M:%S.%3N'), 0, 250.00, 1410\"; sleep 0.05; done\n";
  std::filesystem::permissions(folder / "nvidia-smi", std::filesystem::perms::owner_all);
  set("PATH", folder.string() + ":/usr/bin:/bin");
  SourceOptions options;
  options.kind = "nvidia-smi";
  options.interval_s = 0.1;
  auto source = open_power_source(options, world());
  ASSERT_TRUE(source) << source.error().message;
  const auto power = watch(**source, Millis(400), 1);
  ASSERT_TRUE(power) << power.error().message;
  ASSERT_TRUE(power->valid) << power->reasons.front().code << power->reasons.front().text;
  EXPECT_EQ(power->avg_power_w, 250);
  EXPECT_EQ(power->sensor, "power.draw [W]");
  EXPECT_EQ(power->sm_clock_mean_mhz, 1410);
  source->reset();  // ends the command
  std::ofstream(folder / "nvidia-smi") << "#!/bin/sh\necho 'No devices were found'\nexit 6\n";
  auto broken = open_power_source(options, world());
  ASSERT_TRUE(broken);
  const auto status = (*broken)->start();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("No devices were found"), std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace pawl::telemetry
