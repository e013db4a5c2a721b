#include "exec/executor_settings.h"

#include <fmt/format.h>

#include "codec/describe.h"
#include "codec/yaml.h"

namespace pawl::exec {
namespace {

void take(const std::optional<std::string>& from, std::string& to) {
  if (from) to = *from;
}

struct Span {
  const char* key;
  const std::optional<double>& from;
  Nanos& to;
  double least, most;
};

Status take(const Span& span, const char* part, const std::string& file) {
  if (!span.from) return {};
  if (!(*span.from >= span.least && *span.from <= span.most)) {
    return bad_input(fmt::format("{}: {}.{} must be {} to {} s", file, part, span.key, span.least, span.most));
  }
  span.to = std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(*span.from));
  return {};
}

ContainerSettings container_settings(const ExecutorChoice& choice) {
  ContainerSettings settings;
  if (!choice.container) return settings;
  const ContainerChoice& given = *choice.container;
  take(given.image, settings.image);
  take(given.program, settings.program);
  take(given.network, settings.network);
  take(given.user, settings.user);
  if (given.devices) settings.devices = *given.devices;
  if (given.mounts) settings.mounts = *given.mounts;
  if (given.options) settings.options = *given.options;
  return settings;
}

}  // namespace

Result<ExecutorChoice> parse_executor_choice(std::string text, const std::string& file) {
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(std::move(text), file));
  PAWL_ASSIGN(const codec::Json value, codec::yaml_value(document, document.root));
  PAWL_ASSIGN(ExecutorChoice choice, codec::from_json<ExecutorChoice>(value, file));
  if (choice.slurm && choice.executor != ExecutorKind::kSlurm) {
    return bad_input(fmt::format("{}: it has settings under slurm, but the executor is {}", file, codec::enum_text(choice.executor)), "write executor: slurm");
  }
  if (choice.podman && choice.executor != ExecutorKind::kPodman) {
    return bad_input(fmt::format("{}: it has settings under podman, but the executor is {}", file, codec::enum_text(choice.executor)),
                     "write executor: podman");
  }
  const bool contained =
      choice.executor == ExecutorKind::kPodman || (choice.slurm && choice.slurm->container && *choice.slurm->container != SlurmContainer::kNone);
  if (choice.container && !contained) {
    return bad_input(fmt::format("{}: it has settings under container, but nothing runs in one", file),
                     "write executor: podman, or container: podman (or pyxis) under slurm");
  }
  return choice;
}

Result<SlurmSettings> slurm_settings(const ExecutorChoice& choice, const std::string& owner, const std::string& file) {
  SlurmSettings settings;
  settings.owner = owner;
  settings.container_settings = container_settings(choice);
  if (!choice.slurm) return settings;
  const SlurmChoice& given = *choice.slurm;
  take(given.owner, settings.owner);
  take(given.partition, settings.partition);
  take(given.account, settings.account);
  take(given.qos, settings.qos);
  take(given.gres, settings.gres);
  take(given.exclude, settings.exclude);
  if (given.options) settings.options = *given.options;
  if (given.container) settings.container = *given.container;
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
  for (const Span& span : {Span{"poll_s", given.poll_s, settings.poll, 0.05, 600}, Span{"find_again_s", given.find_again_s, settings.find_again, 0, 3600},
                           Span{"record_lag_s", given.record_lag_s, settings.record_lag, 0, 86'400},
                           Span{"command_limit_s", given.command_limit_s, settings.command_limit, 1, 600}}) {
    PAWL_TRY(take(span, "slurm", file));
  }
  return settings;
}

Result<PodmanSettings> podman_settings(const ExecutorChoice& choice, const std::string& owner, const std::string& file) {
  PodmanSettings settings;
  settings.owner = owner;
  settings.container = container_settings(choice);
  if (!choice.podman) return settings;
  const PodmanChoice& given = *choice.podman;
  take(given.owner, settings.owner);
  if (settings.owner.empty() || settings.owner.size() > 64) return bad_input(fmt::format("{}: podman.owner must be 1 to 64 characters", file));
  if (given.jobs_at_once) {
    if (*given.jobs_at_once < 1 || *given.jobs_at_once > 1000) return bad_input(fmt::format("{}: podman.jobs_at_once must be 1 to 1000", file));
    settings.jobs_at_once = *given.jobs_at_once;
  }
  PAWL_TRY(take(Span{"command_limit_s", given.command_limit_s, settings.command_limit, 1, 600}, "podman", file));
  PAWL_TRY(take(Span{"pull_limit_s", given.pull_limit_s, settings.pull_limit, 1, 86'400}, "podman", file));
  return settings;
}

}  // namespace pawl::exec
