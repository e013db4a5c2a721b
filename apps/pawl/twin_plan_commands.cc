// pawl twin fit and pawl twin predict: the law against published rows, and a sweep in simulated time.
#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "cli.h"
#include "codec/describe.h"
#include "engine_law/fit.h"
#include "twin/predict.h"
#include "twin/profile.h"
#include "twin/rows.h"

namespace pawl::app {
namespace {

struct FitFlags {
  std::string rows, output, like, name;
  std::vector<std::int64_t> hold_out;
};

Result<ExitStatus> run_fit(World& world, const CommonFlags& common, const FitFlags& flags) {
  std::string text;
  const bool shipped = flags.rows.find('/') == std::string::npos && !flags.rows.ends_with(".yaml");
  if (shipped) {
    auto read = world.assets->read("twin-rows/" + flags.rows + ".yaml");
    if (!read) return not_found(fmt::format("there are no rows {}", flags.rows), "a file, or one of: " + join(twin::rows_names(*world.assets), ", "));
    text = std::move(*read);
  } else {
    PAWL_ASSIGN(text, world.files.read(flags.rows));
  }
  PAWL_ASSIGN(const engine_law::Rows rows, twin::read_rows(std::move(text), flags.rows));
  std::optional<twin::Profile> like;
  if (!flags.output.empty()) {
    PAWL_ASSIGN(like, twin::load_profile(*world.assets, flags.like));
  }
  const auto progress = make_progress(world, common);
  progress->report({"fit", fmt::format("fitting {} points of {} (a minute at most on an idle machine)", rows.points.size(), rows.name)});
  PAWL_ASSIGN(const engine_law::Fit fit, engine_law::fit(rows, {flags.hold_out.begin(), flags.hold_out.end()}));
  if (like) {
    const std::string name = flags.name.empty() ? rows.name : flags.name;
    PAWL_TRY(world.files.write_atomic(flags.output, twin::profile_text(*like, name, rows, fit)));
  }
  if (common.json) {
    codec::Json points = codec::Json::array();
    for (const auto& r : fit.residuals) {
      points.push_back({{"tp", r.tp},
                        {"conc", r.conc},
                        {"what", r.what},
                        {"observed", r.observed},
                        {"predicted", r.predicted},
                        {"relative", r.relative()},
                        {"held_out", r.held_out}});
    }
    print_json({{"schema", "pawl.twin-fit/1"},
                {"simulated", "twin"},
                {"rows", rows.name},
                {"source", rows.source},
                {"rms", fit.rms},
                {"law", codec::to_json(fit.law)},
                {"residuals", std::move(points)}});
    return ExitStatus::kDone;
  }
  fmt::print("Simulated: a law fitted to {} ({})\n\n", rows.name, rows.source);
  fmt::print("{:>3} {:>5}  {:<18}{:>12}{:>12}{:>9}\n", "tp", "conc", "what", "published", "law", "residual");
  for (const auto& r : fit.residuals) {
    fmt::print("{:>3} {:>5}  {:<18}{:>12.2f}{:>12.2f}{:>+8.1f}%{}\n", r.tp, r.conc, r.what, r.observed, r.predicted, 100 * r.relative(),
               r.held_out ? "  held out" : "");
  }
  fmt::print("\nroot mean square of the residuals{}: {:.1f}%\n", flags.hold_out.empty() ? "" : " (held-out points left out)", 100 * fit.rms);
  for (const auto& [tp, law] : fit.law) fmt::print("law \"{}\": {}\n", tp, codec::write_json(codec::to_json(law), codec::JsonForm::kPySpaced));
  if (like) fmt::print("written: {}\n", flags.output);
  return ExitStatus::kDone;
}

struct PredictFlags {
  std::string matrix;
  twin::PredictOptions options;
};

Result<ExitStatus> run_predict(World& world, const CommonFlags& common, const PredictFlags& flags) {
  PAWL_ASSIGN(const std::string text, world.files.read(flags.matrix, std::uint64_t{256} << 20));
  PAWL_ASSIGN(const codec::Json matrix, codec::parse_json(text, flags.matrix));
  const auto progress = make_progress(world, common);
  MonoTime next;
  const auto told = [&](std::size_t done, std::size_t total) {
    if (const MonoTime now = world.clock.now(); now >= next || done == total) {
      next = now + Seconds{2};
      progress->report({"predict", fmt::format("{} of {} points", done, total), static_cast<std::int64_t>(done), static_cast<std::int64_t>(total)});
    }
    return !world.stop.stop_requested();
  };
  PAWL_ASSIGN(const std::vector<twin::PredictedPoint> points, twin::predict(*world.assets, matrix, flags.options, told));
  double gpu_hours = 0, hours = 0;
  std::size_t predicted = 0;
  for (const auto& p : points) {
    if (!p.skipped.empty()) continue;
    ++predicted;
    gpu_hours += p.gpu_hours;
    hours += (p.start_s + p.warmup_s + p.bench_s) / 3600;
  }
  if (common.json) {
    codec::Json list = codec::Json::array();
    for (const auto& p : points) list.push_back(codec::to_json(p));
    print_json({{"schema", "pawl.twin-prediction/1"},
                {"simulated", "twin"},
                {"points", std::move(list)},
                {"predicted", predicted},
                {"gpu_hours", gpu_hours},
                {"serial_hours", hours}});
    return ExitStatus::kDone;
  }
  fmt::print("Simulated: what the sweep would give by the laws of its profiles\n\n");
  fmt::print("{:<34}{:<24}{:>6}{:>12}{:>10}{:>10}{:>9}{:>9}  {}\n", "experiment", "point", "GPUs", "tok/s/GPU", "TTFT ms", "TPOT ms", "s", "GPU h", "profile");
  for (const auto& p : points) {
    if (!p.skipped.empty()) {
      fmt::print("{:<34}{:<24}{:>6}  {}\n", p.recipe, p.label, p.gpus, p.skipped);
      continue;
    }
    fmt::print("{:<34}{:<24}{:>6}{:>12.1f}{:>10.0f}{:>10.2f}{:>9.0f}{:>9.2f}  {}{}\n", p.recipe, p.label, p.gpus, p.total_tok_s_gpu, p.ttft_ms, p.tpot_ms,
               p.start_s + p.warmup_s + p.bench_s, p.gpu_hours, p.profile, p.fitted ? "" : " (not fitted to this topology)");
  }
  fmt::print("\n{} points predicted, {} not: {:.1f} GPU hours, {:.1f} hours one after the other\n", predicted, points.size() - predicted, gpu_hours, hours);
  return ExitStatus::kDone;
}

}  // namespace

void add_twin_plan_commands(Cli& cli, CLI::App& twin) {
  CLI::App* fit = cli.command(twin, "fit", "Fit a law to published rows; residuals of every point",
                              "  pawl twin fit --rows sglang-v0.5.14-qwen35-fp8-h200\n"
                              "  pawl twin fit --rows my-rows.yaml --hold-out 16\n"
                              "  pawl twin fit --rows my-rows.yaml --output data/twins/mine.yaml --like generic-new --name mine");
  auto f = std::make_shared<FitFlags>();
  fit->add_option("--rows", f->rows, "File of rows, or the name of one that is shipped (data/twin-rows)")->required();
  fit->add_option("--hold-out", f->hold_out, "Concurrencies that the fit does not see; they are predicted")->delimiter(',')->check(CLI::PositiveNumber);
  auto* output = fit->add_option("--output", f->output, "Write a profile with the fitted laws");
  fit->add_option("--like", f->like, "Profile that everything but the laws is taken from")->needs(output);
  fit->add_option("--name", f->name, "Name of the profile; by default that of the rows")->needs(output);
  fit->callback([&cli, f] {
    if (!f->output.empty() && f->like.empty()) throw CLI::ValidationError("--output needs --like");
    cli.selected = [f](World& world, const CommonFlags& common) { return run_fit(world, common, *f); };
  });
  CLI::App* predict = cli.command(twin, "predict", "What a sweep would give, and how long it would take, in simulated time",
                                  "  pawl matrix full-sweep --catalog catalog >matrix.json\n"
                                  "  pawl twin predict --matrix matrix.json\n"
                                  "  pawl twin predict --matrix matrix.json --json");
  auto p = std::make_shared<PredictFlags>();
  predict->add_option("--matrix", p->matrix, "Rows of a sweep, as pawl matrix prints them")->required();
  predict->add_option("--requests-per-slot", p->options.requests_per_slot, "Requests of a point: so many times its concurrency")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  predict->add_option("--start-s", p->options.start_s, "Start of an engine whose profile does not say, seconds")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  predict->callback([&cli, p] { cli.selected = [p](World& world, const CommonFlags& common) { return run_predict(world, common, *p); }; });
}

}  // namespace pawl::app
