#include "registry/oci_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "codec/json.h"
#include "registry/challenge.h"
#include "registry/manifest.h"

namespace pawl::registry {
namespace {

using codec::Json;

constexpr int kPagesMax = 2000;
constexpr std::size_t kTagsMax = 500'000, kPushPagesMax = 50;

std::string reference_of(const model::ImageRef& image) { return !image.digest.empty() ? image.digest : image.tag; }

Error no_such(const std::string& what, const std::string& remedy = {}) { return {ErrorClass::kNotFound, ExitStatus::kPeer, what, remedy}; }

/// An answer of a status that means neither success nor "try again".
Error refused(const std::string& what, int status) {
  if (status == 404) return no_such(what + " does not exist, or needs an account", "check the spelling; for a private repository give --auth FILE");
  if (status == 401 || status == 403) {
    return {ErrorClass::kInvalid, ExitStatus::kPeer, fmt::format("{}: access refused ({})", what, status), "give an account that may read it: --auth FILE"};
  }
  return peer_error(fmt::format("{}: the registry answered {}", what, status));
}

/// "2026-10-01T04:00:00.123456Z", fractions dropped.
std::optional<WallTime> read_time(const std::string& text) {
  std::tm tm{};
  if (strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &tm) == nullptr) return std::nullopt;
  return WallTime{Seconds{timegm(&tm)}};
}

struct FileCloser {
  void operator()(std::FILE* f) const { std::fclose(f); }
};

}  // namespace

Result<OciRegistry::Place> OciRegistry::place(const std::string& name) const {
  PAWL_ASSIGN(RepositoryAddress address, book_.find(name));
  Place place{std::move(address), {}};
  place.bases = place.address.rules.mirrors.value_or(std::vector<std::string>());
  place.bases.push_back(place.address.rules.api);
  for (std::string& base : place.bases) {
    while (base.ends_with('/')) base.pop_back();
  }
  return place;
}

Result<WebSession::Answer> OciRegistry::ask(const Place& place, WebSession::Ask request, const std::string& path, std::stop_token stop) {
  request.scope = fmt::format("repository:{}:pull", place.address.repository);
  request.user = place.address.rules.user;
  for (std::size_t i = 0; i < place.bases.size(); ++i) {
    const bool last = i + 1 == place.bases.size();
    request.url = place.bases[i] + path;
    // An account belongs to one host: a mirror gets its own or none.
    request.host = last ? place.address.host : place.bases[i].substr(place.bases[i].find("://") + 3);
    auto answer = session_.send(request, stop);
    if (last || (answer && answer->response.status == 200) || stop.stop_requested()) return answer;
  }
  return internal_error("a registry without an address");
}

