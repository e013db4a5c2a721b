#include "http/ca_file.h"

#include <array>

namespace pawl::http {

std::optional<std::string> find_ca_file(const char* ssl_cert_file, const std::function<bool(const char* path)>& exists) {
  if (ssl_cert_file != nullptr && *ssl_cert_file != '\0') return ssl_cert_file;
  constexpr std::array kPlaces{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
  for (const char* place : kPlaces) {
    if (exists(place)) return place;
  }
  return std::nullopt;
}

}  // namespace pawl::http
