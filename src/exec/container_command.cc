#include "exec/container_command.h"

#include <fmt/format.h>

#include "base/text.h"
#include "codec/json.h"

namespace pawl::exec {
namespace {

/// With its digest where that is known: a tag can move between two jobs of one sweep.
std::string pinned(const ContainerJob& job) {
  if (job.digest.empty() || job.image.find('@') != std::string::npos) return job.image;
  const auto slash = job.image.rfind('/');
  const auto colon = job.image.find(':', slash == std::string::npos ? 0 : slash);
  return job.image.substr(0, colon) + "@" + job.digest;
}

std::string program_of(const ContainerSettings& settings, const ContainerJob& job) { return settings.program.empty() ? job.self : settings.program; }

}  // namespace

Result<std::string> image_of_job(const io::Files& files, const std::filesystem::path& folder, const ContainerSettings& settings) {
  PAWL_ASSIGN(const std::string text, files.read(folder / "spec.json"));
  PAWL_ASSIGN(const codec::Json spec, codec::parse_json(text, (folder / "spec.json").string()));
  if (spec.is_object() && spec.contains("row") && spec["row"].is_object()) {
    const std::string image = spec["row"].value("image", std::string());
    if (!image.empty()) return image;
  }
  if (settings.image.empty()) return bad_input("the job names no image, and neither does executor.yaml");
  return settings.image;
}

std::vector<std::string> podman_command(const ContainerSettings& settings, const ContainerJob& job) {
  const std::string folder = job.folder.string();
  std::vector<std::string> argv{"podman",
                                "run",
                                "--rm",
                                "--name=" + job.name,
                                "--label=pawl.key=" + job.key,
                                "--network=" + settings.network,
                                "--pull=never",
                                "--workdir=" + folder,
                                "--volume=" + folder + ":" + folder,
                                "--volume=" + folder + ":/workspace",  // where launch scripts of the field write
                                "--entrypoint="};
  if (settings.program.empty()) argv.push_back("--volume=" + job.self + ":" + job.self + ":ro");
  // Without a value: that of whoever runs podman.
  argv.push_back(job.digest.empty() ? "--env=PAWL_IMAGE_DIGEST" : "--env=PAWL_IMAGE_DIGEST=" + job.digest);
  argv.emplace_back("--env=SLURMD_NODENAME");
  if (!settings.user.empty()) argv.push_back("--user=" + settings.user);
  for (const std::string& device : settings.devices) argv.push_back("--device=" + device);
  for (const std::string& mount : settings.mounts) argv.push_back("--volume=" + mount);
  argv.insert(argv.end(), settings.options.begin(), settings.options.end());
  argv.insert(argv.end(), {pinned(job), program_of(settings, job), "job", "spec.json"});
  return argv;
}

std::vector<std::string> pyxis_command(const ContainerSettings& settings, const ContainerJob& job) {
  const std::string folder = job.folder.string();
  std::string mounts = folder + ":" + folder + "," + folder + ":/workspace";
  if (settings.program.empty()) mounts += "," + job.self + ":" + job.self + ":ro";
  for (const std::string& mount : settings.mounts) mounts += "," + mount;
  std::vector<std::string> argv{
      "srun", "--container-image=" + job.image, "--container-mounts=" + mounts, "--container-workdir=" + folder, "--no-container-entrypoint", "--export=ALL"};
  argv.insert(argv.end(), settings.options.begin(), settings.options.end());
  argv.insert(argv.end(), {program_of(settings, job), "job", "spec.json"});
  return argv;
}

std::string in_shell_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string plain_job_name(const std::string& owner, const std::string& key) {
  std::string name = owner + "-" + key;
  for (char& c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '.' && c != '_' && c != '-') c = '_';
  }
  return name;
}

}  // namespace pawl::exec