Result<io::TagListing> OciRegistry::list_at(const Place& place, const std::string& base, std::stop_token stop) {
  const bool mirror = base != place.bases.back();
  io::TagListing listing{fmt::format("{}/{}", place.address.host, place.address.repository), {}, 0, mirror ? "mirror " + base : "registry"};
  const std::int64_t page = place.address.rules.page.value_or(1000);
  const std::string first = fmt::format("{}/v2/{}/tags/list", base, place.address.repository);
  WebSession::Ask request{.url = fmt::format("{}?n={}", first, page),
                          .host = mirror ? base.substr(base.find("://") + 3) : place.address.host,
                          .scope = fmt::format("repository:{}:pull", place.address.repository),
                          .accept = "application/json",
                          .user = place.address.rules.user,
                          .cacheable = true};
  std::set<std::string> seen, asked;
  bool unchanged = true, by_last = false;
  while (true) {
    const std::string what = fmt::format("tags of {}, page {}", listing.repository, listing.requests + 1);
    if (listing.requests >= kPagesMax) return peer_error(fmt::format("{}: more than {} pages", what, kPagesMax), "the listing has no end: is it a loop?");
    if (!asked.insert(request.url).second) return peer_error(fmt::format("{}: the next page is one that was read already", what));
    auto answer = session_.send(request, stop);
    if (!answer) return std::move(answer).error().within(what);
    ++listing.requests;
    unchanged = unchanged && answer->unchanged;
    const http::Response& response = answer->response;
    if (response.status != 200) return refused(listing.requests == 1 ? listing.repository : what, response.status);
    PAWL_ASSIGN(const Json json, codec::parse_json(response.body, what, 16u << 20));
    if (!json.is_object() || !json.contains("tags") || !(json["tags"].is_array() || json["tags"].is_null())) return peer_error(what + ": not a list of tags");
    std::size_t fresh = 0;
    std::string last;
    for (const Json& tag : json["tags"]) {
      if (!tag.is_string() || tag.get_ref<const std::string&>().size() > 128) return peer_error(what + ": an entry is no tag");
      last = tag.get<std::string>();
      if (!seen.insert(last).second) continue;
      ++fresh;
      listing.tags.push_back({last, std::nullopt, {}});
    }
    if (listing.tags.size() > kTagsMax) return peer_error(fmt::format("{}: more than {} tags", what, kTagsMax));
    if (const auto link = http::find_field(response.fields, "link")) {
      const auto target = next_link(*link);
      if (!target) break;
      const auto url = resolve_link(request.url, *target);
      if (!url) return peer_error(fmt::format("{}: the next page is said to be on another host", what));
      request.url = *url;
      continue;
    }
    // Without a link there is no further page, but some registries page by `last` alone: a full page is asked for its successor.
    if (static_cast<std::int64_t>(json["tags"].size()) != page || (by_last && fresh == 0)) break;
    by_last = true;
    request.url = fmt::format("{}?n={}&last={}", first, page, last);
  }
  if (unchanged) listing.read_from += " (unchanged)";
  return listing;
}

Result<io::TagListing> OciRegistry::tags(const std::string& name, std::stop_token stop) {
  PAWL_ASSIGN(const Place place, this->place(name));
  for (std::size_t i = 0; i < place.bases.size(); ++i) {
    auto listing = list_at(place, place.bases[i], stop);
    const bool last = i + 1 == place.bases.size();
    if (!listing && (last || listing.error().cls == ErrorClass::kCancelled)) return listing;
    if (!listing) continue;
    PAWL_TRY(add_push_times(place, *listing, stop));
    return listing;
  }
  return internal_error("a registry without an address");
}

Status OciRegistry::add_push_times(const Place& place, io::TagListing& listing, std::stop_token stop) {
  const RegistryRules& rules = place.address.rules;
  if (!rules.push_times || !rules.push_times_api) return {};
  const bool hub = *rules.push_times == "hub";
  std::map<std::string, images::ListedTag*> by_tag;
  for (images::ListedTag& tag : listing.tags) by_tag[tag.tag] = &tag;
  std::string url = hub ? fmt::format("{}/v2/repositories/{}/tags?page_size=100", *rules.push_times_api, place.address.repository)
                        : fmt::format("{}/api/v1/repository/{}/tag/?limit=100&onlyActiveTags=true&page=1", *rules.push_times_api, place.address.repository);
  // These interfaces are undocumented and may be away: then push times are unknown, which is no failure of the listing.
  for (std::size_t page = 1; page <= kPushPagesMax; ++page) {
    const auto answer = session_.send({.url = url, .host = place.address.host, .accept = "application/json", .anonymous = true}, stop);
    if (stop.stop_requested()) return cancelled();
    if (!answer || answer->response.status != 200) return {};
    const auto json = codec::parse_json(answer->response.body, "push times", 16u << 20);
    if (!json || !json->is_object()) return {};
    const char* list = hub ? "results" : "tags";
    if (!json->contains(list) || !(*json)[list].is_array()) return {};
    for (const Json& entry : (*json)[list]) {
      if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) continue;
      const auto tag = by_tag.find(entry["name"].get<std::string>());
      if (tag == by_tag.end()) continue;
      const char* digest = hub ? "digest" : "manifest_digest";
      if (entry.contains(digest) && entry[digest].is_string() && is_digest(entry[digest].get<std::string>()))
        tag->second->digest = entry[digest].get<std::string>();
      if (hub) {
        const char* key = entry.contains("tag_last_pushed") ? "tag_last_pushed" : "last_updated";
        if (entry.contains(key) && entry[key].is_string()) tag->second->pushed = read_time(entry[key].get<std::string>());
      } else if (entry.contains("start_ts") && entry["start_ts"].is_number_integer()) {
        const auto seconds = entry["start_ts"].get<std::int64_t>();
        if (seconds > 0 && seconds < 32503680000) tag->second->pushed = WallTime{Seconds{seconds}};
      }
    }
    if (hub) {
      if (!json->contains("next") || !(*json)["next"].is_string()) return {};
      const auto next = resolve_link(url, (*json)["next"].get<std::string>());
      if (!next) return {};
      url = *next;
    } else {
      if (!json->contains("has_additional") || !(*json)["has_additional"].is_boolean() || !(*json)["has_additional"].get<bool>()) return {};
      url = fmt::format("{}/api/v1/repository/{}/tag/?limit=100&onlyActiveTags=true&page={}", *rules.push_times_api, place.address.repository, page + 1);
    }
  }
  return {};
}

