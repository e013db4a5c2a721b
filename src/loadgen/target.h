#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::loadgen {

/// Where requests go.
struct Target {
  std::string url;   ///< as results show it: scheme, host, port and prefix
  bool tls = false;  ///< https
  std::string path;  ///< of a Unix socket; empty: TCP
  std::string host;  ///< name or address, without brackets
  std::string port;
  std::string authority;  ///< for the Host field
  std::string prefix;     ///< "" or "/…" without a slash at its end and without "/v1"
};

/// Reads http://host[:port][/prefix], the same with https, or unix:PATH (HTTP over a Unix socket). Errors: kInvalid for
/// another scheme, for credentials in it, for a bad port, for a path that is too long for a socket.
[[nodiscard]] Result<Target> parse_target(std::string_view url);

/// A TCP or Unix address.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

/// The addresses of a target in the order of preference of the system. Blocks. Error: kTransient, exit 5.
[[nodiscard]] Result<std::vector<Address>> resolve(const Target& target);

}  // namespace pawl::loadgen
