#include "exec/podman_executor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "codec/describe.h"

namespace pawl::exec {
namespace {

namespace fs = std::filesystem;
using codec::Json;
using model::FailureClass;

constexpr Seconds kGrace{3};
// Exit statuses of podman run that are not the job's own (podman-run(1)).
constexpr int kPodmanFailed = 125, kNotRunnable = 126, kNoProgram = 127;

std::string first_line(std::string_view text) { return std::string(trim(text.substr(0, text.find('\n')))); }

}  // namespace

/// podman.json, `pawl.podman-job/1`.
struct PodmanExecutor::Known {
  std::string schema = "pawl.podman-job/1";
  std::string key, name, image, digest;
  std::int64_t pid = 0, start_ticks = 0;  ///< of podman run; 0: about to be started, or not known
  std::string boot;
  BOOST_DESCRIBE_CLASS(Known, (), (schema, key, name, image, digest, pid, start_ticks, boot), (), ())

  [[nodiscard]] io::ProcessId process() const { return {pid, start_ticks, boot}; }
  [[nodiscard]] JobHandle handle(const fs::path& folder) const {
    return {key, folder.string(), codec::write_json(Json{{"container", name}, {"image", image}, {"digest", digest}}, codec::JsonForm::kCompactUtf8)};
  }
};

Result<std::optional<PodmanExecutor::Known>> PodmanExecutor::read(const std::string& key, const fs::path& folder) const {
  const fs::path file = folder / kPodmanFile;
  if (!files_.exists(file)) return std::optional<Known>();
  PAWL_ASSIGN(const std::string text, files_.read(file, 1u << 20));
  PAWL_ASSIGN(const Json json, codec::parse_json(text, file.string()));
  PAWL_ASSIGN(Known known, codec::from_json<Known>(json, file.string()));
  if (known.key != key) return conflict(fmt::format("the folder {} belongs to job {}, not to {}", folder.string(), known.key, key));
  return std::optional<Known>(std::move(known));
}

Status PodmanExecutor::write(const Known& known, const fs::path& folder) const {
  return files_.write_atomic(folder / kPodmanFile, codec::write_json_pretty(codec::to_json(known)));
}

Status PodmanExecutor::write_end(const fs::path& folder, FailureClass cls, const std::string& why) const {
  return files_.write_atomic(folder / kPodmanEndFile,
                             codec::write_json_pretty(Json{{"schema", "pawl.podman-end/1"}, {"class", codec::enum_text(cls)}, {"why", why}}));
}

Result<bool> PodmanExecutor::container_exists(const std::string& name) {
  PAWL_ASSIGN(const io::CommandOutput output,
              commands_.run({.argv = {"podman", "container", "exists", name}, .env = {}, .folder = {}}, settings_.command_limit, {}));
  if (output.end.ok()) return true;
  if (output.end.code == 1) return false;
  return peer_error(fmt::format("podman container exists: {} ({})", first_line(output.err), output.end.text()));
}

/// What the image is by content; pulled when it is not here. Trouble is that of the image, an error that of podman.
Result<PodmanExecutor::Pulled> PodmanExecutor::digest_of(const std::string& image) {
  const auto inspect = [&] {
    return commands_.run({.argv = {"podman", "image", "inspect", "--format={{.Digest}}", image}, .env = {}, .folder = {}}, settings_.command_limit, {});
  };
  PAWL_ASSIGN(io::CommandOutput found, inspect());
  if (!found.end.ok()) {
    PAWL_ASSIGN(const io::CommandOutput pulled,
                commands_.run({.argv = {"podman", "pull", "--quiet", image}, .env = {}, .folder = {}}, settings_.pull_limit, {}));
    if (!pulled.end.ok()) {
      const std::string words = pulled.err.empty() ? pulled.end.text() : std::string(trim(pulled.err));
      return Pulled{{}, fmt::format("the image {} cannot be had: {}", image, words.substr(words.rfind('\n') + 1))};
    }
    PAWL_ASSIGN(found, inspect());
    if (!found.end.ok()) return Pulled{{}, fmt::format("the image {} was pulled and is not there: {}", image, first_line(found.err))};
  }
  const std::string digest = first_line(found.out);
  // An image that was built here and never pushed has a digest too, by which it cannot be run: then by its name.
  const auto at = image.find('@');
  if (at != std::string::npos && !digest.empty() && image.substr(at + 1) != digest) return Pulled{image.substr(at + 1), std::nullopt};  // of an index
  return Pulled{digest, std::nullopt};
}

Result<std::optional<JobHandle>> PodmanExecutor::find(const std::string& key, const fs::path& folder) {
  PAWL_ASSIGN(const auto known, read(key, folder));
  if (!known) return std::optional<JobHandle>();
  if (known->pid == 0 && !files_.exists(folder / kPodmanEndFile)) {
    // A pawl died between the record and the start, or right after the start.
    PAWL_ASSIGN(const bool there, container_exists(known->name));
    if (!there && !files_.exists(folder / "result.json")) return std::optional<JobHandle>();
  }
  return std::optional<JobHandle>(known->handle(folder));
}

Result<JobHandle> PodmanExecutor::submit(const std::string& key, const fs::path& folder_given) {
  const fs::path folder = fs::absolute(folder_given);
  const std::lock_guard lock(submitting_);
  PAWL_ASSIGN(auto found, find(key, folder));
  if (found) return std::move(*found);
  if (!files_.exists(folder / "spec.json")) return not_found(fmt::format("{} has no spec.json", folder.string()));
  Known known;
  known.key = key;
  known.name = plain_job_name(settings_.owner, key);
  PAWL_ASSIGN(known.image, image_of_job(files_, folder, settings_.container));
  PAWL_ASSIGN(const Pulled pulled, digest_of(known.image));
  known.digest = pulled.digest;
  PAWL_TRY(write(known, folder));
  if (pulled.trouble) {
    PAWL_TRY(write_end(folder, FailureClass::kImage, *pulled.trouble));
    return known.handle(folder);
  }
  io::ProcessSpec spec;
  spec.argv = podman_command(settings_.container, {known.name, key, known.image, known.digest, folder, self_});
  spec.folder = folder;
  spec.output_file = folder / "job.log";
  PAWL_ASSIGN(const io::ProcessId process, processes_.launch(spec));
  known.pid = process.pid;
  known.start_ticks = process.start_ticks;
  known.boot = process.boot;
  if (auto written = write(known, folder); !written) {
    (void)processes_.end_group(process, kGrace);
    return std::move(written).error().within(fmt::format("job {}", key));
  }
  return known.handle(folder);
}

Result<std::optional<JobHandle>> PodmanExecutor::recover(const std::string& key, const fs::path& folder) {
  const std::lock_guard lock(submitting_);
  return find(key, fs::absolute(folder));
}

Status PodmanExecutor::forget(const std::string& key, const fs::path& folder_given) {
  const fs::path folder = fs::absolute(folder_given);
  const std::lock_guard lock(submitting_);
  PAWL_ASSIGN(const auto known, read(key, folder));
  if (!known) return {};
  PAWL_ASSIGN(const bool there, container_exists(known->name));
  if (there || (known->pid != 0 && processes_.alive(known->process()))) return conflict(fmt::format("job {} is still running", key));
  PAWL_TRY(files_.remove_tree(folder / kPodmanEndFile));
  return files_.remove_tree(folder / kPodmanFile);
}

Result<JobState> PodmanExecutor::wait(const JobHandle& handle, Nanos limit, std::stop_token stop) {
  const fs::path folder = handle.folder;
  PAWL_ASSIGN(const auto known, read(handle.key, folder));
  if (!known || files_.exists(folder / kPodmanEndFile)) return JobState::kEnded;
  const MonoTime deadline = clock_.now() + limit;
  const auto left = [&] { return std::max(Nanos{0}, deadline - clock_.now()); };
  if (known->pid != 0) {
    PAWL_ASSIGN(const auto end, processes_.wait(known->process(), left(), stop));
    if (!end) {
      if (stop.stop_requested()) return cancelled();
      return JobState::kRunning;
    }
    if (end->code == kPodmanFailed || end->code == kNotRunnable || end->code == kNoProgram) {
      std::string words;
      if (auto log = files_.read(folder / "job.log")) words = std::string(trim(*log));
      const bool program = end->code != kPodmanFailed;
      PAWL_TRY(write_end(folder, program ? FailureClass::kImage : FailureClass::kInfrastructure,
                         fmt::format("podman ended with {}: {}", end->text(), words.substr(words.rfind('\n') + 1))));
      return JobState::kEnded;
    }
  }
  // podman may have been ended without its container.
  for (;;) {
    PAWL_ASSIGN(const bool there, container_exists(known->name));
    if (!there) return JobState::kEnded;
    if (stop.stop_requested()) return cancelled();
    if (left() == Nanos{0}) return JobState::kRunning;
    (void)clock_.sleep_for(std::min(left(), settings_.poll), stop);
    if (stop.stop_requested()) return cancelled();
  }
}

Status PodmanExecutor::cancel(const JobHandle& handle) {
  PAWL_ASSIGN(const auto known, read(handle.key, handle.folder));
  if (!known) return {};
  // podman run may not have made the container yet: it is ended between two looks.
  for (int look = 0; look < 2; ++look) {
    PAWL_ASSIGN(const io::CommandOutput removed,
                commands_.run({.argv = {"podman", "rm", "--force", "--time=3", known->name}, .env = {}, .folder = {}}, settings_.command_limit, {}));
    if (!removed.end.ok() && removed.err.find("no such container") == std::string::npos && removed.err.find("no container with") == std::string::npos) {
      return peer_error(fmt::format("podman rm {}: {}", known->name, first_line(removed.err)));
    }
    if (look == 0 && known->pid != 0) PAWL_TRY(processes_.end_group(known->process(), kGrace));
  }
  return {};
}

Result<std::optional<model::JobFailure>> PodmanExecutor::failure(const JobHandle& handle) {
  const fs::path file = fs::path(handle.folder) / kPodmanEndFile;
  if (!files_.exists(file)) return std::optional<model::JobFailure>();
  PAWL_ASSIGN(const std::string text, files_.read(file, 1u << 20));
  PAWL_ASSIGN(const Json json, codec::parse_json(text, file.string()));
  const auto cls = codec::enum_value<FailureClass>(json.value("class", ""));
  return std::optional<model::JobFailure>({cls.value_or(FailureClass::kInternal), json.value("why", ""), {}});
}

}  // namespace pawl::exec
