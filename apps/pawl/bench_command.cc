#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "backend/backend.h"
#include "base/text.h"
#include "bench_live_view.h"
#include "bench_output_options.h"
#include "benchout/text.h"
#include "cli.h"
#include "codec/describe.h"
#include "loadgen/load.h"
#include "model/bench_result.h"

namespace pawl::app {
namespace {

struct BenchFlags {
  std::string url, model, backend = "openai";
  std::int64_t concurrency = 0, isl = 0, osl = 0;
  std::optional<std::int64_t> requests, warmups;
  double range_ratio = 1;
  std::int64_t seed = 0;
  double timeout_s = 600;
  BenchOutputFlags out;
};

std::vector<std::string> backend_list() {
  std::vector<std::string> names;
  for (const backend::Backend* each : backend::all_backends()) names.emplace_back(each->name());
  return names;
}

std::string backend_names() { return join(backend_list(), ", "); }

Result<ExitStatus> run_bench(const BenchFlags& bench, World& world, const CommonFlags& flags) {
  loadgen::LoadRequest load;
  load.url = bench.url;
  load.backend = bench.backend;
  load.model = bench.model;
  load.isl = bench.isl;
  load.osl = bench.osl;
  load.range_ratio = bench.range_ratio;
  load.concurrency = bench.concurrency;
  load.requests = bench.requests.value_or(10 * bench.concurrency);
  // Two rounds fill caches and batches; beyond that, large runs would spend more on warming up than they gain.
  load.warmups = bench.warmups.value_or(std::min({2 * bench.concurrency, std::max<std::int64_t>(bench.concurrency, 256), load.requests}));
  load.seed = bench.seed;
  load.request_timeout_s = bench.timeout_s;
  if (const char* key = std::getenv("OPENAI_API_KEY"); key != nullptr && *key != '\0') load.bearer = key;

  if (bench.url.empty() || bench.model.empty() || bench.concurrency == 0 || bench.isl == 0 || bench.osl == 0) {
    return usage_error("--url, --model, --concurrency, --isl and --osl are needed", "see `pawl bench --help`");
  }
  measure::RecordsHead head;
  head.url = load.url;
  head.backend = load.backend;
  head.model_id = load.model;
  head.chat = load.backend.ends_with("-chat");
  head.max_concurrency = load.concurrency;
  if (const backend::Backend* protocol = backend::find_backend(load.backend)) {
    backend::BodyOptions body;
    body.model = load.model;
    head.endpoint = protocol->path(body);
  }
  PAWL_ASSIGN(const auto outputs, BenchOutputs::open(bench.out, std::move(head)));
  outputs->target_in_flight = load.concurrency;
  BenchLiveView view(world, flags, outputs.get());
  load.observer = &view;
  PAWL_ASSIGN(model::BenchResult result, loadgen::run_load(load, view, world.stop));
  view.clear();
  PAWL_TRY(outputs->finish(result, world));
  if (flags.json) {
    print_json(codec::to_json(result));
  } else {
    fmt::print("{}", benchout::text_report(result));
  }
  return result.verdict == "INVALID" ? ExitStatus::kFoundWanting : ExitStatus::kDone;
}

}  // namespace

void add_bench_command(Cli& cli) {
  CLI::App* app = cli.command(
      cli.root, "bench", "Measure an LLM server: a closed loop of streamed requests, judged at the end",
      "  pawl bench --url http://127.0.0.1:8000 --model Qwen/Qwen3-8B --concurrency 16 --isl 1024 --osl 128\n"
      "  pawl bench --url http://127.0.0.1:8000 --model m --backend openai-chat --concurrency 4 --isl 200 --osl 64 --requests 40\n"
      "  pawl bench --url http://127.0.0.1:8000 --model m --concurrency 64 --isl 8192 --osl 1024 --range-ratio 0.8 --output point.json\n"
      "  pawl bench --url http://127.0.0.1:8000 --model m --concurrency 64 --isl 1024 --osl 256 --goodput ttft:500 --goodput tpot:30 --report run.html\n"
      "  pawl bench --url http://127.0.0.1:8000 --model m --concurrency 64 --isl 1024 --osl 256 --records run.jsonl --output vllm:vllm.json\n"
      "\nA key for the server is taken from OPENAI_API_KEY. Exit status: 0 when the numbers can be used (VALID or SUSPECT),\n"
      "1 when they cannot (INVALID), 5 when the server cannot be reached. What each number means: docs/metrics.md.");
  auto bench = std::make_shared<BenchFlags>();
  app->add_option("--url", bench->url, "Server, as http://host:port; a path prefix is allowed");
  app->add_option("--model", bench->model, "Model name that the server knows");
  app->add_option("--backend", bench->backend, "Protocol of the server: " + backend_names())->check(CLI::IsMember(backend_list()))->capture_default_str();
  app->add_option("--concurrency", bench->concurrency, "Requests in flight")->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  app->add_option("--isl", bench->isl, "Input tokens a request (chat: words)")->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000'000}));
  app->add_option("--osl", bench->osl, "Output tokens a request")->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000'000}));
  app->add_option("--requests", bench->requests, "Measured requests (default: 10 × concurrency)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  app->add_option("--warmups", bench->warmups, "Requests before the measured ones (default: 2 × concurrency, fewer for large or short runs)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{100'000'000}));
  app->add_option("--range-ratio", bench->range_ratio, "Lengths are uniform over [ratio × length, length]")->check(CLI::Range(0.0, 1.0))->capture_default_str();
  app->add_option("--seed", bench->seed, "Same seed, same prompts and lengths")->capture_default_str();
  app->add_option("--timeout", bench->timeout_s, "Seconds that one request may take")->check(CLI::Range(0.001, 1e6))->capture_default_str();
  add_bench_output_options(*app, bench->out);
  add_bench_file_commands(cli, *app);
  app->callback([&cli, app, bench] {
    if (!app->get_subcommands().empty()) return;  // show, compare
    cli.selected = [bench](World& world, const CommonFlags& flags) { return run_bench(*bench, world, flags); };
  });
}

}  // namespace pawl::app
