#include "http/port_owner.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"

namespace pawl::http {
namespace {

/// Inodes of listening sockets on `port`, from a table in the form of /proc/net/tcp.
void add_listeners(const char* table, std::uint16_t port, std::set<std::string>& inodes) {
  std::ifstream in(table);
  std::string line;
  std::getline(in, line);  // column names
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
    words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
    const std::size_t colon = local.rfind(':');
    if (state != "0A" || colon == std::string::npos || inode.empty()) continue;
    if (std::strtoul(local.c_str() + colon + 1, nullptr, 16) == port) inodes.insert(inode);
  }
}

}  // namespace

std::optional<PortOwner> find_port_owner(std::uint16_t port) {
  namespace fs = std::filesystem;
  std::set<std::string> inodes;
  add_listeners("/proc/net/tcp", port, inodes);
  add_listeners("/proc/net/tcp6", port, inodes);
  if (inodes.empty()) return std::nullopt;
  std::error_code ec;
  for (fs::directory_iterator process("/proc", ec), end; !ec && process != end; process.increment(ec)) {
    const auto pid = parse_int(process->path().filename().string());
    if (!pid) continue;
    std::error_code denied;
    for (fs::directory_iterator fd(process->path() / "fd", denied), last; !denied && fd != last; fd.increment(denied)) {
      std::error_code gone;
      const std::string link = fs::read_symlink(fd->path(), gone).string();
      if (gone || !link.starts_with("socket:[")) continue;
      if (!inodes.contains(link.substr(8, link.size() - 9))) continue;
      std::ifstream comm(process->path() / "comm");
      std::string name;
      std::getline(comm, name);
      return PortOwner{*pid, name};
    }
  }
  return std::nullopt;
}

}  // namespace pawl::http
