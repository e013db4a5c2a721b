#include "registry/credentials.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "codec/json.h"

namespace pawl::registry {
namespace {

/// "https://index.docker.io/v1/" → "docker.io"
std::string host_of(std::string key) {
  if (const auto scheme = key.find("://"); scheme != std::string::npos) key = key.substr(scheme + 3);
  key = key.substr(0, key.find('/'));
  return key == "index.docker.io" || key == "registry-1.docker.io" ? "docker.io" : key;
}

}  // namespace

Result<Credentials> Credentials::parse(const std::string& text, const std::string& name) {
  PAWL_ASSIGN(const codec::Json json, codec::parse_json(text, name, 1u << 20));
  Credentials all;
  if (!json.is_object() || !json.contains("auths")) return all;
  if (!json["auths"].is_object()) return bad_input(fmt::format("{}: auths must be an object of hosts", name));
  for (const auto& [key, entry] : json["auths"].items()) {
    if (!entry.is_object() || !entry.contains("auth") || !entry["auth"].is_string()) continue;
    const auto plain = base64_decode(entry["auth"].get<std::string>());
    const auto colon = plain ? plain->find(':') : std::string::npos;
    if (colon == std::string::npos) return bad_input(fmt::format("{}: the entry of {} is not base64 of user:secret", name, key));
    all.by_host_[host_of(key)] = {plain->substr(0, colon), plain->substr(colon + 1)};
  }
  return all;
}

std::optional<Credential> Credentials::find(const std::string& host) const {
  const auto found = by_host_.find(host);
  return found == by_host_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace pawl::registry
