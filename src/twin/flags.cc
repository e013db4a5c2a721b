#include "twin/flags.h"

#include <algorithm>

#include "base/text.h"

namespace pawl::twin {

EngineFlags read_engine_flags(const Profile& profile, std::span<const std::string> arguments) {
  EngineFlags out;
  std::string current;  // the known flag that takes the next words
  bool unknown = false;
  for (const std::string& word : arguments) {
    if (!word.starts_with("--")) {
      if (!current.empty() && !unknown) {
        std::string& value = out.known[current];
        value += (value.empty() ? "" : " ") + word;
      } else {
        out.unrecognized.push_back(word);
      }
      continue;
    }
    const std::size_t equals = word.find('=');
    current = word.substr(0, equals);
    unknown = std::ranges::find(profile.flags, current) == profile.flags.end();
    if (unknown) {
      out.unrecognized.push_back(word);
    } else {
      out.known[current] = equals == std::string::npos ? "" : word.substr(equals + 1);
    }
  }
  return out;
}

std::string unrecognized_message(const EngineFlags& flags, const EngineVoice& voice) {
  if (flags.unrecognized.empty()) return {};
  return voice.refuses(join(flags.unrecognized, " "));
}

}  // namespace pawl::twin
