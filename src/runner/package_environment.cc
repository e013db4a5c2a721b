#include "runner/package_environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "codec/describe.h"
#include "codec/json.h"

namespace pawl::runner {
namespace {

namespace fs = std::filesystem;
using codec::Json;
using model::FailureClass;
using model::JobFailure;

constexpr Seconds kInstallLimit{3600};
constexpr Seconds kQuickLimit{120};
constexpr std::size_t kEvidenceLines = 20;
constexpr const char* kReadyFile = "pawl-environment.json";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::unexpected<JobFailure> fail(FailureClass cls, std::string message, std::vector<std::string> evidence = {}) {
  return std::unexpected(JobFailure{cls, std::move(message), std::move(evidence)});
}

/// Held while an environment is made; the kernel gives it back however its holder ends.
class Lock {
 public:
  static JobOutcome<Lock> take(const fs::path& file, const std::stop_token& stop) {
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return fail(FailureClass::kInfrastructure, fmt::format("cannot open {}: {}", file.string(), std::strerror(errno)));
    while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if (stop.stop_requested()) {
        ::close(fd);
        return fail(FailureClass::kCancelled, "stopped while another job made the environment");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return Lock(fd);
  }
  Lock(Lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  Lock& operator=(Lock&&) = delete;
  ~Lock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  explicit Lock(int fd) : fd_(fd) {}
  int fd_;
};

struct Installer {
  io::Commands& commands;
  const std::stop_token& stop;
  std::string requirement;

  /// Its output; a failure that names the step.
  JobOutcome<std::string> run(const std::string& what, std::vector<std::string> argv, Nanos limit) const {
    const auto output = commands.run({.argv = std::move(argv), .env = {{"UV_PYTHON_DOWNLOADS", "never"}, {"NO_COLOR", "1"}}, .folder = {}}, limit, stop);
    if (!output) {
      const bool stopped = output.error().cls == ErrorClass::kCancelled;
      return fail(stopped ? FailureClass::kCancelled : FailureClass::kInfrastructure, fmt::format("{}: {}", what, output.error().message));
    }
    if (!output->end.ok()) {
      return fail(FailureClass::kImage, fmt::format("{} cannot be installed: {} ended with {}", requirement, what, output->end.text()),
                  readable_tail(output->out + "\n" + output->err, kEvidenceLines));
    }
    return output->out;
  }
};

JobOutcome<fs::path> site_packages(const fs::path& environment) {
  std::error_code error;
  for (fs::directory_iterator entry(environment / "lib", error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with("python") && fs::exists(entry->path() / "site-packages")) return entry->path() / "site-packages";
  }
  return fail(FailureClass::kImage, fmt::format("{} has no lib/python*/site-packages", environment.string()));
}

}  // namespace

fs::path environment_cache() {
  if (const std::string own = variable("PAWL_CACHE_DIR"); !own.empty()) return fs::path(own) / "environments";
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "pawl" / "environments";
  const std::string home = variable("HOME");
  return fs::path(home.empty() ? "/tmp" : home) / ".cache" / "pawl" / "environments";
}

JobOutcome<PackageEnvironment> prepare_package(const model::PackageSpec& package, const fs::path& cache, io::Files& files, io::Commands& commands,
                                               io::Progress& progress, std::stop_token stop) {
  const std::string python = variable("PAWL_PYTHON");
  for (const auto& [path, content] : package.needs.files) {
    const fs::path normal = fs::path(path).lexically_normal();
    if (path.empty() || normal.is_absolute() || *normal.begin() == "..")
      return fail(FailureClass::kConfig, fmt::format("files: {} leaves the environment", path));
  }
  const std::string identity = codec::write_json(Json{{"package", codec::to_json(package)}, {"python", python}}, codec::JsonForm::kCompactUtf8);
  PackageEnvironment environment{cache / sha256_hex(identity).substr(0, 16), {}};
  const auto trouble = [](const Error& error) { return fail(FailureClass::kInfrastructure, error.message); };
  if (auto made = files.make_folder(cache); !made) return trouble(made.error());
  auto lock = Lock::take(environment.folder.string() + ".lock", stop);
  if (!lock) return std::unexpected(lock.error());
  const fs::path ready = environment.folder / kReadyFile;
  if (files.exists(ready)) {
    const auto text = files.read(ready);
    const auto json = text ? codec::parse_json(*text, ready.string()) : Result<Json>(text.error());
    if (json && json->is_object()) {
      environment.digest = json->value("digest", std::string());
      return environment;
    }
  }
  progress.report({"install", fmt::format("{} into {}", package.requirement, environment.folder.string())});
  if (auto removed = files.remove_tree(environment.folder); !removed) return trouble(removed.error());

  const Installer installer{commands, stop, package.requirement};
  const auto uv = commands.run({.argv = {"uv", "--version"}, .env = {}, .folder = {}}, kQuickLimit, stop);
  const bool has_uv = uv && uv->end.ok();
  if (!has_uv && !package.needs.overrides.empty()) {
    return fail(FailureClass::kConfig, "overrides need uv: pip cannot replace what a package asks for; install uv");
  }
  const std::string folder = environment.folder.string(), own_python = folder + "/bin/python";
  std::string installed;
  if (has_uv) {
    std::vector<std::string> create{"uv", "venv", "--quiet"};
    if (!python.empty()) create.insert(create.end(), {"--python", python});
    create.push_back(folder);
    if (auto done = installer.run("uv venv", std::move(create), kQuickLimit); !done) return std::unexpected(done.error());
    std::vector<std::string> install{"uv", "pip", "install", "--quiet", "--python", own_python};
    if (!package.needs.overrides.empty()) {
      std::string lines;
      for (const std::string& one : package.needs.overrides) lines += one + "\n";
      const fs::path file = environment.folder / "overrides.txt";
      if (auto written = files.write_atomic(file, lines); !written) return trouble(written.error());
      install.insert(install.end(), {"--override", file.string()});
    }
    install.push_back(package.requirement);
    if (auto done = installer.run("uv pip install", std::move(install), kInstallLimit); !done) return std::unexpected(done.error());
    auto listed = installer.run("uv pip freeze", {"uv", "pip", "freeze", "--python", own_python}, kQuickLimit);
    if (!listed) return std::unexpected(listed.error());
    installed = std::move(*listed);
  } else {
    if (auto done = installer.run("python3 -m venv", {python.empty() ? "python3" : python, "-m", "venv", folder}, kQuickLimit); !done) {
      return std::unexpected(done.error());
    }
    if (auto done = installer.run("pip install", {own_python, "-m", "pip", "install", "--quiet", package.requirement}, kInstallLimit); !done) {
      return std::unexpected(done.error());
    }
    auto listed = installer.run("pip freeze", {own_python, "-m", "pip", "freeze"}, kQuickLimit);
    if (!listed) return std::unexpected(listed.error());
    installed = std::move(*listed);
  }
  const auto site = site_packages(environment.folder);
  if (!site) return std::unexpected(site.error());
  for (const auto& [path, content] : package.needs.files) {
    if (auto written = files.write_atomic(*site / path, content); !written) return trouble(written.error());
  }
  environment.digest = "sha256:" + sha256_hex(installed + "\n" + codec::write_json(codec::to_json(package), codec::JsonForm::kCompactUtf8));
  Json packages = Json::array();
  for (const std::string_view line : split(installed, '\n')) {
    if (!line.empty()) packages.push_back(std::string(line));
  }
  const Json document{{"schema", "pawl.environment/1"}, {"requirement", package.requirement}, {"digest", environment.digest}, {"packages", packages}};
  // Written last: without it the environment is half-made.
  if (auto written = files.write_atomic(ready, codec::write_json_pretty(document)); !written) return trouble(written.error());
  return environment;
}

}  // namespace pawl::runner
