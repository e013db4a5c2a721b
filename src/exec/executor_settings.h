#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "exec/podman_executor.h"
#include "exec/slurm_executor.h"

namespace pawl::exec {

inline constexpr std::string_view kExecutorFile = "executor.yaml";  ///< in the workspace; absent: processes of this machine

enum class ExecutorKind { kProcess, kPodman, kSlurm };
BOOST_DESCRIBE_ENUM(ExecutorKind, kProcess, kPodman, kSlurm)

/// What starts the engine of an image: the twin (simulated), or the recipe's own launch script inside the image.
enum class EngineChoice { kTwin, kScript };
BOOST_DESCRIBE_ENUM(EngineChoice, kTwin, kScript)

/// What stands under `container:`, for podman and for containers under Slurm; absent keys keep those of ContainerSettings.
struct ContainerChoice {
  std::optional<std::string> image, program, network, user;
  std::optional<std::vector<std::string>> devices, mounts, options;
};
BOOST_DESCRIBE_STRUCT(ContainerChoice, (), (image, program, network, user, devices, mounts, options))

/// What stands under `podman:`.
struct PodmanChoice {
  std::optional<std::string> owner;
  std::optional<std::int64_t> jobs_at_once;
  std::optional<double> command_limit_s, pull_limit_s;
};
BOOST_DESCRIBE_STRUCT(PodmanChoice, (), (owner, jobs_at_once, command_limit_s, pull_limit_s))

/// What stands under `slurm:`. Seconds and minutes as the names say; absent keys keep the values of SlurmSettings.
struct SlurmChoice {
  std::optional<std::string> owner, partition, account, qos, gres, exclude;
  std::optional<std::int64_t> jobs_at_once, time_limit_minutes;
  std::optional<std::vector<std::string>> options;
  std::optional<double> poll_s, find_again_s, record_lag_s, command_limit_s;
  std::optional<SlurmContainer> container;
};
BOOST_DESCRIBE_STRUCT(SlurmChoice, (),
                      (owner, partition, account, qos, gres, exclude, jobs_at_once, time_limit_minutes, options, poll_s, find_again_s, record_lag_s,
                       command_limit_s, container))

struct ExecutorChoice {
  ExecutorKind executor = ExecutorKind::kProcess;
  std::optional<EngineChoice> engines;  ///< absent: twin
  std::optional<SlurmChoice> slurm;
  std::optional<PodmanChoice> podman;
  std::optional<ContainerChoice> container;
};
BOOST_DESCRIBE_STRUCT(ExecutorChoice, (), (executor, engines, slurm, podman, container))

/// executor.yaml. Errors name file, key, what was expected and the nearest key.
[[nodiscard]] Result<ExecutorChoice> parse_executor_choice(std::string text, const std::string& file);

/// The settings that the choice stands for; `owner` when it names none. Error: a value out of its bounds.
[[nodiscard]] Result<SlurmSettings> slurm_settings(const ExecutorChoice& choice, const std::string& owner, const std::string& file);
[[nodiscard]] Result<PodmanSettings> podman_settings(const ExecutorChoice& choice, const std::string& owner, const std::string& file);

}  // namespace pawl::exec
