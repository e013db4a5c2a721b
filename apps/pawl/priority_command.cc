#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli.h"
#include "plan/priority.h"

namespace pawl::app {
namespace {

using codec::Json;

struct PriorityFlags {
  std::string input, policy = "configs/ci-priority.yaml", event, labels, queue_namespace = "local", criteria;
  std::optional<std::int64_t> pull_request;
};

Result<std::string> read_stdin() {
  constexpr std::size_t kMax = 256u << 20;
  std::string text;
  char buffer[1 << 16];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) {
    text.append(buffer, n);
    if (text.size() > kMax) return bad_input("standard input: more than 256 MiB");
  }
  return text;
}

/// A JSON list of texts; nothing for empty text and null.
Result<std::optional<std::vector<std::string>>> words(const std::string& text, const char* flag) {
  if (text.empty()) return std::optional<std::vector<std::string>>();
  PAWL_ASSIGN(const Json json, codec::parse_json(text, flag));
  if (json.is_null()) return std::optional<std::vector<std::string>>();
  std::vector<std::string> all;
  if (!json.is_array()) return bad_input(fmt::format("{} must be a JSON list of texts", flag));
  for (const Json& word : json) {
    if (!word.is_string()) return bad_input(fmt::format("{} must be a JSON list of texts", flag));
    all.push_back(word.get<std::string>());
  }
  return std::optional(std::move(all));
}

Result<ExitStatus> priority(World& world, const PriorityFlags& flags) {
  PAWL_ASSIGN(const std::string policy_text, world.files.read(flags.policy));
  PAWL_ASSIGN(const plan::PriorityPolicy policy, plan::PriorityPolicy::read(policy_text, flags.policy));
  const bool from_stdin = flags.input.empty() || flags.input == "-";
  PAWL_ASSIGN(const std::string text, from_stdin ? read_stdin() : world.files.read(flags.input));
  PAWL_ASSIGN(const Json matrix, codec::parse_json(text, from_stdin ? "standard input" : flags.input));
  plan::PriorityInput input{.event = flags.event, .pull_request = flags.pull_request, .queue_namespace = flags.queue_namespace};
  PAWL_ASSIGN(auto labels, words(flags.labels, "--labels-json"));
  if (labels) input.labels = std::move(*labels);
  PAWL_ASSIGN(input.criteria, words(flags.criteria, "--criteria-json"));
  PAWL_ASSIGN(const Json out, plan::annotate_priorities(policy, matrix, input));
  const std::string written = codec::write_json(out, codec::JsonForm::kPyCompact) + "\n";
  std::fwrite(written.data(), 1, written.size(), stdout);
  return ExitStatus::kDone;
}

}  // namespace

void add_priority_command(Cli& cli) {
  auto flags = std::make_shared<PriorityFlags>();
  CLI::App* app = cli.command(cli.root, "priority", "Add priority and queue token to the rows of a matrix",
                              "  pawl matrix full-sweep --catalog DIR | pawl priority --policy DIR/configs/ci-priority.yaml --event-name push");
  app->add_option("--input", flags->input, "Matrix file; default: standard input");
  app->add_option("--policy,--config", flags->policy, "Policy file, version 1")->capture_default_str();
  app->add_option("--event-name", flags->event, "Name of the event: push, pull_request");
  app->add_option("--labels-json", flags->labels, "Labels of the change request, a JSON list, or null");
  app->add_option("--queue-namespace", flags->queue_namespace, "Put before every queue token")->capture_default_str();
  app->add_option("--pr-number", flags->pull_request, "Number of the change request");
  app->add_option("--criteria-json", flags->criteria, "Only these facts of a row count, a JSON list; empty or null: all");
  app->add_flag("--compat", cli.flags.compat, "Exit statuses of the reference: 1 for whatever is refused");
  app->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags&) { return priority(world, *flags); }; });
}

}  // namespace pawl::app
