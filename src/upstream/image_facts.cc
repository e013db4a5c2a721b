#include "upstream/image_facts.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <tuple>

#include "base/hash.h"
#include "base/text.h"
#include "codec/json.h"
#include "upstream/dependencies.h"

namespace pawl::upstream {
namespace {

using codec::Json;

constexpr std::size_t kMaxEntries = 5'000'000;
constexpr std::size_t kMaxFile = 4u << 20;

struct ArchiveFree {
  void operator()(archive* a) const { archive_read_free(a); }
};

/// What kind of package list a path is; empty for others.
std::string kind_of(const std::string& path) {
  if (path.ends_with(".dist-info/METADATA") || path.ends_with(".egg-info/PKG-INFO")) return "python";
  if (path == "var/lib/dpkg/status") return "debian";
  if (path.starts_with("usr/local/cuda") && path.ends_with("/version.json")) return "cuda";
  return {};
}

std::string header(const std::string& text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) break;  // the description follows
    if (line.starts_with(name)) return std::string(trim(line.substr(name.size())));
  }
  return {};
}

void read_packages(const std::string& kind, const std::string& path, const std::string& text, const std::string& layer, ImageFacts& facts) {
  if (kind == "python") {
    const std::string name = header(text, "Name:"), version = header(text, "Version:");
    if (!name.empty()) facts.packages.push_back({normal_package(name), version, kind, path, layer});
    return;
  }
  if (kind == "cuda") {
    const auto json = codec::parse_json(text, path);
    if (json && json->is_object() && json->contains("cuda") && (*json)["cuda"].is_object()) {
      const Json& cuda = (*json)["cuda"];
      if (cuda.contains("version") && cuda["version"].is_string()) facts.packages.push_back({"cuda", cuda["version"].get<std::string>(), kind, path, layer});
    }
    return;
  }
  // dpkg: paragraphs with Package and Version.
  std::string name, version, status;
  const auto flush = [&] {
    if (!name.empty() && status.find("not-installed") == std::string::npos) facts.packages.push_back({name, version, kind, path, layer});
    name.clear();
    version.clear();
    status.clear();
  };
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) flush();
    if (line.starts_with("Package: ")) name = std::string(trim(line.substr(9)));
    if (line.starts_with("Version: ")) version = std::string(trim(line.substr(9)));
    if (line.starts_with("Status: ")) status = std::string(line);
  }
  flush();
}

void forget(ImageFacts& facts, const std::string& path, const std::string& except_layer) {
  std::erase_if(facts.packages, [&](const PackageFact& p) { return p.layer != except_layer && (p.path == path || p.path.starts_with(path + "/")); });
}

void sort_packages(ImageFacts& facts) {
  std::ranges::sort(facts.packages,
                    [](const PackageFact& a, const PackageFact& b) { return std::tie(a.kind, a.name, a.path) < std::tie(b.kind, b.name, b.path); });
}

Result<Json> blob(const io::Files& files, const std::filesystem::path& folder, const std::string& digest) {
  if (!digest.starts_with("sha256:") || digest.size() != 71 || !std::ranges::all_of(digest.substr(7), [](unsigned char c) { return std::isxdigit(c) != 0; })) {
    return bad_input(fmt::format("{}: \"{}\" is no sha256 digest", folder.string(), digest));
  }
  PAWL_ASSIGN(const std::string bytes, files.read(folder / "blobs/sha256" / digest.substr(7), 16u << 20));
  if (sha256_hex(bytes) != digest.substr(7))
    return bad_input(fmt::format("{}: blob {} does not have its digest", folder.string(), digest), "copy the layout again");
  return codec::parse_json(bytes, digest);
}

std::string text_at(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}

bool fits(const Json& entry, const std::string& platform) {
  if (platform.empty() || !entry.contains("platform")) return true;
  return text_at(entry["platform"], "os") + "/" + text_at(entry["platform"], "architecture") == platform;
}

}  // namespace

