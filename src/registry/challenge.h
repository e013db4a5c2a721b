#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::registry {

/// What a `WWW-Authenticate` field asks for.
struct Challenge {
  std::string scheme;                             ///< small letters: "bearer", "basic"
  std::map<std::string, std::string> parameters;  ///< names in small letters: realm, service, scope
};

/// Nothing when the field is malformed. (RFC 9110 11.6.1; the first challenge counts.)
[[nodiscard]] std::optional<Challenge> parse_challenge(std::string_view field);

/// The target of the `rel="next"` link of a `Link` field (RFC 8288), as it stands there.
[[nodiscard]] std::optional<std::string> next_link(std::string_view field);

}  // namespace pawl::registry
