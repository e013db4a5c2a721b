#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/files.h"

/// How a job runs inside the image of its engine, whoever starts it: podman on this machine, podman or pyxis in the
/// batch script of a cluster.
namespace pawl::exec {

/// The folder of the job has one path inside and outside. pawl itself is mounted read-only at its own path, unless the
/// image holds it (`program`).
struct ContainerSettings {
  std::string image;                 ///< of jobs whose matrix row names none; empty: such a job is refused
  std::string program;               ///< pawl inside the image; empty: that of this machine, mounted
  std::string network = "host";      ///< of podman
  std::string user;                  ///< of podman; empty: that of the image, which without a root daemon is whoever runs pawl
  std::vector<std::string> devices;  ///< "nvidia.com/gpu=all", "/dev/kfd"
  std::vector<std::string> mounts;   ///< SOURCE:DESTINATION[:ro]
  std::vector<std::string> options;  ///< further options of podman run or srun, as they are
};

/// One job in a container.
struct ContainerJob {
  std::string name;    ///< of the container, unique for good
  std::string key;     ///< of the job
  std::string image;   ///< as the recipe names it
  std::string digest;  ///< that it has been resolved to; empty: not yet known
  std::filesystem::path folder;
  std::string self;  ///< pawl on this machine
};

/// The image that spec.json in the folder names, else that of the settings. Errors: neither names one.
[[nodiscard]] Result<std::string> image_of_job(const io::Files& files, const std::filesystem::path& folder, const ContainerSettings& settings);

/// `podman run --rm … IMAGE pawl job spec.json`. Nothing of it stays when it has ended.
[[nodiscard]] std::vector<std::string> podman_command(const ContainerSettings& settings, const ContainerJob& job);

/// `srun --container-image=… pawl job spec.json`, for clusters with pyxis.
[[nodiscard]] std::vector<std::string> pyxis_command(const ContainerSettings& settings, const ContainerJob& job);

/// In single quotes for sh.
[[nodiscard]] std::string in_shell_quotes(std::string_view text);

/// OWNER-KEY with letters, digits, '.', '_' and '-' only: what jobs are called where names must be plain.
[[nodiscard]] std::string plain_job_name(const std::string& owner, const std::string& key);

}  // namespace pawl::exec
