#include "bench_workload_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "codec/describe.h"
#include "workload/conversations.h"
#include "workload/prefix_tree.h"
#include "workload/random_workload.h"
#include "workload/reference_workload.h"
#include "workload/rows.h"
#include "workload/trace_workload.h"

namespace pawl::app {
namespace {

constexpr std::uint64_t kMaxFile = 4ull << 30;
constexpr std::array<const char*, 9> kDatasets{"random", "reference", "sharegpt", "prefix-tree", "jsonl", "sessions", "mooncake", "azure", "weka"};

/// What one call works with.
struct Making {
  const WorkloadFlags& flags;
  const World& world;
  workload::Form form;
  std::optional<std::int64_t> requests;
  std::int64_t fallback;
  workload::TokenizerPtr tokenizer;
};

Result<std::string> read_dataset(const Making& making) {
  if (making.flags.path.empty()) {
    return usage_error(fmt::format("--dataset {} needs a file", making.flags.dataset),
                       "give it with --dataset-path FILE; what it looks like: docs/workloads.md");
  }
  PAWL_ASSIGN(std::string bytes, making.world.files.read(making.flags.path, kMaxFile));
  return workload::unpacked(std::move(bytes), making.flags.path.string(), kMaxFile);
}

Result<std::int64_t> needed(const std::optional<std::int64_t>& length, const char* flag, const std::string& dataset) {
  if (!length) return usage_error(fmt::format("--dataset {} needs {}", dataset, flag), fmt::format("give {} TOKENS", flag));
  return *length;
}

Result<workload::LengthRule> lengths(const Making& making) {
  workload::LengthRule rule;
  const auto profile = codec::enum_value<workload::RangeProfile>(making.flags.range_profile);
  if (!profile) return usage_error("unknown range profile " + making.flags.range_profile);
  rule.profile = *profile;
  PAWL_ASSIGN(rule.isl, needed(making.flags.isl, "--isl", making.flags.dataset));
  PAWL_ASSIGN(rule.osl, needed(making.flags.osl, "--osl", making.flags.dataset));
  rule.ratio = making.flags.range_ratio.value_or(workload::fixed_ratio(*profile));
  rule.overhead = making.flags.overhead;
  return rule;
}

Result<std::vector<workload::PrefixLevel>> prefix_levels(const std::string& text) {
  std::vector<workload::PrefixLevel> levels;
  for (const std::string_view item : split(std::string_view(text), ',')) {
    const std::size_t cross = item.find('x');
    const auto branches = parse_int(item.substr(0, cross));
    const auto tokens = cross == std::string_view::npos ? std::nullopt : parse_int(item.substr(cross + 1));
    if (!branches || !tokens)
      return usage_error("--prefix-levels: \"" + std::string(item) + "\" is not BRANCHESxTOKENS", "for example --prefix-levels 1x1024,8x512");
    levels.push_back({*branches, *tokens});
  }
  return levels;
}

using Made = Result<std::unique_ptr<workload::Workload>>;

Made make_prefix_tree(const Making& making) {
  const WorkloadFlags& flags = making.flags;
  workload::PrefixTreeOptions options{.form = making.form, .tokenizer = making.tokenizer, .vocabulary = flags.vocabulary};
  options.requests = making.requests.value_or(making.fallback);
  options.block_tokens = flags.block_tokens;
  options.seed = flags.seed;
  options.salt = flags.salt;
  PAWL_ASSIGN(const std::int64_t isl, needed(flags.isl, "--isl", flags.dataset));
  PAWL_ASSIGN(options.osl, needed(flags.osl, "--osl", flags.dataset));
  if (flags.hit_ratio.has_value() == !flags.prefix_levels.empty()) {
    return usage_error("a prefix tree needs either --prefix-levels or --prefix-hit-ratio", "for example --prefix-levels 1x1024,8x512");
  }
  if (flags.hit_ratio) {
    PAWL_ASSIGN(options.levels, workload::levels_for_ratio(*flags.hit_ratio, flags.prefix_groups, options.requests, isl, flags.block_tokens));
  } else {
    PAWL_ASSIGN(options.levels, prefix_levels(flags.prefix_levels));
  }
  options.own_tokens = isl;
  for (const auto& level : options.levels) options.own_tokens -= level.tokens;
  if (options.own_tokens < 1) return usage_error(fmt::format("--isl {} leaves nothing after the shared prefixes", isl), "--isl counts them too");
  return workload::make_prefix_tree(options);
}

workload::TextRowOptions text_rows(const Making& making) {
  const WorkloadFlags& flags = making.flags;
  workload::TextRowOptions options{.form = making.form, .tokenizer = making.tokenizer, .path = flags.path.string()};
  options.requests = making.requests.value_or(0);
  options.repeat = flags.repeat;
  options.keep_order = flags.order == "file";
  options.limits = !flags.no_limits;
  options.osl = flags.osl;
  options.history = flags.history == "recorded" ? workload::History::kRecorded : workload::History::kLive;
  options.think_time = Nanos(std::llround(flags.think_time_ms * 1e6));
  options.max_turns = flags.turns;
  options.seed = flags.seed;
  options.salt = flags.salt;
  return options;
}

Made make_sessions(const Making& making) {
  const WorkloadFlags& flags = making.flags;
  if (!flags.path.empty()) {
    PAWL_ASSIGN(const std::string file, read_dataset(making));
    return workload::make_session_workload(text_rows(making), file);
  }
  if (making.form != workload::Form::kMessages) return usage_error("--dataset sessions needs a chat back end", "add --backend openai-chat");
  workload::SyntheticSessionOptions options{.tokenizer = making.tokenizer};
  if (flags.turns > 0) options.turns = flags.turns;
  PAWL_ASSIGN(options.first_isl, needed(flags.isl, "--isl", flags.dataset));
  PAWL_ASSIGN(options.osl, needed(flags.osl, "--osl", flags.dataset));
  options.turn_isl = flags.turn_isl.value_or(options.first_isl);
  options.think_time = Nanos(std::llround(flags.think_time_ms * 1e6));
  options.seed = flags.seed;
  options.salt = flags.salt;
  return workload::make_synthetic_sessions(options);
}

Made make_trace(const Making& making) {
  const WorkloadFlags& flags = making.flags;
  PAWL_ASSIGN(const std::string file, read_dataset(making));
  workload::TraceOptions options{.form = making.form, .tokenizer = making.tokenizer, .vocabulary = flags.vocabulary, .path = flags.path.string()};
  options.requests = making.requests.value_or(0);
  options.repeat = flags.repeat;
  if (flags.dataset == "weka") options.speed = flags.pause_speed;
  options.max_input = flags.max_input;
  options.idle_cap_s = flags.idle_cap_s;
  options.seed = flags.seed;
  options.salt = flags.salt;
  if (flags.dataset == "mooncake") return workload::make_mooncake_workload(options, file);
  if (flags.dataset == "azure") return workload::make_azure_workload(options, file);
  return workload::make_weka_workload(options, file);
}

Made make(const Making& making) {
  const WorkloadFlags& flags = making.flags;
  if (flags.dataset == "random") {
    workload::RandomOptions options{.form = making.form, .tokenizer = making.tokenizer};
    PAWL_ASSIGN(options.lengths, lengths(making));
    options.seed = flags.seed;
    options.salt = flags.salt;
    options.vocabulary = flags.vocabulary;
    return workload::make_random_workload(options);
  }
  if (flags.dataset == "reference") {
    workload::ReferenceOptions options{.form = making.form == workload::Form::kIds ? workload::Form::kText : making.form, .tokenizer = making.tokenizer};
    PAWL_ASSIGN(options.isl, needed(flags.isl, "--isl", flags.dataset));
    PAWL_ASSIGN(options.osl, needed(flags.osl, "--osl", flags.dataset));
    options.ratio = flags.range_ratio.value_or(0.8);
    options.template_tokens = flags.overhead;
    options.requests = making.requests.value_or(making.fallback);
    options.seed = flags.seed;
    return workload::make_reference_workload(options);
  }
  if (flags.dataset == "prefix-tree") return make_prefix_tree(making);
  if (flags.dataset == "sessions") return make_sessions(making);
  if (flags.dataset == "sharegpt" || flags.dataset == "jsonl") {
    PAWL_ASSIGN(const std::string file, read_dataset(making));
    workload::TextRowOptions options = text_rows(making);
    // Recorded texts stay texts, unless ids are asked for.
    if (options.form == workload::Form::kIds && flags.form != "ids") options.form = workload::Form::kText;
    return flags.dataset == "sharegpt" ? workload::make_sharegpt_workload(options, file) : workload::make_jsonl_workload(options, file);
  }
  return make_trace(making);
}

}  // namespace

void add_workload_options(CLI::App& app, WorkloadFlags& flags) {
  const char* group = "Data set";
  const auto positive = CLI::Range(std::int64_t{1}, std::int64_t{100'000'000});
  app.add_option("--dataset", flags.dataset, "What is asked: " + join(std::vector<std::string>(kDatasets.begin(), kDatasets.end()), ", "))
      ->check(CLI::IsMember(std::vector<std::string>(kDatasets.begin(), kDatasets.end())))
      ->capture_default_str()
      ->group(group);
  app.add_option("--dataset-path", flags.path, "Its file; .gz is unpacked")->group(group);
  app.add_option("--tokenizer", flags.tokenizer,
                 "tokenizer.json, tekken.json or SentencePiece .model of the model, or a folder with one; makes lengths of text exact")
      ->group(group);
  app.add_option("--prompt-form", flags.form, "Token ids or text, where the back end takes both")->check(CLI::IsMember({"ids", "text"}))->group(group);
  app.add_option("--isl", flags.isl, "Input tokens a request (text without a tokenizer: words)")->check(positive)->group(group);
  app.add_option("--osl", flags.osl, "Output tokens a request; replaces the recorded lengths of sharegpt, jsonl and sessions")->check(positive)->group(group);
  app.add_option("--range-ratio", flags.range_ratio, "Spread of lengths, as the range profile reads it; default: fixed lengths (reference: 0.8)")
      ->check(CLI::Range(0.0, 1.0))
      ->group(group);
  app.add_option("--range-profile", flags.range_profile,
                 "inferencex: [ratio × L, L]; vllm and aiperf: L ± ratio × L; sglang: [ratio × L, L], special tokens taken off")
      ->check(CLI::IsMember(codec::enum_texts<workload::RangeProfile>()))
      ->capture_default_str()
      ->group(group);
  app.add_option("--isl-overhead", flags.overhead, "Special or chat template tokens that count as input")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--vocabulary", flags.vocabulary, "Without a tokenizer token ids are drawn from [100, this)")
      ->check(CLI::Range(std::int64_t{101}, std::int64_t{INT32_MAX}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--seed", flags.seed, "Same seed, same prompts, lengths and arrivals")->capture_default_str()->group(group);
  app.add_option("--salt", flags.salt, "Another salt, other content of the same lengths: no cache hits from an earlier run")
      ->capture_default_str()
      ->group(group);
  app.add_flag("--dataset-repeat", flags.repeat, "Use rows again when there are fewer than requests; the repeats are counted")->group(group);
  app.add_option("--dataset-order", flags.order, "Of recorded texts: shuffle (by the seed) or file")
      ->check(CLI::IsMember({"shuffle", "file"}))
      ->capture_default_str()
      ->group(group);
  app.add_flag("--no-sharegpt-limits", flags.no_limits, "Lift the four length rules of sharegpt")->group(group);
  app.add_option("--prefix-levels", flags.prefix_levels, "Shared prefixes, root first: BRANCHESxTOKENS,… such as 1x1024,8x512; --isl counts them too")
      ->group(group);
  app.add_option("--prefix-hit-ratio", flags.hit_ratio, "Instead: the share of input tokens that a cache of whole blocks holds")
      ->check(CLI::Range(0.0, 1.0))
      ->group(group);
  app.add_option("--prefix-groups", flags.prefix_groups, "Different prefixes with --prefix-hit-ratio")->check(positive)->capture_default_str()->group(group);
  app.add_option("--block-tokens", flags.block_tokens, "Tokens of a cache block, for the predicted hit ratio of prefix-tree")
      ->check(positive)
      ->capture_default_str()
      ->group(group);
  app.add_option("--turns", flags.turns, "Turns of a session (default: 4, or all that the file has)")->check(positive)->group(group);
  app.add_option("--turn-isl", flags.turn_isl, "Input tokens of each turn after the first (default: --isl)")->check(positive)->group(group);
  app.add_option("--think-time-ms", flags.think_time_ms, "From the end of a turn to the next")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str()
      ->group(group);
  app.add_option("--history", flags.history, "What later turns of a recorded session hold: live (the server's replies) or recorded")
      ->check(CLI::IsMember({"live", "recorded"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--idle-cap", flags.idle_cap_s, "Seconds that a pause within a weka session lasts at most")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str()
      ->group(group);
  app.add_option("--max-input", flags.max_input, "Drop rows of a trace with more input tokens")->check(positive)->group(group);
}

const char* workload_examples() {
  return "  pawl bench --url http://127.0.0.1:8000 --model m --concurrency 16 --dataset reference --tokenizer tokenizer.json --isl 1024 --osl 1024\n"
         "  pawl bench --url http://127.0.0.1:8000 --model m --concurrency 16 --dataset sharegpt --dataset-path sharegpt.json --tokenizer tokenizer.json\n"
         "  pawl bench --url http://127.0.0.1:8000 --model m --concurrency 16 --dataset prefix-tree --isl 2048 --osl 64 --prefix-hit-ratio 0.5 --prefix-groups "
         "4\n"
         "  pawl bench --url http://127.0.0.1:8000 --model m --backend openai-chat --concurrency 8 --dataset sessions --turns 4 --isl 512 --turn-isl 64 --osl "
         "64\n"
         "  pawl bench --url http://127.0.0.1:8000 --model m --concurrency 32 --dataset mooncake --dataset-path trace.jsonl.gz --requests 500\n";
}

Result<std::shared_ptr<const tokenizer::Tokenizer>> read_tokenizer(const io::Files& files, const std::filesystem::path& path) {
  std::filesystem::path file = path;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    for (const char* name : {"tokenizer.json", "tekken.json", "tokenizer.model"}) {
      if (!files.exists(path / name)) continue;
      file = path / name;
      break;
    }
    if (file == path) return bad_input(path.string() + ": no tokenizer.json, tekken.json or tokenizer.model in it");
  }
  PAWL_ASSIGN(const std::string bytes, files.read(file));
  return tokenizer::load_tokenizer(bytes, file.string());
}

Result<std::shared_ptr<const workload::Workload>> make_bench_workload(const WorkloadFlags& flags, const World& world, workload::Form best,
                                                                      std::optional<std::int64_t> requests, std::int64_t fallback_requests) {
  Making making{flags, world, best, requests, fallback_requests, nullptr};
  if (best != workload::Form::kMessages && !flags.form.empty()) making.form = flags.form == "ids" ? workload::Form::kIds : workload::Form::kText;
  if (best == workload::Form::kMessages && flags.form == "ids") return usage_error("--prompt-form ids for a chat back end", "chat takes messages");
  if (!flags.tokenizer.empty()) {
    PAWL_ASSIGN(making.tokenizer, read_tokenizer(world.files, flags.tokenizer));
  }
  PAWL_ASSIGN(auto made, make(making));
  return std::shared_ptr<const workload::Workload>(std::move(made));
}

std::string describe_workload(const workload::Description& d) {
  std::string out = fmt::format("data set {}", d.dataset);
  if (!d.path.empty()) out += " from " + d.path;
  if (d.mean_isl && d.mean_osl) out += fmt::format(": {:.1f} in / {:.1f} out on average", *d.mean_isl, *d.mean_osl);
  if (!d.tokenizer.empty()) out += ", counted by " + d.tokenizer;
  out += '\n';
  if (d.rows && d.kept) {
    out += fmt::format("  rows {}, usable {}", *d.rows, *d.kept);
    for (const auto& [reason, count] : d.dropped) out += fmt::format(", {} {}", reason, count);
    if (d.repeats > 0) out += fmt::format("; {} used again", d.repeats);
    out += '\n';
  }
  if (d.sessions) out += fmt::format("  sessions {}\n", *d.sessions);
  if (d.predicted_hit_ratio && *d.predicted_hit_ratio > 0) {
    out += fmt::format("  predicted hit ratio {:.4f} (infinite cache, blocks of {} tokens)\n", *d.predicted_hit_ratio, d.block_tokens.value_or(0));
  }
  for (const std::string& note : d.notes) out += "  " + note + "\n";
  return out;
}

}  // namespace pawl::app
