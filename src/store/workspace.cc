#include "store/workspace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "codec/yaml.h"

namespace pawl::store {
namespace {

constexpr std::string_view kSchemaPrefix = "pawl.workspace/";
constexpr std::int64_t kSchemaNewest = 1;

Status check_marker(std::string bytes, const std::filesystem::path& file) {
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(std::move(bytes), file.string()));
  const codec::YamlNode* schema = document.root.kind == codec::YamlNode::Kind::kMapping ? document.root.find("schema") : nullptr;
  const char* remedy = "give the folder of a workspace with --workspace, or make a fresh one in an empty folder: pawl init";
  if (schema == nullptr || !schema->is_text() || !schema->text.starts_with(kSchemaPrefix)) {
    return bad_input(fmt::format("{}: not the marker of a pawl workspace (no schema: {}{})", file.string(), kSchemaPrefix, kSchemaNewest), remedy)
        .at(document.place(schema != nullptr ? *schema : document.root));
  }
  const auto number = parse_int(std::string_view(schema->text).substr(kSchemaPrefix.size()));
  if (!number || *number < 1) return bad_input(fmt::format("schema {}: not a workspace of pawl", schema->text), remedy).at(document.place(*schema));
  if (*number > kSchemaNewest) {
    return bad_input(fmt::format("the workspace {} was made by a newer pawl ({}; this one knows up to {}{})", file.parent_path().string(), schema->text,
                                 kSchemaPrefix, kSchemaNewest),
                     "use that newer pawl, or another workspace")
        .at(document.place(*schema));
  }
  return {};
}

std::string holder_of(int descriptor) {
  char text[32] = {};
  const ssize_t n = ::pread(descriptor, text, sizeof text - 1, 0);
  const auto pid = parse_int(trim(std::string_view(text, n > 0 ? static_cast<std::size_t>(n) : 0)));
  return pid ? fmt::format("pawl PID {}", *pid) : "another pawl";
}

}  // namespace

WorkspaceLock::WorkspaceLock(WorkspaceLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
WorkspaceLock& WorkspaceLock::operator=(WorkspaceLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
WorkspaceLock::~WorkspaceLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<Workspace> Workspace::open(const io::Files& files, const std::filesystem::path& folder) {
  Workspace workspace(folder);
  if (!files.exists(workspace.marker())) {
    return not_found(fmt::format("{} is no pawl workspace: it has no pawl.yaml", folder.string()), "run pawl demo, or pawl init");
  }
  PAWL_ASSIGN(std::string bytes, files.read(workspace.marker(), 1u << 20));
  PAWL_TRY(check_marker(std::move(bytes), workspace.marker()));
  return workspace;
}

Result<Workspace> Workspace::create_or_open(const io::Files& files, const std::filesystem::path& folder, std::string_view created) {
  Workspace workspace(folder);
  if (files.exists(workspace.marker())) return open(files, folder);
  PAWL_TRY(files.make_folder(folder));
  std::string text = fmt::format("# Marks this folder as a workspace of pawl. Leave it to pawl.\nschema: {}{}\n", kSchemaPrefix, kSchemaNewest);
  // Quoted, because a bare time stamp is no text in YAML 1.1.
  if (!created.empty()) text += fmt::format("created: {}\n", codec::yaml_scalar(created));
  PAWL_TRY(files.write_atomic(workspace.marker(), text));
  return workspace;
}

std::filesystem::path Workspace::run_folder(std::int64_t run, std::int64_t attempt) const {
  return folder_ / "runs" / std::to_string(run) / std::to_string(attempt);
}

std::filesystem::path Workspace::job_folder(std::int64_t run, std::int64_t attempt, std::string_view job) const { return run_folder(run, attempt) / job; }

Result<WorkspaceLock> Workspace::lock() const {
  WorkspaceLock held(::open(lock_file().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  const auto trouble = [&](int code) {
    return machine_error(fmt::format("cannot lock {}: {}", lock_file().string(), std::strerror(code)),
                         "the workspace must be writable for the user that runs pawl; choose another with --workspace");
  };
  if (held.descriptor_ < 0) return trouble(errno);
  while (::flock(held.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return trouble(errno);
    return conflict(fmt::format("workspace {} is in use by {}", folder_.string(), holder_of(held.descriptor_)),
                    "wait until it is done, stop it, or use another workspace");
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(held.descriptor_, 0) != 0 || ::pwrite(held.descriptor_, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) return trouble(errno);
  return held;
}

}  // namespace pawl::store
