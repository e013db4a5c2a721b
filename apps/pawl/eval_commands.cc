#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>

#include "base/shown.h"
#include "base/text.h"
#include "cli.h"
#include "codec/describe.h"
#include "evals/comparison.h"
#include "evals/engine_claims.h"
#include "evals/evaluation.h"
#include "http/client.h"

namespace pawl::app {
namespace {

using codec::Json;
namespace fs = std::filesystem;

constexpr std::size_t kDataSetMax = 1u << 30;

struct RunFlags {
  std::string task, url, model, model_prefix, data_set, bearer_variable;
  bool chat = false;
  std::int64_t concurrency = 16, limit = 0;
  double threshold = std::numeric_limits<double>::quiet_NaN(), answer_limit_s = 1800;
  std::int64_t retries = 2;
  std::vector<std::string> expected;
  fs::path output;
};

/// A file beside the task, a path, or an address.
Result<std::string> read_data(const World& world, const fs::path& beside, const std::string& name) {
  if (name.starts_with("http://") || name.starts_with("https://")) {
    http::ClientRequest request;
    request.url = name;
    request.timeout = Seconds{600};
    request.answer_max = kDataSetMax;
    PAWL_ASSIGN(http::Response response, http::fetch(request, world.stop));
    if (response.status != 200) return peer_error(fmt::format("{} answered {}", name, response.status));
    return std::move(response.body);
  }
  const fs::path path = name;
  if (!world.files.exists(path) && path.is_relative() && !beside.empty() && world.files.exists(beside / path))
    return world.files.read(beside / path, kDataSetMax);
  return world.files.read(path, kDataSetMax);
}

/// A task by its name in data/evals, or a task file.
Result<evals::Task> find_task(const World& world, const std::string& task, const std::string& data_set) {
  const bool file = task.ends_with(".yaml") || task.ends_with(".yml") || task.find('/') != std::string::npos;
  const fs::path beside = file ? fs::path(task).parent_path() : fs::path();
  const evals::DataReader data = [&](const std::string& name) { return read_data(world, beside, name); };
  if (!file) {
    auto found = evals::load_task(*world.assets, task, data_set, data);
    if (!found && found.error().cls == ErrorClass::kNotFound && data_set.empty()) {
      std::vector<std::string> names;
      for (const std::string& one : world.assets->list("evals/")) {
        if (one.ends_with(".yaml")) names.push_back(one.substr(6, one.size() - 11));
      }
      if (std::ranges::find(names, task) == names.end()) {
        const auto near = nearest(task, names);
        return std::move(found).error().advise(near ? fmt::format("did you mean {}?", *near) : "known tasks: " + join(names, ", ") + "; or name a task file");
      }
    }
    return found;
  }
  PAWL_ASSIGN(std::string text, world.files.read(task, 16u << 20));
  return evals::read_task(std::move(text), task, "", data_set, data);
}

/// The samples of an eval that goes on, one a line, behind a line that says of which eval. Torn last lines are what a kill leaves.
struct SamplesHead {
  std::string schema = "pawl.eval-samples/1";
  std::string task, definition, url, model;
  bool chat = false;
  std::int64_t n_requested = 0;
};
BOOST_DESCRIBE_STRUCT(SamplesHead, (), (schema, task, definition, url, model, chat, n_requested))

struct SamplesFile {
  std::optional<SamplesHead> head;
  std::vector<model::EvalSample> samples;
  std::size_t good_bytes = 0;  ///< up to the end of the last whole line
};

Result<SamplesFile> read_samples(const World& world, const fs::path& path) {
  SamplesFile out;
  PAWL_ASSIGN(const std::string text, world.files.read(path, kDataSetMax));
  std::size_t at = 0, number = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    ++number;
    const std::string where = fmt::format("{}:{}", path.string(), number);
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (!line.empty()) {
      PAWL_ASSIGN(const Json json, codec::parse_json(line, where));
      if (number == 1 && json.is_object() && json.value("schema", "") == SamplesHead().schema) {
        PAWL_ASSIGN(out.head, codec::from_json<SamplesHead>(json, where));
      } else {
        PAWL_ASSIGN(model::EvalSample sample, codec::from_json<model::EvalSample>(json, where));
        out.samples.push_back(std::move(sample));
      }
    }
    at = end + 1;
    out.good_bytes = at;
  }
  return out;
}

std::string percent(double value, double error) {
  if (!std::isfinite(value)) return "unknown";
  return std::isfinite(error) ? fmt::format("{:.2f} % ± {:.2f}", 100 * value, 100 * error) : fmt::format("{:.2f} %", 100 * value);
}

void print_result(const model::EvalResult& r) {
  fmt::print("{}{}: {}\n", r.task, r.definition_name ? fmt::format(" ({})", *r.definition_name) : "", r.passed ? "passed" : "NOT passed");
  if (std::isfinite(r.accuracy))
    fmt::print("  accuracy     {}\n", percent(r.accuracy, r.accuracy_se));
  else {
    fmt::print("  strict       {}\n", percent(r.em_strict, r.em_strict_se));
    fmt::print("  flexible     {}\n", percent(r.em_flexible, r.em_flexible_se));
  }
  fmt::print("  threshold    {}\n", std::isfinite(r.threshold) ? fmt::format("{:.2f} %", 100 * r.threshold) : "none: without one nothing passes (--threshold)");
  fmt::print("  answered     {} of {}{}\n", r.n_eff, r.n_requested, r.infrastructure_success ? "" : ": no score, what was not answered is not known");
  if (r.diagnostics) {
    const model::EvalDiagnostics& d = *r.diagnostics;
    fmt::print("  of these     {:.1f} % empty, {:.1f} % run on, {:.1f} % cut by a stop string; the same number: strict {:.1f} %, flexible {:.1f} %\n",
               100 * d.empty, 100 * d.run_on, 100 * d.cut_by_stop, 100 * d.numeric_strict, 100 * d.numeric_flexible);
    if (d.empty > 0.01) fmt::print("  warning      more than 1 % of the answers are empty: where does this engine put its text?\n");
  }
  if (r.contradictions) {
    for (const std::string& one : *r.contradictions) fmt::print("  contradicts  {}\n", shown_line(one));
  }
  fmt::print("  definition   {}\n", r.definition);
}

ExitStatus status_of(const model::EvalResult& r) {
  if (!r.infrastructure_success) return ExitStatus::kRunFailed;
  return r.passed ? ExitStatus::kDone : ExitStatus::kFoundWanting;
}

/// "tp=4" → {"tp": 4}
Result<Json> expected_row(const std::vector<std::string>& expected) {
  Json row = Json::object();
  for (const std::string& one : expected) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0) return usage_error(fmt::format("--expect {}: write NAME=VALUE", one));
    const std::string name = one.substr(0, equals), value = one.substr(equals + 1);
    static const std::vector<std::string> kNames = {"tp", "ep", "pp", "dp-attn", "spec-decoding"};
    if (std::ranges::find(kNames, name) == kNames.end()) return usage_error(fmt::format("--expect: {} is not one of {}", name, join(kNames, ", ")));
    if (const auto number = parse_int(value))
      row[name] = *number;
    else if (value == "true" || value == "false")
      row[name] = value == "true";
    else
      row[name] = value;
  }
  return row;
}

