#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "twin/engine_voice.h"
#include "twin/profile.h"

namespace pawl::twin {

/// Engine flags of a launch command, sorted into those that the profile's engine has and those that it does not have.
struct EngineFlags {
  std::map<std::string, std::string> known;  ///< "--kv-cache-dtype" → "fp8_e4m3"; several values joined by a blank; "" for a switch
  std::vector<std::string> unrecognized;     ///< as argparse lists them: unknown flags with their values, stray words
};

/// Reads `--flag value`, `--flag=value` and switches. Values are not checked: nothing of the simulation depends on them.
[[nodiscard]] EngineFlags read_engine_flags(const Profile& profile, std::span<const std::string> arguments);

/// What SGLang's launcher prints for them; empty when there are none.
[[nodiscard]] std::string unrecognized_message(const EngineFlags& flags, const EngineVoice& voice);

}  // namespace pawl::twin
