#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pawl::registry {

/// How one registry differs from the plain case; a row of data/images/registries.yaml or of the user's file.
struct RegistryRules {
  std::vector<std::string> hosts;
  std::string api;                        ///< scheme, host and port
  std::optional<std::int64_t> page;       ///< tags a request
  std::optional<bool> library;            ///< "ubuntu" is "library/ubuntu"
  std::optional<std::string> user;        ///< fixed user name that goes with an API key
  std::optional<std::string> push_times;  ///< "hub" or "quay"
  std::optional<std::string> push_times_api;
  std::optional<std::vector<std::string>> mirrors;  ///< asked first, in this order; scheme, host and port
};
BOOST_DESCRIBE_STRUCT(RegistryRules, (), (hosts, api, page, library, user, push_times, push_times_api, mirrors))

/// Where a repository is.
struct RepositoryAddress {
  std::string host;        ///< as images are written: "docker.io", "127.0.0.1:5055"
  std::string repository;  ///< path inside the registry: "library/ubuntu"
  RegistryRules rules;
};

/// The known registries: the shipped file, then the user's, whose rows win.
class RegistryBook {
 public:
  /// Errors: YAML, unknown keys, an address without scheme, a kind of push times that is not known.
  [[nodiscard]] static Result<RegistryBook> parse(const std::string& shipped, const std::string& user = {}, const std::string& user_name = {});

  /// Splits an image's name (`[host/]repository`, `#` after the host reads as `/`). A first part without '.' and ':' that is not
  /// "localhost" belongs to the repository, which is then one of docker.io. Loopback hosts are spoken to by http, all others by
  /// https unless the user's file says otherwise. Error: kInvalid for a path that no registry takes.
  [[nodiscard]] Result<RepositoryAddress> find(const std::string& name) const;

 private:
  std::vector<RegistryRules> rows_;
};

}  // namespace pawl::registry