Result<std::string> OciRegistry::digest(const model::ImageRef& image, std::stop_token stop) {
  PAWL_ASSIGN(const Place place, this->place(image.name));
  const std::string path = fmt::format("/v2/{}/manifests/{}", place.address.repository, reference_of(image));
  PAWL_ASSIGN(const auto head, ask(place, {.method = "HEAD", .accept = kManifestTypes}, path, stop));
  if (head.response.status != 200) return refused(image.text(), head.response.status);
  const auto said = http::find_field(head.response.fields, "docker-content-digest");
  if (said && is_digest(*said)) return *said;
  // Some registries do not tell it on HEAD: the digest is the hash of the bytes.
  PAWL_ASSIGN(const auto whole, ask(place, {.accept = kManifestTypes}, path, stop));
  if (whole.response.status != 200) return refused(image.text(), whole.response.status);
  return "sha256:" + sha256_hex(whole.response.body);
}

Result<std::string> OciRegistry::blob(const Place& place, const std::string& digest, std::stop_token stop) {
  PAWL_ASSIGN(auto answer, ask(place, {.accept = "*/*"}, fmt::format("/v2/{}/blobs/{}", place.address.repository, digest), stop));
  if (answer.response.status != 200) return refused(fmt::format("blob {} of {}", digest, place.address.repository), answer.response.status);
  if ("sha256:" + sha256_hex(answer.response.body) != digest)
    return peer_error(fmt::format("blob {} of {}: the bytes have another digest", digest, place.address.repository));
  return std::move(answer.response.body);
}

Result<io::ImageFacts> OciRegistry::facts(const model::ImageRef& image, std::stop_token stop) {
  PAWL_ASSIGN(const Place place, this->place(image.name));
  const std::string manifests = fmt::format("/v2/{}/manifests/", place.address.repository);
  const auto read = [&](const std::string& reference, std::string& digest) -> Result<Manifest> {
    PAWL_ASSIGN(const auto answer, ask(place, {.accept = kManifestTypes}, manifests + reference, stop));
    if (answer.response.status != 200) return refused(reference == reference_of(image) ? image.text() : image.name + "@" + reference, answer.response.status);
    digest = "sha256:" + sha256_hex(answer.response.body);
    const auto said = http::find_field(answer.response.fields, "docker-content-digest");
    if ((is_digest(reference) && reference != digest) || (said && is_digest(*said) && *said != digest)) {
      return peer_error(fmt::format("manifest {} of {}: the bytes have another digest ({})", reference, image.name, digest));
    }
    return parse_manifest(answer.response.body, fmt::format("manifest {} of {}", reference, image.name));
  };
  io::ImageFacts facts;
  PAWL_ASSIGN(const Manifest top, read(reference_of(image), facts.digest));
  facts.index = top.index;
  std::vector<IndexEntry> entries = top.entries;
  if (!top.index) entries = {{"", facts.digest}};
  for (const IndexEntry& entry : entries) {
    io::PlatformImage platform{.platform = entry.platform, .digest = entry.digest};
    Manifest own = top;
    if (top.index) {
      std::string digest;
      PAWL_ASSIGN(own, read(entry.digest, digest));
      if (own.index) return peer_error(fmt::format("{}: an index within an index", image.text()));
    }
    platform.config_digest = own.config_digest;
    platform.layer_digests = own.layer_digests;
    platform.layers = static_cast<std::int64_t>(own.layer_digests.size());
    platform.bytes = own.bytes;
    PAWL_ASSIGN(const std::string config, blob(place, own.config_digest, stop));
    PAWL_TRY(add_config(config, fmt::format("config of {}", image.text()), platform));
    facts.platforms.push_back(std::move(platform));
  }
  return facts;
}