Result<ExitStatus> run_run(const RunFlags& flags, World& world, const CommonFlags& common) {
  PAWL_ASSIGN(const Json row, expected_row(flags.expected));
  PAWL_ASSIGN(evals::Task task, find_task(world, flags.task, flags.data_set));
  if (std::isfinite(flags.threshold)) {
    task.threshold = flags.threshold;
    task.thresholds.clear();
  }
  evals::EvalOptions options;
  options.url = flags.url;
  while (options.url.ends_with('/')) options.url.pop_back();
  options.model = flags.model;
  options.chat = flags.chat;
  options.concurrency = flags.concurrency;
  if (flags.limit > 0) options.limit = flags.limit;
  options.model_prefix = flags.model_prefix;
  options.retries = flags.retries;
  options.answer_limit_s = flags.answer_limit_s;
  if (!flags.bearer_variable.empty()) {
    const char* const value = std::getenv(flags.bearer_variable.c_str());
    if (value == nullptr) return usage_error(fmt::format("the environment has no {}", flags.bearer_variable));
    options.bearer = value;
  }
  SamplesHead head;
  head.task = task.name;
  head.definition = task.definition;
  head.url = options.url;
  head.model = options.model;
  head.chat = options.chat;
  head.n_requested =
      static_cast<std::int64_t>(options.limit ? std::min(task.questions.size(), static_cast<std::size_t>(*options.limit)) : task.questions.size());
  const auto progress = make_progress(world, common);
  std::ofstream out;
  if (!flags.output.empty()) {
    PAWL_TRY(world.files.make_folder(flags.output));
    const fs::path path = flags.output / "samples.jsonl";
    if (world.files.exists(path)) {
      PAWL_ASSIGN(SamplesFile before, read_samples(world, path));
      if (before.head) {
        SamplesHead same = *before.head;
        same.n_requested = head.n_requested;  // more or fewer of the same questions
        if (codec::to_json(same) != codec::to_json(head)) {
          return bad_input(fmt::format("{} holds another eval: task {}, definition {}, {} at {}", path.string(), before.head->task,
                                       before.head->definition.substr(0, 12), before.head->model, before.head->url),
                           "name another folder with --output");
        }
      } else if (before.good_bytes > 0) {
        return bad_input(fmt::format("{} is no file of samples of pawl eval", path.string()));
      }
      std::error_code ec;
      fs::resize_file(path, before.good_bytes, ec);
      if (ec) return machine_error(fmt::format("{}: {}", path.string(), ec.message()));
      options.earlier = std::move(before.samples);
      if (!options.earlier.empty()) progress->report({"eval", fmt::format("{} questions were answered before", options.earlier.size())});
    }
    const bool fresh = !world.files.exists(path) || fs::file_size(path) == 0;
    out.open(path, std::ios::app | std::ios::binary);
    if (fresh) out << codec::write_json(codec::to_json(head), codec::JsonForm::kCompactUtf8) << "\n" << std::flush;
    if (!out) return machine_error(fmt::format("{} cannot be written", path.string()));
    options.keep = [&out, path](const model::EvalSample& sample) -> Status {
      out << codec::write_json(codec::to_json(sample), codec::JsonForm::kCompactUtf8) << "\n" << std::flush;
      if (!out) return machine_error(fmt::format("{} cannot be written", path.string()));
      return {};
    };
  }
  const auto contradictions = evals::contradictions(row, flags.model, evals::ask_claims(options.url, world.stop));
  PAWL_ASSIGN(model::EvalResult result, evals::run_eval(task, options, *progress, world.stop));
  evals::invalidate(result, contradictions);
  if (!flags.output.empty()) {
    model::EvalResult without = result;  // they lie beside it
    without.samples.clear();
    PAWL_TRY(world.files.write_atomic(flags.output / "result.json", codec::write_json_pretty(codec::to_json(without))));
  }
  if (common.json) {
    if (!flags.output.empty()) result.samples.clear();
    print_json(codec::to_json(result));
  } else {
    print_result(result);
  }
  return status_of(result);
}