std::optional<SourceCommit> source_commit(const ImageFacts& facts) {
  std::optional<SourceCommit> found;
  const auto is_commit = [](const std::string& text) {
    return text.size() >= 7 && text.size() <= 40 && std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
  };
  const auto take = [&](const std::string& label) {
    const auto at = facts.labels.find(label);
    if (at == facts.labels.end() || !is_commit(at->second)) return;
    if (!found) {
      found = SourceCommit{at->second, label, true};
    } else if (!found->commit.starts_with(at->second) && !at->second.starts_with(found->commit)) {
      found->agree = false;
    }
  };
  take("org.opencontainers.image.revision");
  for (const auto& [label, value] : facts.labels) {
    if (label != "org.opencontainers.image.revision" && (label.ends_with(".commit") || label.ends_with("revision") || label.ends_with("vcs-ref"))) take(label);
  }
  return found;
}

Status add_layer(const std::filesystem::path& path, const std::string& layer, ImageFacts& facts) {
  const std::unique_ptr<archive, ArchiveFree> reader(archive_read_new());
  archive_read_support_format_tar(reader.get());
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_zstd(reader.get());
  archive_read_support_filter_xz(reader.get());
  if (archive_read_open_filename(reader.get(), path.c_str(), 1 << 18) != ARCHIVE_OK) {
    return bad_input(fmt::format("layer {}: {}", layer, archive_error_string(reader.get())), "a tar archive is wanted, plain or compressed");
  }
  std::size_t entries = 0;
  for (;;) {
    archive_entry* entry = nullptr;
    const int got = archive_read_next_header(reader.get(), &entry);
    if (got == ARCHIVE_EOF) break;
    if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
      return bad_input(fmt::format("layer {}: {}", layer, archive_error_string(reader.get())), "the layer is cut short or damaged: copy it again");
    if (++entries > kMaxEntries) return bad_input(fmt::format("layer {}: more than {} entries", layer, kMaxEntries));
    const char* raw = archive_entry_pathname_utf8(entry);
    std::string name = raw != nullptr ? raw : "";
    while (name.starts_with("./")) name.erase(0, 2);
    while (name.starts_with('/')) name.erase(0, 1);
    const std::size_t slash = name.rfind('/');
    const std::string folder = slash == std::string::npos ? std::string() : name.substr(0, slash),
                      base = slash == std::string::npos ? name : name.substr(slash + 1);
    if (base == ".wh..wh..opq") {
      forget(facts, folder, layer);
      continue;
    }
    if (base.starts_with(".wh.")) {
      forget(facts, (folder.empty() ? "" : folder + "/") + base.substr(4), layer);
      continue;
    }
    const std::string kind = kind_of(name);
    if (kind.empty() || archive_entry_filetype(entry) != AE_IFREG || archive_entry_symlink(entry) != nullptr) continue;
    std::string text;
    char buffer[1 << 16];
    la_ssize_t size = 0;
    while (text.size() <= 16 * kMaxFile && (size = archive_read_data(reader.get(), buffer, sizeof buffer)) > 0) {
      text.append(buffer, static_cast<std::size_t>(size));
      if (kind != "debian" && text.size() > kMaxFile) break;
    }
    if (size < 0) return bad_input(fmt::format("layer {}: {}: {}", layer, name, archive_error_string(reader.get())));
    forget(facts, name, layer);
    std::erase_if(facts.packages, [&](const PackageFact& p) { return p.path == name; });
    read_packages(kind, name, text, layer, facts);
  }
  sort_packages(facts);
  return {};
}

Status add_unpacked(const io::Files& files, const std::filesystem::path& root, ImageFacts& facts) {
  PAWL_ASSIGN(const std::vector<std::string> paths, files.list_tree(root));
  for (const std::string& path : paths) {
    const std::string kind = kind_of(path);
    if (kind.empty()) continue;
    const auto text = files.read(root / path, 16 * kMaxFile);
    if (!text) {
      facts.notes.push_back(path + ": " + text.error().message);
      continue;
    }
    read_packages(kind, path, *text, root.filename().string(), facts);
  }
  sort_packages(facts);
  return {};
}

