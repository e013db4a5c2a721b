#include "registry/layer_packages.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <tuple>

#include "base/text.h"

namespace pawl::registry {
namespace {

struct ReadDeleter {
  void operator()(archive* a) const { archive_read_free(a); }
};

/// The value of the first "Name: value" line of a text in the form of mail headers, up to the first blank line.
std::string header(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) break;
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') return std::string(trim(line.substr(name.size() + 1)));
  }
  return {};
}

/// The path as an image spells it: no "./" before it, no ".." in it; empty when it leads out.
std::string inner_path(const char* raw) {
  if (raw == nullptr) return {};
  std::string_view path(raw);
  while (path.starts_with("./") || path.starts_with('/')) path.remove_prefix(path.starts_with('/') ? 1 : 2);
  for (const std::string_view part : split(path, '/')) {
    if (part == "..") return {};
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

bool is_python(std::string_view path) {
  return path.ends_with(".dist-info/METADATA") || path.ends_with(".egg-info/PKG-INFO") ||
         (path.ends_with(".egg-info") && path.find("-packages/") != std::string_view::npos);
}
bool is_dpkg(std::string_view path) { return path == "var/lib/dpkg/status" || (path.starts_with("var/lib/dpkg/status.d/") && !path.ends_with(".md5sums")); }

}  // namespace

std::vector<BundledPackage> read_python_metadata(const std::string& text) {
  BundledPackage package{"python", header(text, "Name"), header(text, "Version"), {}};
  if (package.name.empty() || package.version.empty()) return {};
  return {std::move(package)};
}

std::vector<BundledPackage> read_dpkg_status(const std::string& text) {
  std::vector<BundledPackage> all;
  std::string_view rest(text);
  while (!rest.empty()) {
    const auto end = std::min(rest.find("\n\n"), rest.size());
    const std::string_view block = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));
    BundledPackage package{"debian", header(block, "Package"), header(block, "Version"), {}};
    const std::string status = header(block, "Status");
    if (!package.name.empty() && !package.version.empty() && (status.empty() || status.ends_with(" installed"))) all.push_back(std::move(package));
  }
  return all;
}

void LayerPackages::remove_below(const std::string& folder) {
  const std::string prefix = folder.empty() ? folder : folder + "/";
  for (auto it = by_file_.lower_bound(prefix); it != by_file_.end() && it->first.starts_with(prefix);) it = by_file_.erase(it);
}

void LayerPackages::take(const std::string& path, const std::string& text) {
  auto found = is_dpkg(path) ? read_dpkg_status(text) : read_python_metadata(text);
  for (BundledPackage& package : found) package.read_from = fmt::format("layer {}: {}", layer_, path);
  by_file_[path] = std::move(found);
}

Status LayerPackages::add_layer(const std::filesystem::path& path, std::stop_token stop) {
  ++layer_;
  const std::unique_ptr<archive, ReadDeleter> reader(archive_read_new());
  if (!reader) return machine_error("out of memory");
  archive* a = reader.get();
  archive_read_support_filter_gzip(a);
  archive_read_support_filter_zstd(a);
  archive_read_support_format_tar(a);
  archive_read_support_format_empty(a);
  const auto broken = [&](const std::string& why) {
    return bad_input(fmt::format("layer {} ({}): {}", layer_, path.filename().string(), why), "the image is damaged or hostile: nothing of it was used");
  };
  if (archive_read_open_filename(a, path.c_str(), 1 << 16) != ARCHIVE_OK) return broken(archive_error_string(a));
  // What this layer adds must not be hidden by its own whiteouts, which concern the layers below (layer.md).
  std::vector<std::string> hidden, opaque;
  std::vector<std::pair<std::string, std::string>> added;
  std::uint64_t entries = 0, bytes = 0;
  archive_entry* entry = nullptr;
  int rc = ARCHIVE_OK;
  while ((rc = archive_read_next_header(a, &entry)) == ARCHIVE_OK || rc == ARCHIVE_WARN) {
    if (stop.stop_requested()) return cancelled();
    if (++entries > limits_.entries_max) return broken(fmt::format("more than {} entries", limits_.entries_max));
    const std::string name = inner_path(archive_entry_pathname(entry));
    const auto slash = name.rfind('/');
    const std::string folder = slash == std::string::npos ? std::string() : name.substr(0, slash);
    const std::string base = slash == std::string::npos ? name : name.substr(slash + 1);
    if (base == ".wh..wh..opq") {
      opaque.push_back(folder);
    } else if (base.starts_with(".wh.")) {
      hidden.push_back(folder.empty() ? base.substr(4) : folder + "/" + base.substr(4));
    }
    const bool wanted = archive_entry_filetype(entry) == AE_IFREG && (is_python(name) || is_dpkg(name));
    std::string text;
    char buffer[1 << 16];
    for (la_ssize_t n = 0; (n = archive_read_data(a, buffer, sizeof buffer)) != 0;) {
      if (n < 0) return broken(archive_error_string(a));
      bytes += static_cast<std::uint64_t>(n);
      if (bytes > limits_.bytes_max) return broken(fmt::format("more than {} bytes unpacked", limits_.bytes_max));
      if (!wanted) continue;
      if (text.size() + static_cast<std::size_t>(n) > limits_.file_max) return broken(fmt::format("{} is larger than {} bytes", name, limits_.file_max));
      text.append(buffer, static_cast<std::size_t>(n));
      if (stop.stop_requested()) return cancelled();
    }
    if (wanted) added.emplace_back(name, std::move(text));
  }
  if (rc != ARCHIVE_EOF) return broken(archive_error_string(a) != nullptr ? archive_error_string(a) : "cannot be read to its end");
  for (const std::string& folder : opaque) remove_below(folder);
  for (const std::string& name : hidden) {
    remove_below(name);
    by_file_.erase(name);
  }
  for (const auto& [name, text] : added) take(name, text);
  return {};
}

std::vector<BundledPackage> LayerPackages::packages() const {
  std::vector<BundledPackage> all;
  for (const auto& [path, found] : by_file_) all.insert(all.end(), found.begin(), found.end());
  std::ranges::stable_sort(all, [](const BundledPackage& a, const BundledPackage& b) { return std::tie(a.kind, a.name) < std::tie(b.kind, b.name); });
  return all;
}

}  // namespace pawl::registry
