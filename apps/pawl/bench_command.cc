#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "backend/backend.h"
#include "base/assert.h"
#include "base/text.h"
#include "bench_live_view.h"
#include "bench_output_options.h"
#include "bench_points.h"
#include "bench_power_options.h"
#include "bench_workload_options.h"
#include "benchout/text.h"
#include "calibration_file.h"
#include "cli.h"
#include "codec/describe.h"
#include "load_flags.h"
#include "loadgen/calibrate.h"
#include "loadgen/load.h"
#include "model/bench_result.h"

namespace pawl::app {
namespace {

struct BenchFlags {
  std::vector<std::string> urls;
  std::string model, backend = "openai";
  WorkloadFlags workload;
  LoadFlags load;
  std::optional<std::int64_t> requests, warmups;
  BenchOutputFlags out;
  BenchPowerFlags power;
};

std::vector<std::string> backend_list() {
  std::vector<std::string> names;
  for (const backend::Backend* each : backend::all_backends()) names.emplace_back(each->name());
  return names;
}

std::string backend_names() { return join(backend_list(), ", "); }

/// How far the times of this client can be off, under the report.
void print_own_error(const model::BenchResult& r) {
  if (r.calibration) {
    fmt::print("\n  its own error     {} ({})\n", calibration_line(*r.calibration), r.calibration->taken_at);
  } else {
    fmt::print("\n  its own error     not measured on this machine yet: pawl bench calibrate\n");
  }
}

/// Writes and prints a document that is no single result: to the one place that --output names, if any.
Status give_document(const BenchFlags& bench, World& world, const CommonFlags& flags, const codec::Json& document) {
  for (const std::string& output : bench.out.outputs) {
    const std::string path = output.starts_with("json:") ? output.substr(5) : output;
    PAWL_TRY(world.files.write_atomic(path, codec::write_json_pretty(document)));
  }
  if (flags.json) print_json(document);
  return {};
}

ExitStatus status_of(const BenchFlags& bench, const std::vector<BenchPoint>& points) {
  const auto wanting = [&](const BenchPoint& point) { return point.result.verdict == "INVALID" || lacks_power(bench.power, point.result); };
  return std::ranges::any_of(points, wanting) ? ExitStatus::kFoundWanting : ExitStatus::kDone;
}

Result<ExitStatus> run_bench(const BenchFlags& bench, World& world, const CommonFlags& flags) {
  if (bench.urls.empty() || bench.model.empty()) return usage_error("pawl bench needs --url and --model", "pawl bench --help shows examples");
  const backend::Backend* spoken = backend::find_backend(bench.backend);
  PAWL_ASSERT(spoken != nullptr);  // the flag takes known names only
  loadgen::LoadRequest load;
  load.url = bench.urls.front();
  load.more_urls.assign(bench.urls.begin() + 1, bench.urls.end());
  load.backend = bench.backend;
  load.model = bench.model;
  PAWL_TRY(apply(bench.load, bench.workload.seed, load));
  const std::int64_t slots = bench.load.concurrency.value_or(10);
  WorkloadFlags asked = bench.workload;
  asked.pause_speed = bench.load.trace_speed;
  PAWL_ASSIGN(const auto made, make_bench_workload(asked, world, spoken->prompt_form(), bench.requests, 10 * slots));
  const workload::Description data_set = made->describe();
  load.isl = std::max<std::int64_t>(1, std::llround(data_set.mean_isl.value_or(1)));
  load.osl = std::max<std::int64_t>(1, std::llround(data_set.mean_osl.value_or(1)));
  const bool plain = asked.dataset == "random" && asked.range_profile == "inferencex" && asked.tokenizer.empty() && asked.form.empty() && asked.overhead == 0 &&
                     asked.salt == 0;
  if (asked.dataset == "random") {
    // The targets themselves, as rows and file names have them.
    load.isl = *asked.isl;
    load.osl = *asked.osl;
    if (asked.range_profile == "inferencex") load.range_ratio = asked.range_ratio.value_or(1);
    load.vocabulary = asked.vocabulary;
  }
  // Lengths alone are left to the generator: the points of a sweep then have prompts of their own.
  if (!plain) load.workload = made;
  const std::optional<std::int64_t> whole = made->sessions();
  const std::int64_t units = bench.requests.value_or(whole ? *whole : bench.load.sweep_concurrency.empty() ? 10 * slots : 0);
  // --requests counts sessions where there are some; the load counts what they send.
  load.requests = units;
  if (units > 0) {
    const workload::SessionSpan last = made->session(units - 1);
    load.requests = last.first + last.count;
  }
  // Progress as JSON has standard error for itself; lengths alone need no words.
  if (!plain && flags.progress != "json") fmt::print(stderr, "{}", describe_workload(data_set));
  // Two rounds fill caches and batches; beyond that, large runs would spend more on warming up than they gain.
  load.warmups = bench.warmups.value_or(std::min({2 * slots, std::max<std::int64_t>(slots, 256), load.requests == 0 ? 2 * slots : load.requests}));

  if (load.echo && (load.backend.ends_with("-chat") || made->prompt(0).text.empty())) {
    return usage_error("--echo needs a completions back end and prompts of text", "add --prompt-form text");
  }
  const auto calibration = latest_calibration(world);
  const PointWorkload workload_of = [&](std::size_t point) {
    WorkloadFlags other = asked;
    other.salt += point;
    return make_bench_workload(other, world, spoken->prompt_form(), bench.requests, 10 * slots);
  };
  PAWL_ASSIGN(const auto probe, BenchProbe::open(bench.power, bench.urls, world));
  if (probe) load.observer = probe.get();
  const AfterPoint after = [&](model::BenchResult& result) { return probe ? probe->finish(result, world.stop) : Status{}; };
  if (!bench.load.sweep_concurrency.empty() || !bench.load.sweep_rate.empty()) {
    const auto progress = make_progress(world, flags);
    PAWL_ASSIGN(auto points, run_sweep(bench.load, load, workload_of, *progress, world.stop, after));
    for (BenchPoint& point : points) {
      point.result.calibration = calibration;
      point.result.workload = data_set;
    }
    PAWL_TRY(give_document(bench, world, flags, points_document(points, nullptr, bench.load.paired)));
    if (!flags.json) print_points(points);
    return world.stop.stop_requested() ? ExitStatus::kInterrupted : status_of(bench, points);
  }
  if (bench.load.find_max_rate) {
    const auto progress = make_progress(world, flags);
    PAWL_ASSIGN(auto found, find_max_rate(bench.load, load, workload_of, *progress, world.stop, after));
    for (BenchPoint& point : found.second) {
      point.result.calibration = calibration;
      point.result.workload = data_set;
    }
    PAWL_TRY(give_document(bench, world, flags, points_document(found.second, &found.first, bench.load.paired)));
    if (!flags.json) {
      print_points(found.second);
      fmt::print("\n  highest rate that holds: {}\n",
                 found.first.rate_per_s > 0 ? fmt::format("{:.2f} requests/s", found.first.rate_per_s) : "none of those tried");
    }
    return found.first.rate_per_s > 0 ? ExitStatus::kDone : ExitStatus::kFoundWanting;
  }
  measure::RecordsHead head;
  head.url = load.url;
  head.backend = load.backend;
  head.model_id = load.model;
  head.chat = load.backend.ends_with("-chat");
  head.max_concurrency = load.concurrency;
  head.isl = load.isl;
  head.osl = load.osl;
  head.range_ratio = load.range_ratio;
  if (const backend::Backend* protocol = backend::find_backend(load.backend)) {
    backend::BodyOptions body;
    body.model = load.model;
    head.endpoint = protocol->path(body);
  }
  PAWL_ASSIGN(const auto outputs, BenchOutputs::open(bench.out, std::move(head)));
  if (!load.arrivals && !load.data_set_arrivals) outputs->target_in_flight = load.concurrency;
  load.slo = outputs->wanted().slo;
  load.profiles = outputs->wanted().profiles;
  outputs->info.dataset = data_set.dataset;
  outputs->info.tokenizer_id = asked.tokenizer.string();
  outputs->info.request_rate = bench.load.rate;
  if (bench.load.arrivals == "gamma") outputs->info.burstiness = bench.load.burstiness;
  outputs->info.trace_rate = load.data_set_arrivals;
  outputs->info.predicted_hit_ratio = data_set.predicted_hit_ratio;
  BenchLiveView view(world, flags, outputs.get());
  load.observer = &view;
  if (probe) {
    probe->pass_on_to(&view);
    load.observer = probe.get();
  }
  PAWL_ASSIGN(model::BenchResult result, loadgen::run_load(load, view, world.stop));
  PAWL_TRY(after(result));
  view.clear();
  result.calibration = calibration;
  result.workload = data_set;
  PAWL_TRY(outputs->finish(result, world));
  if (flags.json) {
    print_json(codec::to_json(result));
  } else {
    fmt::print("{}", benchout::text_report(result));
    print_own_error(result);
  }
  if (result.client.stopped) return ExitStatus::kInterrupted;
  return result.verdict == "INVALID" || lacks_power(bench.power, result) ? ExitStatus::kFoundWanting : ExitStatus::kDone;
}

Result<ExitStatus> run_calibrate(const loadgen::CalibrationOptions& options, World& world, const CommonFlags& flags) {
  const auto progress = make_progress(world, flags);
  PAWL_ASSIGN(model::Calibration found, loadgen::calibrate(options, *progress, world.stop));
  sign_calibration(world, found);
  PAWL_TRY(keep_calibration(world, found));
  if (flags.json) {
    print_json(codec::to_json(found));
    return ExitStatus::kDone;
  }
  fmt::print("{} streams, a token each {} ms, on {} core{}; receive times: {}\n\n", found.streams, found.gap_ms, found.cores, found.cores == 1 ? "" : "s",
             found.clock);
  fmt::print("  TTFT error         mean {:+.3f} ms, p99 {:.3f} ms\n", found.ttft_error_mean_ms, found.ttft_error_p99_ms);
  fmt::print("  after the burst    mean {:+.3f} ms, p99 {:.3f} ms\n", found.ttft_error_after_burst_mean_ms, found.ttft_error_after_burst_p99_ms);
  fmt::print("  gap error          p50 {:.3f} ms, p99 {:.3f} ms, sigma {:.3f} ms\n", found.gap_error_p50_ms, found.gap_error_p99_ms, found.gap_error_sigma_ms);
  fmt::print("  CPU                {:.1f} s for a million events\n", found.cpu_s_per_million_events);
  if (options.most_streams > options.streams) fmt::print("  within 1 ms        up to {} streams\n", found.streams_within_1ms);
  fmt::print("\nKept; every result from here on carries it.\n");
  return ExitStatus::kDone;
}

void add_calibrate_command(Cli& cli, CLI::App& parent) {
  CLI::App* app = cli.command(parent, "calibrate", "Measure this client's own error on this machine, against a source of known times",
                              "  pawl bench calibrate\n"
                              "  pawl bench calibrate --streams 1000 --most-streams 4000\n"
                              "\nTakes some seconds; the machine should do nothing else. The outcome is kept in ~/.cache/pawl and stored with every result.");
  auto options = std::make_shared<loadgen::CalibrationOptions>();
  options->most_streams = 2048;
  app->add_option("--streams", options->streams, "Streams at once")->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}))->capture_default_str();
  app->add_option("--gap", options->gap_ms, "Milliseconds between the tokens of a stream")->check(CLI::Range(0.1, 1e4))->capture_default_str();
  app->add_option("--tokens", options->tokens, "Tokens an answer")->check(CLI::Range(std::int64_t{2}, std::int64_t{100'000}))->capture_default_str();
  app->add_option("--most-streams", options->most_streams, "Look up to so many streams for the most that stay within 1 ms")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{100'000}))
      ->capture_default_str();
  app->callback([&cli, options] { cli.selected = [options](World& world, const CommonFlags& flags) { return run_calibrate(*options, world, flags); }; });
}

}  // namespace

void add_bench_command(Cli& cli) {
  CLI::App* app = cli.command(
      cli.root, "bench", "Measure an LLM server: streamed requests under load, judged at the end",
      "  pawl bench --url http://127.0.0.1:8000 --model Qwen/Qwen3-8B --concurrency 16 --isl 1024 --osl 128\n"
      "  pawl bench --url http://127.0.0.1:8000 --model m --backend openai-chat --concurrency 4 --isl 200 --osl 64 --requests 40\n"
      "  pawl bench --url http://127.0.0.1:8000 --model m --concurrency 64 --isl 8192 --osl 1024 --range-ratio 0.8 --output point.json\n"
      "  pawl bench --url http://127.0.0.1:8000 --model m --concurrency 64 --isl 1024 --osl 256 --goodput ttft:500 --report run.html\n"
      "  pawl bench --url http://127.0.0.1:8000 --model m --concurrency 64 --isl 1024 --osl 256 --records run.jsonl --output vllm:vllm.json\n"
      "  pawl bench --url http://127.0.0.1:8000 --model m --rate 5 --duration 60 --isl 1024 --osl 128\n"
      "  pawl bench --url http://127.0.0.1:8000 --model m --sweep-concurrency 1,8,32 --isl 1024 --osl 128\n"
      "  pawl bench --url http://127.0.0.1:8000 --model m --find-max-rate --slo ttft_p99:500ms --isl 1024 --osl 128\n" +
          std::string(workload_examples()) +
          "  pawl bench --url http://127.0.0.1:8000 --model m --concurrency 16 --isl 1024 --osl 256 --duration 40 --power auto --scrape-metrics auto\n"
          "  pawl bench calibrate\n"
          "\nA key for the server is taken from OPENAI_API_KEY. A stop (Ctrl-C) ends the run with what was measured so far. Exit status: 0 when the "
          "numbers can be used (VALID or SUSPECT),\n"
          "1 when they cannot (INVALID), 5 when the server cannot be reached. What each number means: docs/metrics.md.");
  auto bench = std::make_shared<BenchFlags>();
  app->add_option("--url", bench->urls,
                  "Server, as http://host:port, https://host:port or unix:PATH; a path prefix is allowed; repeat for several, used in turn");
  app->add_option("--model", bench->model, "Model name that the server knows");
  app->add_option("--backend", bench->backend, "Protocol of the server: " + backend_names())->check(CLI::IsMember(backend_list()))->capture_default_str();
  app->add_option("--requests", bench->requests,
                  "Measured requests, or sessions of a data set that has those (default: 10 × concurrency, or all rows of a file)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  app->add_option("--warmups", bench->warmups, "Requests before the measured ones (default: 2 × concurrency, fewer for large or short runs)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{100'000'000}));
  add_workload_options(*app, bench->workload);
  add_bench_output_options(*app, bench->out);
  add_load_flags(*app, bench->load);
  add_bench_power_options(*app, bench->power);
  add_calibrate_command(cli, *app);
  add_bench_file_commands(cli, *app);
  // A parent is called after its subcommand.
  app->callback([&cli, app, bench] {
    if (!app->get_subcommands().empty()) return;
    cli.selected = [bench](World& world, const CommonFlags& flags) { return run_bench(*bench, world, flags); };
  });
}

}  // namespace pawl::app
