#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/text.h"
#include "bench_power_options.h"
#include "benchout/text.h"
#include "cli.h"
#include "codec/describe.h"
#include "telemetry/power_csv.h"

namespace pawl::app {
namespace {

struct WatchFlags {
  telemetry::SourceOptions source;
  double duration_s = 0;  ///< 0: until it is stopped
  double every_s = 1;     ///< a line
};

/// What was sampled of one GPU since the last line.
struct Seen {
  std::int64_t n = 0;
  double sum_w = 0, max_w = 0;
  std::optional<double> sm_mhz;
  std::optional<std::uint64_t> throttle;
};

struct Total {
  std::int64_t n = 0;
  double max_w = 0;
};

class Watch {
 public:
  Watch(const WatchFlags& watch, World& world, const CommonFlags& flags) : watch_(watch), world_(world), flags_(flags) {}

  Result<ExitStatus> run() {
    auto opened = telemetry::open_power_source(watch_.source, {world_.clock, world_.files, world_.processes});
    if (!opened) {
      Error error = std::move(opened).error();
      if (error.cls == ErrorClass::kNotFound) error.exit = ExitStatus::kMachine;
      return error;
    }
    telemetry::PowerSource& source = **opened;
    PAWL_TRY(source.start());
    const telemetry::SourceInfo info = source.info();
    if (!flags_.json) {
      fmt::print("{} ({}), {}, every {} s\n", info.source, info.detail, info.sensor, info.interval_s);
      for (const telemetry::GpuInfo& gpu : info.gpus) {
        fmt::print("  GPU {}  {}{}\n", gpu.gpu, gpu.name, gpu.limit_w ? fmt::format(", limit {:.0f} W", *gpu.limit_w) : "");
      }
      fmt::print("\n  {:<22}{:>5}{:>10}{:>10}{:>9}  {}\n", "UTC", "GPU", "mean W", "max W", "SM MHz", "held back by");
    }
    source.mark();
    begin_s_ = seconds_of(world_.clock.wall().since_epoch);
    const MonoTime start = world_.clock.now();
    MonoTime next = start;
    const auto step = Nanos(static_cast<std::int64_t>(std::max(watch_.every_s, info.interval_s) * 1e9));
    const auto whole = Nanos(static_cast<std::int64_t>(watch_.duration_s * 1e9));
    for (bool on = true; on;) {
      next = next + step;
      if (watch_.duration_s > 0 && next - start >= whole) {
        next = start + whole;
        on = false;
      }
      if (!world_.clock.sleep_until(next, world_.stop)) on = false;
      PAWL_TRY(line(source));
    }
    source.mark();
    return summary(source, info);
  }

 private:
  Status line(telemetry::PowerSource& source) {
    PAWL_ASSIGN(const auto samples, source.samples(WallTime{}, {}));
    std::map<std::string, Seen> seen;
    double newest = upto_s_;
    for (const telemetry::PowerSample& sample : samples) {
      if (sample.unix_s <= upto_s_ || !sample.watts) continue;
      newest = std::max(newest, sample.unix_s);
      Seen& each = seen[sample.gpu];
      ++each.n;
      each.sum_w += *sample.watts;
      each.max_w = std::max(each.max_w, *sample.watts);
      if (sample.sm_mhz) each.sm_mhz = sample.sm_mhz;
      if (sample.throttle) each.throttle = sample.throttle;
    }
    upto_s_ = newest;
    const std::string time = iso_utc(world_.clock.wall());
    for (const auto& [gpu, each] : seen) {
      const std::vector<std::string> held = each.throttle ? telemetry::throttle_names(*each.throttle) : std::vector<std::string>();
      Total& total = totals_[gpu];
      total.n += each.n;
      total.max_w = std::max(total.max_w, each.max_w);
      const double mean = each.sum_w / static_cast<double>(each.n);
      if (flags_.json) {
        codec::Json out{{"schema", "pawl.power-sample/1"}, {"time", time}, {"gpu", gpu}, {"samples", each.n}, {"mean_w", mean}, {"max_w", each.max_w}};
        if (each.sm_mhz) out["sm_clock_mhz"] = *each.sm_mhz;
        if (each.throttle) out["throttle"] = held;
        fmt::print("{}\n", codec::write_json(out, codec::JsonForm::kCompactUtf8));
      } else {
        fmt::print("  {:<22}{:>5}{:>10.1f}{:>10.1f}{:>9}  {}\n", time, gpu, mean, each.max_w, each.sm_mhz ? fmt::format("{:.0f}", *each.sm_mhz) : "-",
                   join(held, ", "));
      }
    }
    std::fflush(stdout);
    // An hour is kept, for the summary's window; a longer watch sums up its last hour.
    source.forget(upto_s_ - 3600);
    return {};
  }

