#include <fmt/format.h>

#include <cmath>

#include "bench_output_options.h"
#include "benchout/text.h"
#include "codec/describe.h"

namespace pawl::app {
namespace {

/// Reads a file of records again: as if the run had just ended.
Result<model::BenchResult> replay(const std::filesystem::path& path, const std::string& text, BenchOutputFlags flags, World& world,
                                  std::unique_ptr<BenchOutputs>& outputs) {
  const std::string name = path.string();
  std::size_t at = 0, number = 0;
  const auto next = [&](std::string_view& line) {
    while (at < text.size()) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      line = std::string_view(text).substr(at, end - at);
      at = end + 1;
      ++number;
      if (!line.empty()) return true;
    }
    return false;
  };
  std::string_view line;
  if (!next(line)) return bad_input(name + ": empty");
  PAWL_ASSIGN(const measure::RecordsHead head, measure::read_head(line, fmt::format("{}:{}", name, number)));
  flags.records.clear();  // the file is there already
  PAWL_ASSIGN(outputs, BenchOutputs::open(flags, head));
  outputs->summarises = true;
  if (head.max_concurrency > 0) outputs->target_in_flight = head.max_concurrency;
  // Records count from 0; a monotonic clock of another machine means nothing here.
  const MonoTime origin{Nanos(0)};
  outputs->begin(origin, WallTime{Nanos(head.origin_unix_ns)});
  std::optional<MonoTime> first, last;
  std::int64_t kernel_stamps = 0, user_stamps = 0;
  while (next(line)) {
    PAWL_ASSIGN(const measure::RequestRecord record, measure::read_record(line, origin, fmt::format("{}:{}", name, number)));
    if (record.phase == measure::Phase::kMeasured && record.send) {
      if (!first || *record.send < *first) first = record.send;
      if (record.end && (!last || *record.end > *last)) last = record.end;
    }
    for (const measure::StreamEvent& event : record.events) ++(event.late_ns > 0 ? kernel_stamps : user_stamps);
    outputs->take(record);
  }
  model::BenchResult result;
  result.url = head.url;
  result.backend = head.backend;
  result.model_id = head.model_id;
  result.endpoint = head.endpoint;
  result.max_concurrency = head.max_concurrency;
  result.isl = head.isl.value_or(0);
  result.osl = head.osl.value_or(0);
  result.range_ratio = head.range_ratio.value_or(1);
  // A time of the kernel is earlier than ours, one of our own is not (BC-2.3).
  if (kernel_stamps + user_stamps > 0) result.clock = kernel_stamps >= user_stamps ? "kernel" : "user";
  outputs->fill_all(result);
  const WallTime wall{Nanos(head.origin_unix_ns)};
  if (first) result.started_unix_s = seconds_of((wall + (*first - origin)).since_epoch);
  if (last) result.ended_unix_s = seconds_of((wall + (*last - origin)).since_epoch);
  PAWL_TRY(outputs->finish(result, world));
  return result;
}

Result<ExitStatus> show(const std::filesystem::path& path, const BenchOutputFlags& files, World& world, const CommonFlags& flags) {
  std::unique_ptr<BenchOutputs> outputs;
  PAWL_ASSIGN(const model::BenchResult result, load_bench_file(path, files, world, outputs));
  if (flags.json) {
    print_json(codec::to_json(result));
  } else {
    fmt::print("{}", benchout::text_report(result));
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> compare(const std::filesystem::path& left, const std::filesystem::path& right, World& world, const CommonFlags& flags) {
  std::unique_ptr<BenchOutputs> outputs;
  PAWL_ASSIGN(const model::BenchResult a, load_bench_file(left, {}, world, outputs));
  PAWL_ASSIGN(const model::BenchResult b, load_bench_file(right, {}, world, outputs));
  if (!flags.json) {
    fmt::print("{}", benchout::text_comparison(a, b));
    return ExitStatus::kDone;
  }
  codec::Json metrics = codec::Json::array();
  for (const benchout::MetricChange& change : benchout::changes(a, b)) {
    const auto number = [](double value) { return std::isfinite(value) ? codec::Json(value) : codec::Json(nullptr); };
    metrics.push_back({{"metric", change.metric},
                       {"statistic", change.statistic},
                       {"a", number(change.a)},
                       {"b", number(change.b)},
                       {"change_pct", change.change_pct ? codec::Json(*change.change_pct) : codec::Json(nullptr)},
                       {"intervals_apart", change.intervals_apart ? codec::Json(*change.intervals_apart) : codec::Json(nullptr)}});
  }
  print_json(codec::Json{{"schema", "pawl.bench-comparison/1"}, {"a", left.string()}, {"b", right.string()}, {"changes", std::move(metrics)}});
  return ExitStatus::kDone;
}

}  // namespace

Result<model::BenchResult> load_bench_file(const std::filesystem::path& path, const BenchOutputFlags& flags, World& world,
                                           std::unique_ptr<BenchOutputs>& outputs) {
  PAWL_ASSIGN(const std::string text, world.files.read(path, std::uint64_t{8} << 30));
  const std::size_t end = std::min(text.find('\n'), text.size());
  if (std::string_view(text).substr(0, end).find("pawl.bench-records/") != std::string_view::npos) return replay(path, text, flags, world, outputs);
  PAWL_ASSIGN(const codec::Json json, codec::parse_json(text, path.string()));
  const auto schema = json.is_object() ? json.find("schema") : json.end();
  if (!json.is_object() || schema == json.end() || *schema != model::BenchResult{}.schema) {
    return bad_input(path.string() + ": neither a result nor the records of `pawl bench`", "give a file that --output or --records wrote");
  }
  PAWL_ASSIGN(model::BenchResult result, codec::from_json<model::BenchResult>(json, path.string(), codec::UnknownKeys::kIgnore));
  measure::RecordsHead head;
  head.backend = result.backend;
  head.chat = result.backend.ends_with("-chat");
  PAWL_ASSIGN(outputs, BenchOutputs::open(flags, std::move(head)));
  if (std::isfinite(result.ended_unix_s)) outputs->info.date = WallTime{Nanos(static_cast<std::int64_t>(result.ended_unix_s * 1e9))};
  PAWL_TRY(outputs->finish(result, world));
  return result;
}

void add_bench_file_commands(Cli& cli, CLI::App& bench) {
  CLI::App* shown =
      cli.command(bench, "show", "Print a result again, or make other formats and a report of it",
                  "  pawl bench show result.json\n"
                  "  pawl bench show records.jsonl --report run.html --output vllm:vllm.json --output aiperf:artifacts\n"
                  "  pawl bench show records.jsonl --compat all --json\n"
                  "\nFrom a file of records (--records) everything is computed anew, but for the verdict; from a result only what it holds can be shown.");
  auto file = std::make_shared<std::filesystem::path>();
  auto flags = std::make_shared<BenchOutputFlags>();
  shown->add_option("file", *file, "Result (--output) or records (--records) of pawl bench")->required();
  add_bench_output_options(*shown, *flags);
  shown->callback(
      [&cli, file, flags] { cli.selected = [file, flags](World& world, const CommonFlags& common) { return show(*file, *flags, world, common); }; });

  CLI::App* compared = cli.command(
      bench, "compare", "Two results side by side, with the change of each metric",
      "  pawl bench compare before.json after.json\n"
      "  pawl bench compare before.jsonl after.jsonl --json\n"
      "\n\"apart\": the 99 % intervals of that percentile do not overlap, so chance does not explain the change. It judges nothing: exit status 0.");
  auto left = std::make_shared<std::filesystem::path>(), right = std::make_shared<std::filesystem::path>();
  compared->add_option("a", *left, "Result or records")->required();
  compared->add_option("b", *right, "Result or records")->required();
  compared->callback(
      [&cli, left, right] { cli.selected = [left, right](World& world, const CommonFlags& common) { return compare(*left, *right, world, common); }; });
}

}  // namespace pawl::app
