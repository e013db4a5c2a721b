#include "registry/registry_host.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "codec/describe.h"
#include "codec/pattern.h"
#include "codec/yaml.h"

namespace pawl::registry {
namespace {

struct RegistriesText {
  std::string schema;
  std::vector<RegistryRules> registries;
};
BOOST_DESCRIBE_STRUCT(RegistriesText, (), (schema, registries))

constexpr std::size_t kNameMax = 255;

Result<std::vector<RegistryRules>> rows_of(const std::string& text, const std::string& name) {
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(text, name));
  PAWL_ASSIGN(const codec::Json json, codec::yaml_value(document, document.root));
  PAWL_ASSIGN(auto read, codec::from_json<RegistriesText>(json, name));
  for (RegistryRules& row : read.registries) {
    if (row.hosts.empty()) return bad_input(fmt::format("{}: a registry without hosts", name));
    std::vector<std::string> addresses = row.mirrors.value_or(std::vector<std::string>());
    addresses.push_back(row.api);
    if (row.push_times_api) addresses.push_back(*row.push_times_api);
    for (const std::string& address : addresses) {
      if (address.starts_with("https://") || address.starts_with("http://")) continue;
      return bad_input(fmt::format("{}: the address '{}' of {} has no scheme", name, address, row.hosts.front()), "write it as https://HOST[:PORT]");
    }
    if (row.push_times && *row.push_times != "hub" && *row.push_times != "quay") {
      return bad_input(fmt::format("{}: push_times of {}: there is no kind '{}'", name, row.hosts.front(), *row.push_times), "known: hub, quay");
    }
    if (row.page.value_or(1) < 1) return bad_input(fmt::format("{}: page of {} must be at least 1", name, row.hosts.front()));
  }
  return std::move(read.registries);
}

bool is_loopback(const std::string& host) {
  const std::string name = host.substr(0, host.rfind(':'));
  return name == "localhost" || name.starts_with("127.") || name == "[::1]";
}

}  // namespace

Result<RegistryBook> RegistryBook::parse(const std::string& shipped, const std::string& user, const std::string& user_name) {
  RegistryBook book;
  if (!user.empty()) {
    PAWL_ASSIGN(book.rows_, rows_of(user, user_name));
  }
  PAWL_ASSIGN(const auto known, rows_of(shipped, "images/registries.yaml"));
  book.rows_.insert(book.rows_.end(), known.begin(), known.end());
  return book;
}

Result<RepositoryAddress> RegistryBook::find(const std::string& name) const {
  static const codec::Pattern kRepository = codec::Pattern::compile("[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*").value();
  std::string text = name;
  std::ranges::replace(text, '#', '/');
  RepositoryAddress address{"docker.io", text, {}};
  if (const auto slash = text.find('/'); slash != std::string::npos) {
    const std::string first = text.substr(0, slash);
    if (first.find_first_of(".:") != std::string::npos || first == "localhost") address = {first, text.substr(slash + 1), {}};
  }
  const auto row = std::ranges::find_if(rows_, [&](const RegistryRules& r) { return std::ranges::find(r.hosts, address.host) != r.hosts.end(); });
  static const codec::Pattern kHost = codec::Pattern::compile(R"((?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::\d{1,5})?)").value();
  if (!kHost.match(address.host)) return bad_input(fmt::format("'{}' names no registry: '{}' is no host", name, address.host));
  if (row != rows_.end()) {
    address.rules = *row;
    address.host = row->hosts.front();
  } else {
    address.rules.hosts = {address.host};
    address.rules.api = (is_loopback(address.host) ? "http://" : "https://") + address.host;
  }
  if (address.rules.library.value_or(false) && address.repository.find('/') == std::string::npos) address.repository = "library/" + address.repository;
  if (address.repository.size() > kNameMax || !kRepository.match(address.repository)) {
    return bad_input(fmt::format("'{}' is not a repository that a registry can hold", name), "small letters and digits, joined by '.', '_', '-' and '/'");
  }
  return address;
}

}  // namespace pawl::registry
