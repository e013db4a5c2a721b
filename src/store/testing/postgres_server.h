#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "store/database.h"

namespace pawl::store::testing {

/// A real PostgreSQL server, started once for a test program on first use and ended with it. `up()` is false where
/// PostgreSQL is not installed: tests then skip and say so.
class PostgresServer {
 public:
  static PostgresServer& instance() {
    static PostgresServer server;
    return server;
  }
  static constexpr const char* kMissing = "no PostgreSQL server here (Debian: postgresql-15)";
  [[nodiscard]] bool up() const { return !url_.empty(); }
  /// The URL of a new, empty database.
  [[nodiscard]] std::string fresh_database() {
    const std::string name = "t" + std::to_string(++made_);
    auto admin = Database::open_server(url_, {});
    if (!admin) return "postgresql://unreachable: " + admin.error().message;
    const Status made = admin->execute("CREATE DATABASE " + name);
    if (!made) return "postgresql://unreachable: " + made.error().message;
    return "postgresql://pawl@/" + name + "?host=" + folder_;
  }

  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

 private:
  PostgresServer() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-pg-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    if (std::FILE* out = ::popen(command("up").c_str(), "r"); out != nullptr) {
      char line[512] = {};
      if (std::fgets(line, sizeof line, out) != nullptr) url_ = std::string(line).substr(0, std::string(line).find('\n'));
      if (::pclose(out) != 0) url_.clear();
    }
  }
  ~PostgresServer() {
    if (std::system(command("down").c_str()) != 0) std::fputs("the PostgreSQL server of the tests was not ended\n", stderr);
    std::filesystem::remove_all(folder_);
  }
  std::string command(const std::string& verb) const {
    return std::string(PAWL_SOURCE_DIR) + "/tests/postgres/server.sh " + verb + " " + folder_ + " 2>/dev/null";
  }

  std::string folder_, url_;
  int made_ = 0;
};

}  // namespace pawl::store::testing