/// What a folder of `pawl eval run` holds, or a job's.
struct Kept {
  model::EvalResult result;
};

Result<Kept> read_kept(const World& world, const fs::path& folder) {
  for (const char* name : {"result.json", "../result.json"}) {
    const fs::path path = folder / name;
    if (!world.files.exists(path)) continue;
    PAWL_ASSIGN(const std::string text, world.files.read(path));
    PAWL_ASSIGN(Json json, codec::parse_json(text, path.string()));
    if (json.is_object() && json.contains("eval")) {  // of a job
      Json inner = json["eval"];
      json = std::move(inner);
    }
    if (!json.is_object() || json.value("schema", "") != model::EvalResult().schema) return bad_input(fmt::format("{} is no result of an eval", path.string()));
    Kept out;
    PAWL_ASSIGN(out.result, codec::from_json<model::EvalResult>(json, path.string(), codec::UnknownKeys::kIgnore));
    if (out.result.samples.empty() && world.files.exists(folder / "samples.jsonl")) {
      PAWL_ASSIGN(SamplesFile samples, read_samples(world, folder / "samples.jsonl"));
      out.result.samples = std::move(samples.samples);
    }
    std::ranges::sort(out.result.samples, {}, &model::EvalSample::doc_id);
    return out;
  }
  const fs::path samples = folder / "samples.jsonl";
  if (world.files.exists(samples)) {
    return not_found(fmt::format("the eval in {} has not ended: there are samples and no result", folder.string()),
                     "the same pawl eval run with --output goes on with it");
  }
  return not_found(fmt::format("{} holds no result of an eval", folder.string()));
}

