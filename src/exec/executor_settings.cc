#include "exec/executor_settings.h"

#include <fmt/format.h>

#include "codec/describe.h"
#include "codec/yaml.h"

namespace pawl::exec {

Result<ExecutorChoice> parse_executor_choice(std::string text, const std::string& file) {
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(std::move(text), file));
  PAWL_ASSIGN(const codec::Json value, codec::yaml_value(document, document.root));
  PAWL_ASSIGN(ExecutorChoice choice, codec::from_json<ExecutorChoice>(value, file));
  if (choice.slurm && choice.executor != ExecutorKind::kSlurm) {
    return bad_input(fmt::format("{}: it has settings under slurm, but the executor is {}", file, codec::enum_text(choice.executor)), "write executor: slurm");
  }
  return choice;
}

Result<SlurmSettings> slurm_settings(const ExecutorChoice& choice, const std::string& owner, const std::string& file) {
  SlurmSettings settings;
  settings.owner = owner;
  if (!choice.slurm) return settings;
  const SlurmChoice& given = *choice.slurm;
  const auto text = [](const std::optional<std::string>& from, std::string& to) {
    if (from) to = *from;
  };
  text(given.owner, settings.owner);
  text(given.partition, settings.partition);
  text(given.account, settings.account);
  text(given.qos, settings.qos);
  text(given.gres, settings.gres);
  text(given.exclude, settings.exclude);
  if (given.options) settings.options = *given.options;
  const auto wrong = [&](const char* key, const std::string& what) { return bad_input(fmt::format("{}: slurm.{} must be {}", file, key, what)); };
  if (settings.owner.empty() || settings.owner.size() > 64) return wrong("owner", "1 to 64 characters");
  if (given.jobs_at_once) {
    if (*given.jobs_at_once < 1 || *given.jobs_at_once > 100'000) return wrong("jobs_at_once", "1 to 100000");
    settings.jobs_at_once = *given.jobs_at_once;
  }
  if (given.time_limit_minutes) {
    if (*given.time_limit_minutes < 1 || *given.time_limit_minutes > 60 * 24 * 30) return wrong("time_limit_minutes", "1 to 43200");
    settings.time_limit_minutes = *given.time_limit_minutes;
  }
  struct Span {
    const char* key;
    const std::optional<double>& from;
    Nanos& to;
    double least, most;
  };
  for (const Span& span : {Span{"poll_s", given.poll_s, settings.poll, 0.05, 600}, Span{"find_again_s", given.find_again_s, settings.find_again, 0, 3600},
                           Span{"record_lag_s", given.record_lag_s, settings.record_lag, 0, 86'400},
                           Span{"command_limit_s", given.command_limit_s, settings.command_limit, 1, 600}}) {
    if (!span.from) continue;
    if (!(*span.from >= span.least && *span.from <= span.most)) return wrong(span.key, fmt::format("{} to {} s", span.least, span.most));
    span.to = std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(*span.from));
  }
  return settings;
}

}  // namespace pawl::exec
