#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace pawl::exec::testing {

/// A podman with a storage of its own and one small image, made once for a test program and removed at its end. `up()`
/// is false where podman, runc, conmon and a static busybox are not installed, or the user is not root.
class PodmanBox {
 public:
  static PodmanBox& instance() {
    static PodmanBox box;
    return box;
  }
  [[nodiscard]] bool up() const { return up_; }
  [[nodiscard]] static std::string image() { return "localhost/pawl-test:1"; }

  PodmanBox(const PodmanBox&) = delete;
  PodmanBox& operator=(const PodmanBox&) = delete;

 private:
  PodmanBox() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-podman-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    if (run(script() + " up " + folder_) != 0) return;
    std::ifstream in(folder_ + "/env");
    for (std::string line; std::getline(in, line);) {
      const auto equals = line.find('=');
      if (equals != std::string::npos) ::setenv(line.substr(0, equals).c_str(), line.substr(equals + 1).c_str(), 1);
    }
    up_ = run("podman import --quiet " + folder_ + "/busybox.tar " + image()) == 0;
  }
  ~PodmanBox() {
    (void)run(script() + " down " + folder_);
    std::filesystem::remove_all(folder_);
  }
  static std::string script() { return std::string(PAWL_SOURCE_DIR) + "/tests/podman/podman.sh"; }
  static int run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()); }

  std::string folder_;
  bool up_ = false;
};

}  // namespace pawl::exec::testing