Result<ImageFacts> read_oci_layout(const io::Files& files, const std::filesystem::path& folder, const std::string& reference, const std::string& platform) {
  PAWL_ASSIGN(const std::string text, files.read(folder / "index.json", 16u << 20));
  PAWL_ASSIGN(Json index, codec::parse_json(text, "index.json"));
  ImageFacts facts;
  std::string digest;
  std::vector<std::string> names;
  for (int level = 0; level < 4; ++level) {
    if (!index.is_object() || !index.contains("manifests") || !index["manifests"].is_array()) break;
    std::vector<const Json*> fitting;
    for (const Json& entry : index["manifests"]) {
      const std::string name = entry.contains("annotations") ? text_at(entry["annotations"], "org.opencontainers.image.ref.name") : std::string();
      if (!name.empty()) names.push_back(name);
      if (level == 0 && !reference.empty() && name != reference && text_at(entry, "digest") != reference) continue;
      if (fits(entry, platform)) fitting.push_back(&entry);
    }
    if (fitting.empty())
      return not_found(
          fmt::format("{}: no image {} for {}", folder.string(), reference.empty() ? "at all" : reference, platform.empty() ? "any platform" : platform),
          names.empty() ? "" : "there are: " + join(names, ", "));
    if (fitting.size() > 1 && level == 0) return usage_error(fmt::format("{}: {} images", folder.string(), fitting.size()), "name one: " + join(names, ", "));
    digest = text_at(*fitting.front(), "digest");
    if (fitting.front()->contains("platform"))
      facts.platform = text_at((*fitting.front())["platform"], "os") + "/" + text_at((*fitting.front())["platform"], "architecture");
    PAWL_ASSIGN(Json next, blob(files, folder, digest));
    index = std::move(next);
  }
  facts.digest = digest;
  if (!index.is_object() || !index.contains("config") || !index.contains("layers") || !index["layers"].is_array())
    return bad_input(fmt::format("{}: {} is no image manifest", folder.string(), digest));
  PAWL_ASSIGN(const Json config, blob(files, folder, text_at(index["config"], "digest")));
  facts.created = text_at(config, "created");
  if (const std::string own = text_at(config, "os") + "/" + text_at(config, "architecture"); !platform.empty() && own != "/" && own != platform) {
    return not_found(fmt::format("{}: the image is for {}, not for {}", folder.string(), own, platform));
  }
  if (facts.platform.empty()) facts.platform = text_at(config, "os") + "/" + text_at(config, "architecture");
  if (config.is_object() && config.contains("config") && config["config"].is_object()) {
    const Json& inner = config["config"];
    if (inner.contains("Labels") && inner["Labels"].is_object()) {
      for (auto it = inner["Labels"].begin(); it != inner["Labels"].end(); ++it) {
        if (it.value().is_string()) facts.labels[it.key()] = it.value().get<std::string>();
      }
    }
    if (inner.contains("Env") && inner["Env"].is_array()) {
      for (const Json& one : inner["Env"]) {
        if (!one.is_string()) continue;
        const std::string pair = one.get<std::string>();
        facts.environment[pair.substr(0, pair.find('='))] = pair.find('=') == std::string::npos ? "" : pair.substr(pair.find('=') + 1);
      }
    }
  }
  for (const Json& layer : index["layers"]) {
    const std::string id = text_at(layer, "digest");
    if (!id.starts_with("sha256:") || id.find('/') != std::string::npos || id.size() != 71)
      return bad_input(fmt::format("{}: layer digest \"{}\"", folder.string(), id));
    const std::filesystem::path path = folder / "blobs/sha256" / id.substr(7);
    if (!files.exists(path)) {
      facts.notes.push_back(fmt::format("layer {} is not in the layout: its packages are not known", id));
      continue;
    }
    PAWL_TRY(add_layer(path, id, facts));
  }
  return facts;
}

std::vector<std::string> identity_lines(const ImageFacts& before, const ImageFacts& after, const std::vector<std::string>& names) {
  const auto version = [](const ImageFacts& facts, const std::string& name) -> const PackageFact* {
    const auto at = std::ranges::find(facts.packages, name, &PackageFact::name);
    return at == facts.packages.end() ? nullptr : &*at;
  };
  std::vector<std::string> out;
  if (before.packages.empty() || after.packages.empty()) return out;
  for (const std::string& name : names) {
    const PackageFact *a = version(before, name), *b = version(after, name);
    if ((a == nullptr && b == nullptr) || (a != nullptr && b != nullptr && a->version == b->version)) continue;
    out.push_back(
        fmt::format("{} {} → {} ({})", name, a != nullptr ? a->version : "not there", b != nullptr ? b->version : "not there", (b != nullptr ? b : a)->path));
  }
  return out;
}

}  // namespace pawl::upstream
