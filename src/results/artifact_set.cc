#include "results/artifact_set.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/text.h"

namespace pawl::results {
namespace {

struct ArchiveFree {
  void operator()(archive* a) const { archive_read_free(a); }
};

bool ends_with(const std::string& path, std::string_view end) { return path.size() > end.size() && std::string_view(path).ends_with(end); }
bool is_wanted(const std::string& path) {
  return std::ranges::any_of(std::initializer_list<const char*>{".json", ".jsonl", ".log", ".out"}, [&](const char* end) { return ends_with(path, end); });
}

bool leaves_the_set(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.find('\\') != std::string_view::npos || path.find('\0') != std::string_view::npos) return true;
  const auto parts = split(path, '/');
  return std::ranges::find(parts, std::string_view("..")) != parts.end();
}

/// Reads into one set and counts what it costs.
class Intake {
 public:
  explicit Intake(const ArtifactLimits& limits) : limits_(limits) {}

  Status entry(const std::string& where) {
    if (++entries_ <= limits_.entries) return {};
    return bad_input(fmt::format("{}: more than {} files", where, limits_.entries), "give the artifacts of one run");
  }
  Status keep(const std::string& path, std::string bytes) {
    PAWL_TRY(cost(path, bytes.size()));
    set.files[path] = std::move(bytes);
    return {};
  }
  bool too_large(const std::string& path, std::uint64_t size) {
    if (size <= limits_.one) return false;
    note(fmt::format("{}: {} bytes, more than the {} that are read of one file", path, size, limits_.one));
    return true;
  }
  void note(std::string text) {
    constexpr std::size_t kNotesMax = 50;
    if (set.notes.size() < kNotesMax) set.notes.push_back(std::move(text));
  }

  /// Members of an archive; `prefix` is the artifact's name and a slash, or empty for an archive of artifacts.
  Status archive_members(std::string_view bytes, const std::string& name, const std::string& prefix) {
    const std::unique_ptr<archive, ArchiveFree> reader(archive_read_new());
    archive_read_support_format_zip(reader.get());
    archive_read_support_format_tar(reader.get());
    archive_read_support_filter_gzip(reader.get());
    archive_read_support_filter_xz(reader.get());
    archive_read_support_filter_bzip2(reader.get());
    archive_read_support_filter_zstd(reader.get());
    const auto trouble = [&] {
      const char* text = archive_error_string(reader.get());
      return bad_input(fmt::format("{}: {}", name, text != nullptr ? text : "no archive"), "a zip or (compressed) tar file of artifacts is wanted");
    };
    if (archive_read_open_memory(reader.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) return trouble();
    for (;;) {
      archive_entry* entry = nullptr;
      const int got = archive_read_next_header(reader.get(), &entry);
      if (got == ARCHIVE_EOF) return {};
      if (got != ARCHIVE_OK && got != ARCHIVE_WARN) return trouble();
      PAWL_TRY(this->entry(name));
      const char* raw = archive_entry_pathname_utf8(entry);
      std::string path = raw != nullptr ? raw : "";
      while (path.starts_with("./")) path.erase(0, 2);
      if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_symlink(entry) != nullptr || archive_entry_hardlink(entry) != nullptr) continue;
      const bool nested = prefix.empty() && ends_with(path, ".zip");
      if (!nested && !is_wanted(path)) continue;
      if (leaves_the_set(path) || !is_utf8(path)) {
        note(fmt::format("{}: a member leads out of the archive, not read", name));
        continue;
      }
      if (archive_entry_size_is_set(entry) != 0 && too_large(path, static_cast<std::uint64_t>(archive_entry_size(entry)))) continue;
      std::string content;
      char buffer[1 << 16];
      la_ssize_t size = 0;
      // A header may lie about the size: what counts is what comes out.
      while ((size = archive_read_data(reader.get(), buffer, sizeof buffer)) > 0 && content.size() <= limits_.one) {
        content.append(buffer, static_cast<std::size_t>(size));
        if (total_ + content.size() > limits_.total) return refused(name);
      }
      if (size < 0) {
        set.broken.push_back(fmt::format("{}: {}: cannot be unpacked", name, path));
        continue;
      }
      if (too_large(path, content.size())) continue;
      if (!nested) {
        PAWL_TRY(keep(prefix + path, std::move(content)));
        continue;
      }
      PAWL_TRY(cost(path, content.size()));
      PAWL_TRY(inner_archive(content, path));
    }
  }