  Result<ExitStatus> summary(telemetry::PowerSource& source, const telemetry::SourceInfo& info) {
    const WallTime end = world_.clock.wall();
    PAWL_ASSIGN(const auto samples, source.samples(end, {}));
    const double end_s = seconds_of(end.since_epoch);
    model::BenchPower power = telemetry::judge_samples(samples, {std::max(begin_s_, end_s - 3500), end_s},
                                                       {static_cast<std::int64_t>(info.gpus.size()), std::max(3.0, 3 * info.interval_s)});
    power.source = info.source;
    power.sensor = info.sensor;
    power.interval_s = info.interval_s;
    power.energy_check = source.energy_check(samples);
    power.sample_cost_us = source.sample_cost_us();
    if (flags_.json) {
      codec::Json out = codec::to_json(power);
      fmt::print("{}\n", codec::write_json({{"schema", "pawl.power-watch/1"}, {"power", std::move(out)}}, codec::JsonForm::kCompactUtf8));
    } else {
      fmt::print("{}", benchout::power_text(power));
    }
    return power.valid ? ExitStatus::kDone : ExitStatus::kFoundWanting;
  }

  const WatchFlags& watch_;
  World& world_;
  const CommonFlags& flags_;
  double begin_s_ = 0, upto_s_ = 0;
  std::map<std::string, Total> totals_;
};

struct CheckFlags {
  std::filesystem::path samples, result;
  std::int64_t gpus = 0;
  double max_gap_s = 3;
  bool utc = false;
};

/// The verdict over a file of samples and a result, as the contract's processor gives it.
Result<ExitStatus> run_check(const CheckFlags& check, World& world, const CommonFlags& flags) {
  PAWL_ASSIGN(const std::string text, world.files.read(check.result));
  PAWL_ASSIGN(const codec::Json json, codec::parse_json(text, check.result.string()));
  model::BenchResult result;
  if (json.is_object() && json.value("schema", "") == result.schema) {
    PAWL_ASSIGN(result, codec::from_json<model::BenchResult>(json, check.result.string(), codec::UnknownKeys::kIgnore));
  } else {
    return bad_input(fmt::format("{} is no result of pawl bench", check.result.string()), "write one with pawl bench --output FILE");
  }
  model::BenchPower power = telemetry::judge_file(world.files, check.samples, {result.started_unix_s, result.ended_unix_s}, {check.gpus, check.max_gap_s},
                                                  check.utc ? telemetry::NaiveTime::kUtc : telemetry::NaiveTime::kLocal);
  telemetry::apply_result(result, power);
  if (flags.json) {
    print_json({{"schema", "pawl.power/1"}, {"power", codec::to_json(power)}});
  } else {
    fmt::print("{}", benchout::power_text(power));
  }
  return power.valid ? ExitStatus::kDone : ExitStatus::kFoundWanting;
}

}  // namespace

void add_power_commands(Cli& cli) {
  CLI::App* app =
      cli.command(cli.root, "power", "Power of this machine's GPUs", "  pawl power watch\n  pawl power check --samples gpu.csv --result run.json --expect 8");
  app->require_subcommand(1);
  {
    CLI::App* command =
        cli.command(*app, "watch", "Show the power of the GPUs until it is stopped, and what it came to",
                    "  pawl power watch\n"
                    "  pawl power watch --duration 10 --json\n"
                    "  pawl power watch --source nvidia-smi --gpus 0,1\n"
                    "\nWith --json: a line of JSON a GPU and step, and one more at the end. Exit status 4: no source of power on this machine.");
    auto watch = std::make_shared<WatchFlags>();
    add_power_source_options(*command, watch->source, false, "");
    for (CLI::Option* option : command->get_options()) {
      if (option->get_group().empty()) option->group("Options");
    }
    command->add_option("--duration", watch->duration_s, "Seconds to watch (default: until it is stopped)")->check(CLI::Range(0.1, 1e7));
    command->add_option("--every", watch->every_s, "Seconds a line")->check(CLI::Range(0.05, 3600.0))->capture_default_str();
    command->callback([&cli, watch] { cli.selected = [watch](World& world, const CommonFlags& flags) { return Watch(*watch, world, flags).run(); }; });
  }
  {
    CLI::App* command = cli.command(*app, "check", "Judge a file of samples over the window of a result: valid or why not, energy, joules per token",
                                    "  pawl power check --samples gpu_metrics.csv --result run.json --expect 8\n"
                                    "\nExit status 1: the power does not count.");
    auto check = std::make_shared<CheckFlags>();
    command->add_option("--samples", check->samples, "CSV of nvidia-smi, amd-smi, or of pawl bench --power-samples")->required();
    command->add_option("--result", check->result, "Result of pawl bench")->required();
    command->add_option("--expect", check->gpus, "GPUs that the engine used")->required();
    command->add_option("--max-gap", check->max_gap_s, "Seconds that may lie between two samples")->capture_default_str();
    command->add_flag("--utc", check->utc, "Moments without a zone are UTC, not local");
    command->callback([&cli, check] { cli.selected = [check](World& world, const CommonFlags& flags) { return run_check(*check, world, flags); }; });
  }
}

}  // namespace pawl::app
