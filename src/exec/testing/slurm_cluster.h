#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace pawl::exec::testing {

/// A real Slurm cluster of two nodes, started once for a test program and taken down at its end. `up()` is false where
/// Slurm is not installed or the user is not root.
class SlurmCluster {
 public:
  static SlurmCluster& instance() {
    static SlurmCluster cluster;
    return cluster;
  }
  [[nodiscard]] bool up() const { return up_; }
  bool control(const std::string& verb) const { return run(verb) == 0; }

  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;

 private:
  SlurmCluster() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-slurm-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    up_ = run("up") == 0;
    if (up_) ::setenv("SLURM_CONF", (folder_ + "/slurm.conf").c_str(), 1);
  }
  ~SlurmCluster() {
    (void)run("down");
    std::filesystem::remove_all(folder_);
  }
  int run(const std::string& verb) const {
    return std::system((std::string(PAWL_SOURCE_DIR) + "/tests/slurm/cluster.sh " + verb + " " + folder_ + " 2 >/dev/null 2>&1").c_str());
  }

  std::string folder_;
  bool up_ = false;
};

}  // namespace pawl::exec::testing
