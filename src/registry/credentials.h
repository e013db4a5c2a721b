#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"

namespace pawl::registry {

/// What to sign in with at one registry. Never logged, never part of an error.
struct Credential {
  std::string user, secret;
};

/// Accounts by host, as docker and podman keep them (`{"auths": {HOST: {"auth": base64("user:secret")}}}`).
class Credentials {
 public:
  Credentials() = default;
  /// Errors name the file and the host, never a secret. Credential helpers are not run: an entry without "auth" is left out.
  [[nodiscard]] static Result<Credentials> parse(const std::string& json, const std::string& name);
  /// `host` as images are written; docker.io also under its old names.
  [[nodiscard]] std::optional<Credential> find(const std::string& host) const;

 private:
  std::map<std::string, Credential> by_host_;
};

}  // namespace pawl::registry
