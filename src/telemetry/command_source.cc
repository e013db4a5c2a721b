#include "telemetry/command_source.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>

#include "base/text.h"
#include "telemetry/power_csv.h"

namespace pawl::telemetry {
namespace {

constexpr Seconds kGrace{2};

class CommandSource final : public PowerSource {
 public:
  CommandSource(std::string kind, std::string program, std::vector<std::string> gpus, double interval_s, SourceWorld world)
      : program_(std::move(program)), gpus_(std::move(gpus)), interval_s_(interval_s), world_(world) {
    info_.source = std::move(kind);
    info_.interval_s = interval_s;
    info_.detail = program_;
    static std::atomic<int> count = 0;
    folder_ = std::filesystem::temp_directory_path() / fmt::format("pawl-power-{}-{}", ::getpid(), count.fetch_add(1));
    file_ = folder_ / "power.csv";
  }

  ~CommandSource() override {
    if (process_) (void)world_.processes.end_group(*process_, kGrace);
    (void)world_.files.remove_tree(folder_);
  }

  Status start() override {
    PAWL_TRY(world_.files.make_folder(folder_));
    io::ProcessSpec spec;
    spec.output_file = file_;
    // Its moments carry no zone: UTC is the one that we can read back. Python would keep lines for itself.
    spec.env = {{"TZ", "UTC"}, {"LC_ALL", "C"}, {"PYTHONUNBUFFERED", "1"}};
    if (info_.source == "nvidia-smi") {
      spec.argv = {program_, "--query-gpu=timestamp,index,power.draw,clocks.sm", "--format=csv,nounits",
                   fmt::format("--loop-ms={}", static_cast<std::int64_t>(std::llround(interval_s_ * 1000)))};
      if (!gpus_.empty()) spec.argv.push_back("--id=" + join(gpus_, ","));
    } else {
      spec.argv = {program_, "metric", "--power", "--csv", "--watch", fmt::format("{}", std::max<std::int64_t>(1, std::llround(interval_s_)))};
      if (!gpus_.empty()) {
        spec.argv.emplace_back("--gpu");
        for (const std::string& gpu : gpus_) spec.argv.push_back(gpu);
      }
    }
    PAWL_ASSIGN(process_, world_.processes.launch(spec));
    // It samples once its first line is there; a command that cannot says so and ends.
    const MonoTime limit = world_.clock.now() + Seconds(15);
    for (;;) {
      const PowerCsv csv = read();
      if (!csv.samples.empty()) {
        std::set<std::string> seen;
        for (const PowerSample& sample : csv.samples) seen.insert(sample.gpu);
        for (const std::string& gpu : seen) info_.gpus.push_back({gpu, "", "", std::nullopt});
        info_.sensor = csv.power_column;
        return {};
      }
      PAWL_ASSIGN(const auto ended, world_.processes.wait(*process_, Millis(20), {}));
      if (ended || world_.clock.now() > limit) {
        const auto said = world_.files.read(file_, 1u << 20);
        const std::string words = said ? std::string(trim(*said)).substr(0, 300) : std::string();
        return machine_error(fmt::format("{} gives no power{}", program_, words.empty() ? std::string() : ": " + words),
                             ended ? "run it by hand to see why" : "no line in 15 s");
      }
    }
  }

  [[nodiscard]] SourceInfo info() const override { return info_; }

  Result<std::vector<PowerSample>> samples(WallTime until, std::stop_token stop) override {
    const double after = seconds_of(until.since_epoch);
    const MonoTime limit = world_.clock.now() + Nanos(static_cast<std::int64_t>(2e9 * interval_s_)) + Seconds(2);
    for (;;) {
      PowerCsv csv = read();
      std::set<std::string> later;
      for (const PowerSample& sample : csv.samples) {
        if (sample.unix_s > after) later.insert(sample.gpu);
      }
      if (later.size() >= info_.gpus.size() || world_.clock.now() >= limit) {
        std::erase_if(csv.samples, [&](const PowerSample& sample) { return sample.unix_s < forgotten_; });
        return std::move(csv.samples);
      }
      if (!world_.clock.sleep_for(Millis(50), stop)) return cancelled();
    }
  }

  void forget(double before_unix_s) override { forgotten_ = before_unix_s; }

 private:
  [[nodiscard]] PowerCsv read() const {
    const auto text = world_.files.read(file_);
    return text ? read_power_csv(*text, NaiveTime::kUtc) : PowerCsv{};
  }

  std::string program_;
  std::vector<std::string> gpus_;
  double interval_s_;
  SourceWorld world_;
  SourceInfo info_;
  std::filesystem::path folder_, file_;
  std::optional<io::ProcessId> process_;
  double forgotten_ = 0;
};

}  // namespace

std::unique_ptr<PowerSource> make_command_source(std::string kind, std::string program, std::vector<std::string> gpus, double interval_s, SourceWorld world) {
  return std::make_unique<CommandSource>(std::move(kind), std::move(program), std::move(gpus), interval_s, world);
}

}  // namespace pawl::telemetry
