#include "registry/package_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <map>

#include "base/hash.h"
#include "base/text.h"
#include "codec/json.h"
#include "images/version.h"

namespace pawl::registry {
namespace {

using codec::Json;

constexpr std::size_t kFilesMax = 200'000;

std::string package_of(const std::string& name) {
  return normal_package_name(name.starts_with("pypi:") ? std::string_view(name).substr(5) : std::string_view(name));
}

}  // namespace

std::string normal_package_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool joint = c == '-' || c == '_' || c == '.';
    if (joint && (out.empty() || out.back() == '-')) continue;
    out += joint ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  while (out.ends_with('-')) out.pop_back();
  return out;
}

std::string version_of_file(std::string_view file, std::string_view package) {
  std::string_view stem = file;
  bool wheel = false;
  for (const std::string_view end : {".whl", ".tar.gz", ".zip", ".tar.bz2"}) {
    if (!stem.ends_with(end)) continue;
    wheel = end == ".whl";
    stem.remove_suffix(end.size());
    break;
  }
  if (stem.size() == file.size()) return {};
  // NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM.whl, with '_' for '-' in the name; NAME-VERSION.tar.gz, where old names keep their '-'.
  for (std::size_t dash = stem.find('-'); dash != std::string_view::npos; dash = stem.find('-', dash + 1)) {
    if (normal_package_name(stem.substr(0, dash)) != package) continue;
    std::string_view rest = stem.substr(dash + 1);
    return std::string(wheel ? rest.substr(0, rest.find('-')) : rest);
  }
  return {};
}

PackageIndex::PackageIndex(std::string base, WebSession& session) : base_(std::move(base)), session_(session) {
  while (base_.ends_with('/')) base_.pop_back();
}

Result<std::vector<PackageIndex::Version>> PackageIndex::versions(const std::string& name, std::stop_token stop) {
  const std::string package = package_of(name);
  if (package.empty() || package.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos) {
    return bad_input(fmt::format("'{}' is not the name of a package", name), "write it as pypi:NAME or pypi:NAME==VERSION");
  }
  const std::string what = fmt::format("package {}", package);
  PAWL_ASSIGN(const auto answer, session_.send({.url = fmt::format("{}/{}/", base_, package),
                                                .host = "pypi",
                                                .accept = "application/vnd.pypi.simple.v1+json",
                                                .cacheable = true,
                                                .answer_max = 64u << 20},
                                               stop));
  if (answer.response.status == 404)
    return Error{ErrorClass::kNotFound, ExitStatus::kPeer, fmt::format("the package index has no package {}", package), "check the spelling"};
  if (answer.response.status != 200) return peer_error(fmt::format("{}: the package index answered {}", what, answer.response.status));
  auto read = codec::parse_json(answer.response.body, what, 64u << 20);
  if (!read || !read->is_object() || !read->contains("files") || !(*read)["files"].is_array()) {
    return peer_error(what + ": the package index does not speak JSON (PEP 691)", "use an index that does");
  }
  if ((*read)["files"].size() > kFilesMax) return peer_error(fmt::format("{}: more than {} files", what, kFilesMax));
  struct Gathered {
    std::string uploaded, reason;
    std::vector<std::string> hashes;
    std::int64_t files = 0, yanked = 0;
  };
  std::map<std::string, Gathered> by_version;
  if (read->contains("versions") && (*read)["versions"].is_array()) {
    for (const Json& version : (*read)["versions"]) {
      if (version.is_string()) by_version[version.get<std::string>()];
    }
  }
  for (const Json& file : (*read)["files"]) {
    if (!file.is_object() || !file.contains("filename") || !file["filename"].is_string()) continue;
    const std::string version = version_of_file(file["filename"].get<std::string>(), package);
    if (version.empty()) continue;
    Gathered& g = by_version[version];
    ++g.files;
    if (file.contains("yanked") && (file["yanked"].is_string() || (file["yanked"].is_boolean() && file["yanked"].get<bool>()))) {
      ++g.yanked;
      g.reason = file["yanked"].is_string() && !file["yanked"].get<std::string>().empty() ? file["yanked"].get<std::string>() : "yanked";
    }
    if (file.contains("upload-time") && file["upload-time"].is_string()) {
      const std::string time = file["upload-time"].get<std::string>();
      if (g.uploaded.empty() || time < g.uploaded) g.uploaded = time;
    }
    if (file.contains("hashes") && file["hashes"].is_object() && file["hashes"].contains("sha256") && file["hashes"]["sha256"].is_string()) {
      g.hashes.push_back(file["hashes"]["sha256"].get<std::string>());
    }
  }
  std::vector<Version> all;
  for (auto& [version, g] : by_version) {
    std::ranges::sort(g.hashes);
    all.push_back({version, g.uploaded, g.hashes.empty() ? std::string() : "sha256:" + sha256_hex(join(g.hashes, "\n")),
                   g.files > 0 && g.yanked == g.files ? g.reason : std::string(), g.files});
  }
  std::ranges::stable_sort(all, [](const Version& a, const Version& b) {
    const auto x = images::Version::parse(a.version), y = images::Version::parse(b.version);
    if (x.has_value() != y.has_value()) return !x;
    return x && y && *x < *y;
  });
  return all;
}

Result<io::TagListing> PackageIndex::tags(const std::string& name, std::stop_token stop) {
  PAWL_ASSIGN(const auto all, versions(name, stop));
  io::TagListing listing{"pypi:" + package_of(name), {}, 1, "package index"};
  for (const Version& version : all) {
    if (version.files == 0 || !version.yanked.empty()) continue;
    images::ListedTag tag{version.version, std::nullopt, version.digest};
    std::tm tm{};
    if (!version.uploaded.empty() && strptime(version.uploaded.c_str(), "%Y-%m-%dT%H:%M:%S", &tm) != nullptr) tag.pushed = WallTime{Seconds{timegm(&tm)}};
    listing.tags.push_back(std::move(tag));
  }
  return listing;
}

Result<std::string> PackageIndex::digest(const model::ImageRef& image, std::stop_token stop) {
  PAWL_ASSIGN(const auto all, versions(image.name, stop));
  const auto found = std::ranges::find(all, image.tag, &Version::version);
  if (found == all.end() || found->files == 0) {
    return Error{ErrorClass::kNotFound, ExitStatus::kPeer, fmt::format("the package index has no {} {}", package_of(image.name), image.tag)};
  }
  if (!found->yanked.empty())
    return Error{ErrorClass::kNotFound, ExitStatus::kPeer, fmt::format("{} {} was withdrawn: {}", package_of(image.name), image.tag, found->yanked)};
  return found->digest;
}

Result<io::ImageFacts> PackageIndex::facts(const model::ImageRef& image, std::stop_token stop) {
  io::ImageFacts facts;
  PAWL_ASSIGN(facts.digest, digest(image, stop));
  return facts;
}

}  // namespace pawl::registry