Result<std::vector<std::string>> OciRegistry::missing_blobs(const model::ImageRef& image, const io::ImageFacts& facts, std::stop_token stop) {
  PAWL_ASSIGN(const Place place, this->place(image.name));
  std::set<std::string> wanted;
  for (const io::PlatformImage& platform : facts.platforms) {
    wanted.insert(platform.config_digest);
    wanted.insert(platform.layer_digests.begin(), platform.layer_digests.end());
  }
  std::vector<std::string> missing;
  for (const std::string& digest : wanted) {
    PAWL_ASSIGN(const auto answer, ask(place, {.method = "HEAD", .accept = "*/*"}, fmt::format("/v2/{}/blobs/{}", place.address.repository, digest), stop));
    if (answer.response.status == 404) {
      missing.push_back(digest);
    } else if (answer.response.status != 200) {
      return refused(fmt::format("blob {} of {}", digest, image.name), answer.response.status);
    }
  }
  return missing;
}

Result<bool> OciRegistry::anonymous(const model::ImageRef& image, std::stop_token stop) {
  PAWL_ASSIGN(const Place place, this->place(image.name));
  const std::string path = fmt::format("/v2/{}/manifests/{}", place.address.repository, reference_of(image));
  auto answer = ask(place, {.method = "HEAD", .accept = kManifestTypes, .anonymous = true}, path, stop);
  if (!answer) return answer.error().cls == ErrorClass::kInvalid ? Result<bool>(false) : Result<bool>(std::move(answer).error());
  const int status = answer->response.status;
  if (status == 200) return true;
  if (status == 401 || status == 403 || status == 404) return false;  // private repositories are often "not found" to strangers
  return refused(image.text(), status);
}

Status OciRegistry::download(const model::ImageRef& image, const std::string& digest, const std::filesystem::path& to, std::uint64_t bytes_max,
                             std::stop_token stop) {
  PAWL_ASSIGN(const Place place, this->place(image.name));
  std::unique_ptr<std::FILE, FileCloser> file;
  std::unique_ptr<Sha256> hash;
  bool broken = false;
  WebSession::Ask request{.accept = "*/*", .answer_max = bytes_max, .timeout = Seconds{3600}};
  request.restart = [&] {
    file.reset(std::fopen(to.c_str(), "wb"));
    hash = std::make_unique<Sha256>();
  };
  request.sink = [&](std::string_view bytes) {
    hash->add(bytes);
    broken = !file || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size();
    return !broken;
  };
  auto answer = ask(place, request, fmt::format("/v2/{}/blobs/{}", place.address.repository, digest), stop);
  if (!answer) return std::move(answer).error();
  if (answer->response.status != 200) return refused(fmt::format("blob {} of {}", digest, image.name), answer->response.status);
  if (!file || std::fflush(file.get()) != 0) return machine_error(fmt::format("{}: cannot be written", to.string()));
  file.reset();
  if ("sha256:" + hash->hex() != digest) return peer_error(fmt::format("blob {} of {}: the bytes have another digest", digest, image.name));
  return {};
}

}  // namespace pawl::registry
