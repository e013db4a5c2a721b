#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pawl::http {

struct PortOwner {
  std::int64_t pid = 0;
  std::string name;  ///< as the kernel calls the process
};

/// The process that listens on this TCP port, if /proc shows one that this user may look at. Best effort: for messages.
[[nodiscard]] std::optional<PortOwner> find_port_owner(std::uint16_t port);

}  // namespace pawl::http
