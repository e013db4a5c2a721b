#include "loadgen/target.h"

#include <netdb.h>
#include <sys/un.h>

#include <cstring>

#include "base/text.h"

namespace pawl::loadgen {

namespace {

Result<Target> parse_unix(std::string_view path) {
  Target target;
  if (path.starts_with("//")) path.remove_prefix(2);  // unix:///run/x
  if (path.empty() || path.find('\0') != std::string_view::npos) return bad_input("unix: names no socket", "write it as unix:/path/of/socket");
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return bad_input("unix:" + std::string(path) + ": longer than the " + std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes of a socket's path",
                     "use a shorter path, or a symbolic link");
  }
  target.path = path;
  target.url = "unix:" + target.path;
  target.host = target.authority = "localhost";
  return target;
}

}  // namespace

Result<Target> parse_target(std::string_view url) {
  const std::string shown(url);
  constexpr std::string_view kHttp = "http://", kHttps = "https://", kUnix = "unix:";
  if (url.starts_with(kUnix)) return parse_unix(url.substr(kUnix.size()));
  Target target;
  target.tls = url.starts_with(kHttps);
  if (!target.tls && !url.starts_with(kHttp)) {
    return bad_input("\"" + shown + "\" is not the address of a server", "write it as http://host:port, https://host:port or unix:/path/of/socket");
  }
  url.remove_prefix(target.tls ? kHttps.size() : kHttp.size());
  const auto slash = url.find('/');
  std::string_view authority = url.substr(0, slash);
  std::string_view prefix = slash == std::string_view::npos ? std::string_view{} : url.substr(slash);
  if (authority.find('@') != std::string_view::npos) return bad_input("the address holds credentials", "give the key in OPENAI_API_KEY instead");
  if (prefix.find_first_of("?# \r\n") != std::string_view::npos) return bad_input(shown + ": a query does not belong into the address of a server");
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (prefix.ends_with("/v1")) prefix.remove_suffix(3);

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
  if (port.empty()) port = target.tls ? "443" : "80";
  const auto number = parse_int(port);
  if (!number || *number < 1 || *number > 65535) return bad_input(shown + ": bad port");
  if (target.host.empty() || target.host.find_first_of(" \t\r\n") != std::string::npos) return bad_input(shown + ": no host name");
  target.port = std::to_string(*number);
  target.authority = authority;
  target.prefix = prefix;
  target.url = (target.tls ? "https://" : "http://") + target.authority + target.prefix;
  return target;
}

Result<std::vector<Address>> resolve(const Target& target) {
  if (!target.path.empty()) {
    Address address;
    auto* where = reinterpret_cast<sockaddr_un*>(&address.storage);
    where->sun_family = AF_UNIX;
    std::memcpy(where->sun_path, target.path.c_str(), target.path.size() + 1);
    address.length = sizeof(sockaddr_un);
    return std::vector{address};
  }
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
