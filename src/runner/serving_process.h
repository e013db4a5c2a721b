#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::runner {

/// The command line of the process that listens on `port` of this machine, as the kernel shows it: what a launch script
/// really started. Values of options that name a key, token, password or secret are "***". Nothing: it is not to be
/// seen (another user's, or it ended).
[[nodiscard]] std::optional<std::vector<std::string>> command_of_listener(std::uint16_t port);

/// The line of an engine's log in which it names the arguments that it resolved (SGLang: `server_args=`, vLLM:
/// `non-default args:`, TensorRT-LLM: `LLM Args`), at most 16 KiB of it, secrets as above. Pure.
[[nodiscard]] std::optional<std::string> resolved_arguments(std::string_view log);

/// The arguments with every secret as "***". Pure.
[[nodiscard]] std::vector<std::string> without_secrets(std::vector<std::string> arguments);

}  // namespace pawl::runner
