#include "loadgen/target.h"

#include <netdb.h>

#include <cstring>

#include "base/text.h"

namespace pawl::loadgen {

Result<Target> parse_target(std::string_view url) {
  const std::string shown(url);
  if (url.starts_with("https://")) {
    return bad_input(shown + ": this load generator does not speak TLS yet", "use the http:// address of the server itself, or a local proxy that ends TLS");
  }
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return bad_input("\"" + shown + "\" is not the address of a server", "write it as http://host:port");
  url.remove_prefix(kScheme.size());
  const auto slash = url.find('/');
  std::string_view authority = url.substr(0, slash);
  std::string_view prefix = slash == std::string_view::npos ? std::string_view{} : url.substr(slash);
  if (authority.find('@') != std::string_view::npos) return bad_input("the address holds credentials", "give the key in OPENAI_API_KEY instead");
  if (prefix.find_first_of("?# \r\n") != std::string_view::npos) return bad_input(shown + ": a query does not belong into the address of a server");
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (prefix.ends_with("/v1")) prefix.remove_suffix(3);

  Target target;
  std::string_view port;
  if (authority.starts_with('[')) {
    const auto close = authority.find(']');
    if (close == std::string_view::npos) return bad_input(shown + ": no ] after the address");
    target.host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
  } else {
    const auto colon = authority.find(':');
    target.host = authority.substr(0, colon);
    port = colon == std::string_view::npos ? std::string_view{} : authority.substr(colon);
  }
  if (!port.empty() && port.front() != ':') return bad_input(shown + ": bad port");
  if (!port.empty()) port.remove_prefix(1);
  if (port.empty()) port = "80";
  const auto number = parse_int(port);
  if (!number || *number < 1 || *number > 65535) return bad_input(shown + ": bad port");
  if (target.host.empty() || target.host.find_first_of(" \t\r\n") != std::string::npos) return bad_input(shown + ": no host name");
  target.port = std::to_string(*number);
  target.authority = authority;
  target.prefix = prefix;
  target.url = "http://" + target.authority + target.prefix;
  return target;
}

Result<std::vector<Address>> resolve(const Target& target) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int rc = ::getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found); rc != 0) {
    return peer_error("cannot reach " + target.url + ": " + ::gai_strerror(rc), "check the host name");
  }
  std::vector<Address> addresses;
  for (const addrinfo* item = found; item != nullptr; item = item->ai_next) {
    Address address;
    if (item->ai_addrlen > sizeof address.storage) continue;
    std::memcpy(&address.storage, item->ai_addr, item->ai_addrlen);
    address.length = item->ai_addrlen;
    addresses.push_back(address);
  }
  ::freeaddrinfo(found);
  return addresses;
}

}  // namespace pawl::loadgen