  /// One artifact's .zip. A broken one spoils nothing but itself.
  Status inner_archive(std::string_view bytes, const std::string& path) {
    const std::string artifact = path.substr(path.rfind('/') + 1);
    Status read = archive_members(bytes, path, artifact.substr(0, artifact.size() - 4) + "/");
    if (read || exceeded_) return read;
    set.broken.push_back(read.error().message);
    return {};
  }

  ArtifactSet set;

 private:
  Status cost(const std::string& where, std::uint64_t bytes) {
    total_ += bytes;
    return total_ > limits_.total ? refused(where) : Status();
  }
  Status refused(const std::string& where) {
    exceeded_ = true;
    return bad_input(fmt::format("{}: unpacks to more than {} bytes", where, limits_.total), "give the artifacts of one run");
  }

  const ArtifactLimits limits_;
  std::size_t entries_ = 0;
  std::uint64_t total_ = 0;
  bool exceeded_ = false;
};

}  // namespace

Result<ArtifactSet> read_artifact_folder(const io::Files& files, const std::filesystem::path& folder, const ArtifactLimits& limits) {
  if (!files.exists(folder)) return not_found(fmt::format("the folder {} does not exist", folder.string()), "give the folder with the artifacts of a run");
  Intake intake(limits);
  PAWL_ASSIGN(const std::vector<std::string> paths, files.list_tree(folder));
  for (const std::string& path : paths) {
    PAWL_TRY(intake.entry(folder.string()));
    const bool zip = ends_with(path, ".zip") && path.find('/') == std::string::npos;
    if (!zip && !is_wanted(path)) continue;
    auto bytes = files.read(folder / path, limits.one);
    if (!bytes) {
      intake.note(bytes.error().message);
      continue;
    }
    PAWL_TRY(zip ? intake.inner_archive(*bytes, path) : intake.keep(path, std::move(*bytes)));
  }
  return std::move(intake.set);
}

Result<ArtifactSet> read_artifact_archive(std::string_view bytes, const std::string& name, const ArtifactLimits& limits) {
  Intake intake(limits);
  PAWL_TRY(intake.archive_members(bytes, name, {}));
  return std::move(intake.set);
}

Result<std::string> unpack_gzip(std::string_view bytes, const std::string& name, std::uint64_t max_bytes) {
  const std::unique_ptr<archive, ArchiveFree> reader(archive_read_new());
  archive_read_support_format_raw(reader.get());
  archive_read_support_filter_gzip(reader.get());
  archive_entry* entry = nullptr;
  if (archive_read_open_memory(reader.get(), bytes.data(), bytes.size()) != ARCHIVE_OK || archive_read_next_header(reader.get(), &entry) != ARCHIVE_OK) {
    return bad_input(name + ": no gzip file");
  }
  std::string out;
  char buffer[1 << 16];
  la_ssize_t size = 0;
  while ((size = archive_read_data(reader.get(), buffer, sizeof buffer)) > 0) {
    out.append(buffer, static_cast<std::size_t>(size));
    if (out.size() > max_bytes) return bad_input(fmt::format("{}: unpacks to more than {} bytes", name, max_bytes));
  }
  if (size < 0) return bad_input(name + ": cut short or damaged");
  return out;
}

std::string logical_name(const std::string& artifact) {
  // _[A-Za-z][A-Za-z0-9.-]*_\d+ at the end
  const auto last = artifact.rfind('_');
  if (last == std::string::npos || last == 0 || last + 1 == artifact.size()) return artifact;
  if (artifact.find_first_not_of("0123456789", last + 1) != std::string::npos) return artifact;
  const auto before = artifact.rfind('_', last - 1);
  if (before == std::string::npos) return artifact;
  const std::string pool = artifact.substr(before + 1, last - before - 1);
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (pool.empty() || !letter(pool.front())) return artifact;
  if (!std::ranges::all_of(pool, [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; })) return artifact;
  return artifact.substr(0, before);
}

}  // namespace pawl::results