struct LookFlags {
  fs::path folder, other;
  bool wrong = false, right = false;
  std::int64_t limit = 20;
};

Result<ExitStatus> run_show(const LookFlags& flags, World& world, const CommonFlags& common) {
  PAWL_ASSIGN(Kept kept, read_kept(world, flags.folder));
  kept.result.samples.clear();
  if (common.json)
    print_json(codec::to_json(kept.result));
  else
    print_result(kept.result);
  return status_of(kept.result);
}

Result<ExitStatus> run_samples(const LookFlags& flags, World& world, const CommonFlags& common) {
  fs::path path = flags.folder;
  std::error_code ec;
  if (fs::is_directory(path, ec)) path = world.files.exists(path / "samples.jsonl") ? path / "samples.jsonl" : path / "artifacts" / "samples.jsonl";
  PAWL_ASSIGN(SamplesFile file, read_samples(world, path));
  std::ranges::sort(file.samples, {}, &model::EvalSample::doc_id);
  std::int64_t shown = 0, matching = 0;
  Json all = Json::array();
  for (const model::EvalSample& sample : file.samples) {
    const bool right = sample.passed_strict && sample.passed_flexible;
    if ((flags.wrong && right) || (flags.right && !right)) continue;
    ++matching;
    if (flags.limit > 0 && shown >= flags.limit) continue;
    ++shown;
    if (common.json) {
      all.push_back(codec::to_json(sample));
      continue;
    }
    fmt::print("{:>5}  strict {:<5} flexible {:<5}  {} → {} / {}{}\n", sample.doc_id, sample.passed_strict ? "right" : "wrong",
               sample.passed_flexible ? "right" : "wrong", shown_line(sample.target.substr(sample.target.rfind('\n') + 1)), shown_line(sample.strict),
               shown_line(sample.flexible), sample.numeric_flexible.value_or(false) && !sample.passed_flexible ? "  (the same number)" : "");
    fmt::print("       {}\n", shown_line(sample.question));
    fmt::print("       {}\n", shown_line(replace_all(sample.response, "\n", " ⏎ ")));
  }
  if (common.json)
    print_json({{"schema", "pawl.eval-samples/1"}, {"matching", matching}, {"samples", std::move(all)}});
  else
    fmt::print("{} of {} samples{}\n", shown, file.samples.size(),
               matching > shown ? fmt::format("; {} more match: --limit 0 shows all", matching - shown) : "");
  return ExitStatus::kDone;
}

Result<ExitStatus> run_compare(const LookFlags& flags, World& world, const CommonFlags& common) {
  PAWL_ASSIGN(const Kept before, read_kept(world, flags.folder));
  PAWL_ASSIGN(const Kept after, read_kept(world, flags.other));
  PAWL_ASSIGN(const evals::EvalComparison found, evals::compare(before.result, after.result));
  if (common.json) {
    print_json(codec::to_json(found));
  } else {
    fmt::print("{}: {} questions answered by both\n", before.result.task, found.both);
    fmt::print("  {:<10}{:>12}{:>12}{:>12}{:>22}{:>10}{:>10}{:>10}\n", "", "before", "after", "difference", "95 % interval", "lost", "gained", "p");
    for (const evals::ScoreChange& one : found.scores) {
      fmt::print("  {:<10}{:>11.2f}%{:>11.2f}%{:>11.2f}%{:>22}{:>10}{:>10}{:>10.3g}\n", one.name, 100 * one.before, 100 * one.after, 100 * one.difference,
                 fmt::format("{:+.2f} … {:+.2f}", 100 * one.low, 100 * one.high), one.lost.size(), one.gained.size(), one.p_value);
    }
    for (const evals::ScoreChange& one : found.scores) {
      const auto list = [&](const char* what, const std::vector<std::int64_t>& numbers) {
        if (numbers.empty()) return;
        std::string text;
        for (std::size_t i = 0; i < numbers.size() && i < 30; ++i) text += fmt::format(" {}", numbers[i]);
        fmt::print("  {} {}:{}{}\n", one.name, what, text, numbers.size() > 30 ? " …" : "");
      };
      list("lost", one.lost);
      list("gained", one.gained);
    }
    fmt::print("  texts that differ: {}\n", found.texts_differ);
    fmt::print("{}\n", found.worse ? "worse: the difference is no chance (p < 0.05)" : "no loss that could not be chance");
  }
  return found.worse ? ExitStatus::kFoundWanting : ExitStatus::kDone;
}

}  // namespace

