#pragma once

#include <functional>
#include <optional>
#include <string>

namespace pawl::http {

/// The file of certificate authorities to trust: what SSL_CERT_FILE names (`ssl_cert_file`, null or empty when unset; taken
/// even if it is not there, so that the error names it), or the first of the places of Debian, RHEL, SUSE and Alpine for
/// which `exists` says yes. Nothing: leave it to the library. Pure but for `exists`.
[[nodiscard]] std::optional<std::string> find_ca_file(const char* ssl_cert_file, const std::function<bool(const char* path)>& exists);

}  // namespace pawl::http
