#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "exec/slurm_executor.h"

namespace pawl::exec {

inline constexpr std::string_view kExecutorFile = "executor.yaml";  ///< in the workspace; absent: processes of this machine

enum class ExecutorKind { kProcess, kSlurm };
BOOST_DESCRIBE_ENUM(ExecutorKind, kProcess, kSlurm)

/// What stands under `slurm:`. Seconds and minutes as the names say; absent keys keep the values of SlurmSettings.
struct SlurmChoice {
  std::optional<std::string> owner, partition, account, qos, gres, exclude;
  std::optional<std::int64_t> jobs_at_once, time_limit_minutes;
  std::optional<std::vector<std::string>> options;
  std::optional<double> poll_s, find_again_s, record_lag_s, command_limit_s;
};
BOOST_DESCRIBE_STRUCT(SlurmChoice, (),
                      (owner, partition, account, qos, gres, exclude, jobs_at_once, time_limit_minutes, options, poll_s, find_again_s, record_lag_s,
                       command_limit_s))

struct ExecutorChoice {
  ExecutorKind executor = ExecutorKind::kProcess;
  std::optional<SlurmChoice> slurm;
};
BOOST_DESCRIBE_STRUCT(ExecutorChoice, (), (executor, slurm))

/// executor.yaml. Errors name file, key, what was expected and the nearest key.
[[nodiscard]] Result<ExecutorChoice> parse_executor_choice(std::string text, const std::string& file);

/// The settings that the choice stands for; `owner` when it names none. Error: a value out of its bounds.
[[nodiscard]] Result<SlurmSettings> slurm_settings(const ExecutorChoice& choice, const std::string& owner, const std::string& file);

}  // namespace pawl::exec