void add_eval_commands(Cli& cli) {
  CLI::App* app = cli.command(cli.root, "eval", "Ask an engine questions with known answers, and score what it says",
                              "  pawl eval run --task arith24 --url http://127.0.0.1:30000 --model m\n  pawl eval compare old new");
  app->require_subcommand(1);
  {
    auto flags = std::make_shared<RunFlags>();
    CLI::App* command = cli.command(
        *app, "run", "Run an eval; goes on with one that was interrupted",
        "  pawl eval run --task arith24 --url http://127.0.0.1:30000 --model m\n"
        "  pawl eval run --task gsm8k --data-set gsm8k/test.jsonl --url http://127.0.0.1:30000 --model m --concurrency 64 --output evals/new\n"
        "  pawl eval run --task my-task.yaml --url http://127.0.0.1:30000 --model m --chat\n"
        "\nWith --output each answer is kept as it comes; the same command goes on with what is missing. Exit status 1: not passed, or the engine is\n"
        "another deployment than --expect says; 6: not every question was answered, so there is no score.");
    command->add_option("--task", flags->task, "Name of a task, or a task file (ours or lm-eval's)")->required();
    command->add_option("--url", flags->url, "http://HOST:PORT of the engine")->required();
    command->add_option("--model", flags->model, "Model name in the requests")->required();
    command->add_option("--model-prefix", flags->model_prefix, "For thresholds of single models: qwen3.5, dsr1, …");
    command->add_option("--data-set", flags->data_set, "Where the questions are: JSON lines, a file (also .gz) or a URL");
    command->add_flag("--chat", flags->chat, "Chat completions in place of completions");
    command->add_option("--concurrency", flags->concurrency, "Questions in flight")->check(CLI::Range(1, 100000))->capture_default_str();
    command->add_option("--limit", flags->limit, "Only the first so many questions")->check(CLI::Range(1, 100000000));
    command->add_option("--threshold", flags->threshold, "In place of that of the task, 0 to 1")->check(CLI::Range(0.0, 1.0));
    command->add_option("--retries", flags->retries, "Times that a question without an answer is asked again")
        ->check(CLI::Range(0, 100))
        ->capture_default_str();
    command->add_option("--answer-limit", flags->answer_limit_s, "Seconds that one answer may take")->check(CLI::Range(1.0, 86400.0))->capture_default_str();
    command->add_option("--expect", flags->expected,
                        "What the engine has to be: tp=4, ep=1, pp=1, dp-attn=false, spec-decoding=none; checked with what it says of itself");
    command->add_option("--api-key-variable", flags->bearer_variable, "Environment variable that holds the API key");
    command->add_option("--output", flags->output, "Folder for result.json and samples.jsonl");
    command->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return run_run(*flags, world, common); }; });
  }
  auto flags = std::make_shared<LookFlags>();
  CLI::App* show = cli.command(*app, "show", "What an eval found", "  pawl eval show evals/new");
  show->add_option("FOLDER", flags->folder, "Folder of --output, or of an eval job")->required();
  show->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return run_show(*flags, world, common); }; });

  CLI::App* samples = cli.command(*app, "samples", "The answers of an eval, one by one", "  pawl eval samples evals/new --wrong");
  samples->add_option("FOLDER", flags->folder, "Folder of --output or of an eval job, or a file of samples")->required();
  samples->add_flag("--wrong", flags->wrong, "Only those that one of the scores counts as wrong");
  samples->add_flag("--right", flags->right, "Only those that both count as right");
  samples->add_option("--limit", flags->limit, "At most so many; 0: all")->capture_default_str();
  samples->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return run_samples(*flags, world, common); }; });

  CLI::App* compare =
      cli.command(*app, "compare", "Two evals of the same task, question by question",
                  "  pawl eval compare evals/old evals/new\n\nExit status 1: the newer one is worse, and that is no chance (McNemar's exact test, p < 0.05).");
  compare->add_option("BEFORE", flags->folder, "Folder of the older eval")->required();
  compare->add_option("AFTER", flags->other, "Folder of the newer eval")->required();
  compare->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return run_compare(*flags, world, common); }; });
}

}  // namespace pawl::app
