#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "backend/backend.h"
#include "base/text.h"
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
  std::filesystem::path output;
};

std::vector<std::string> backend_list() {
  std::vector<std::string> names;
  for (const backend::Backend* each : backend::all_backends()) names.emplace_back(each->name());
  return names;
}

std::string backend_names() { return join(backend_list(), ", "); }

std::string number(double value, int decimals = 2) { return std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : "-"; }

std::string join_counts(const std::map<std::string, std::int64_t>& counts) {
  std::string out;
  for (const auto& [name, n] : counts) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, n);
  return out;
}

void print_row(const char* name, const model::Distribution& d) {
  fmt::print("  {:<12}{:>9}{:>11}{:>11}{:>11}{:>11}{:>11}\n", name, d.n, number(d.mean), number(d.p50), number(d.p90), number(d.p99), number(d.max));
}

void print_result(const model::BenchResult& r) {
  fmt::print("{}{}  {}  concurrency {}  {} in / {} out", r.url, r.endpoint, r.model_id, r.max_concurrency, r.isl, r.osl);
  fmt::print("{}\n\n", r.range_ratio < 1 ? fmt::format("  range ratio {}", r.range_ratio) : "");
  fmt::print("  requests          {} ok, {} failed, {} timed out of {}\n", r.counts.ok, r.counts.failed, r.counts.timeout, r.counts.planned);
  if (!r.failures.empty()) fmt::print("  failures          {}\n", join_counts(r.failures));
  fmt::print("  duration          {} s\n", number(r.duration_s, 3));
  fmt::print("  requests/s        {}\n", number(r.request_throughput));
  fmt::print("  output tokens/s   {}\n", number(r.output_throughput));
  fmt::print("  total tokens/s    {}\n\n", number(r.total_token_throughput));
  fmt::print("  {:<12}{:>9}{:>11}{:>11}{:>11}{:>11}{:>11}\n", "ms", "n", "mean", "p50", "p90", "p99", "max");
  constexpr std::array<std::pair<const char*, const char*>, 7> kRows{
      {{"ttft_ms", "ttft"}, {"tpot_ms", "tpot"}, {"itl_ms", "itl"}, {"gap_ms", "gap"}, {"e2el_ms", "e2el"}, {"lag_ms", "lag"}, {"rx_delay_ms", "rx delay"}}};
  for (const auto& [key, name] : kRows) {
    if (const auto found = r.metrics.find(key); found != r.metrics.end()) print_row(name, found->second);
  }
  if (!r.osl_source.empty()) fmt::print("\n  token counts      {}\n", join_counts(r.osl_source));
  if (!r.flags.empty()) fmt::print("  counted           {}\n", join_counts(r.flags));
  fmt::print("  clock             {}\n", r.clock);
  fmt::print("\n{}\n", r.verdict);
  for (const model::VerdictReason& reason : r.reasons) fmt::print("  {}: {}\n", reason.code, reason.text);
}

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

  const auto progress = make_progress(world, flags);
  PAWL_ASSIGN(const model::BenchResult result, loadgen::run_load(load, *progress, world.stop));
  const codec::Json document = codec::to_json(result);
  if (!bench.output.empty()) PAWL_TRY(world.files.write_atomic(bench.output, codec::write_json_pretty(document)));
  if (flags.json) {
    print_json(document);
  } else {
    print_result(result);
  }
  return result.verdict == "INVALID" ? ExitStatus::kFoundWanting : ExitStatus::kDone;
}

}  // namespace

void add_bench_command(Cli& cli) {
  CLI::App* app =
      cli.command(cli.root, "bench", "Measure an LLM server: a closed loop of streamed requests, judged at the end",
                  "  pawl bench --url http://127.0.0.1:8000 --model Qwen/Qwen3-8B --concurrency 16 --isl 1024 --osl 128\n"
                  "  pawl bench --url http://127.0.0.1:8000 --model m --backend openai-chat --concurrency 4 --isl 200 --osl 64 --requests 40\n"
                  "  pawl bench --url http://127.0.0.1:8000 --model m --concurrency 64 --isl 8192 --osl 1024 --range-ratio 0.8 --output point.json\n"
                  "\nA key for the server is taken from OPENAI_API_KEY. Exit status: 0 when the numbers can be used (VALID or SUSPECT),\n"
                  "1 when they cannot (INVALID), 5 when the server cannot be reached. What each number means: docs/metrics.md.");
  auto bench = std::make_shared<BenchFlags>();
  app->add_option("--url", bench->url, "Server, as http://host:port; a path prefix is allowed")->required();
  app->add_option("--model", bench->model, "Model name that the server knows")->required();
  app->add_option("--backend", bench->backend, "Protocol of the server: " + backend_names())->check(CLI::IsMember(backend_list()))->capture_default_str();
  app->add_option("--concurrency", bench->concurrency, "Requests in flight")->required()->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  app->add_option("--isl", bench->isl, "Input tokens a request (chat: words)")->required()->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000'000}));
  app->add_option("--osl", bench->osl, "Output tokens a request")->required()->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000'000}));
  app->add_option("--requests", bench->requests, "Measured requests (default: 10 × concurrency)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  app->add_option("--warmups", bench->warmups, "Requests before the measured ones (default: 2 × concurrency, fewer for large or short runs)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{100'000'000}));
  app->add_option("--range-ratio", bench->range_ratio, "Lengths are uniform over [ratio × length, length]")->check(CLI::Range(0.0, 1.0))->capture_default_str();
  app->add_option("--seed", bench->seed, "Same seed, same prompts and lengths")->capture_default_str();
  app->add_option("--timeout", bench->timeout_s, "Seconds that one request may take")->check(CLI::Range(0.001, 1e6))->capture_default_str();
  app->add_option("--output", bench->output, "File for the result as JSON");
  app->callback([&cli, bench] { cli.selected = [bench](World& world, const CommonFlags& flags) { return run_bench(*bench, world, flags); }; });
}

}  // namespace pawl::app
