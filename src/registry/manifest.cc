#include "registry/manifest.h"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::registry {
namespace {

using codec::Json;

constexpr std::size_t kManifestMax = 4u << 20, kConfigMax = 16u << 20, kEntriesMax = 64, kLayersMax = 1000, kTextMax = 4096, kLabelsMax = 500;

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string platform_of(const Json& json) {
  if (!json.is_object()) return {};
  std::string text = text_of(json, "os");
  const std::string architecture = text_of(json, "architecture"), variant = text_of(json, "variant");
  if (text.empty() || architecture.empty()) return {};
  text += "/" + architecture;
  // v8 is the only variant of 64-bit ARM that images name, and many leave it out.
  if (!variant.empty() && !(architecture == "arm64" && variant == "v8")) text += "/" + variant;
  return text;
}

const io::PlatformImage* find_platform(const io::ImageFacts& facts, const std::string& platform) {
  const auto found = std::ranges::find(facts.platforms, platform, &io::PlatformImage::platform);
  return found == facts.platforms.end() ? nullptr : &*found;
}

}  // namespace

bool is_digest(std::string_view text) {
  return text.size() == 71 && text.starts_with("sha256:") && text.find_first_not_of("0123456789abcdef", 7) == std::string_view::npos;
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& name) {
  PAWL_ASSIGN(const Json json, codec::parse_json(text, name, kManifestMax));
  const auto wrong = [&](const std::string& why) {
    return Error{ErrorClass::kInvalid, ExitStatus::kPeer, fmt::format("{}: {}", name, why), "is it an image? artifacts of other kinds cannot be pinned"};
  };
  if (!json.is_object()) return wrong("not a manifest");
  Manifest manifest;
  if (json.contains("manifests") && json["manifests"].is_array()) {
    manifest.index = true;
    if (json["manifests"].size() > kEntriesMax) return wrong(fmt::format("an index of more than {} manifests", kEntriesMax));
    for (const Json& entry : json["manifests"]) {
      if (!entry.is_object() || !is_digest(text_of(entry, "digest"))) return wrong("an entry without a valid digest");
      if (entry.contains("annotations") && entry["annotations"].is_object() && entry["annotations"].contains("vnd.docker.reference.type")) continue;
      const std::string platform = platform_of(entry.value("platform", Json::object()));
      if (platform.starts_with("unknown")) continue;
      manifest.entries.push_back({platform, text_of(entry, "digest")});
    }
    return manifest;
  }
  if (!json.contains("config") || !json["config"].is_object() || !json.contains("layers") || !json["layers"].is_array()) {
    return wrong(json.contains("fsLayers") ? "a manifest of schema 1, which has no config" : "neither an index nor an image manifest");
  }
  manifest.config_digest = text_of(json["config"], "digest");
  if (!is_digest(manifest.config_digest)) return wrong("the config has no valid digest");
  if (json["layers"].size() > kLayersMax) return wrong(fmt::format("more than {} layers", kLayersMax));
  for (const Json& layer : json["layers"]) {
    if (!layer.is_object() || !is_digest(text_of(layer, "digest"))) return wrong("a layer without a valid digest");
    manifest.layer_digests.push_back(text_of(layer, "digest"));
    if (layer.contains("size") && layer["size"].is_number_unsigned()) {
      manifest.bytes += static_cast<std::int64_t>(std::min<std::uint64_t>(layer["size"].get<std::uint64_t>(), std::uint64_t{1} << 50));
    }
  }
  return manifest;
}

Status add_config(std::string_view text, const std::string& name, io::PlatformImage& image) {
  PAWL_ASSIGN(const Json json, codec::parse_json(text, name, kConfigMax));
  if (!json.is_object()) return Error{ErrorClass::kInvalid, ExitStatus::kPeer, name + ": not the config of an image"};
  if (image.platform.empty()) image.platform = platform_of(json);
  image.created = text_of(json, "created");
  const Json config = json.value("config", Json::object());
  if (config.is_object()) {
    const Json labels = config.value("Labels", Json::object());
    if (labels.is_object()) {
      for (const auto& [key, value] : labels.items()) {
        if (value.is_string() && image.labels.size() < kLabelsMax) image.labels[key.substr(0, kTextMax)] = value.get<std::string>().substr(0, kTextMax);
      }
    }
    const Json environment = config.value("Env", Json::array());
    if (environment.is_array()) {
      for (const Json& line : environment) {
        if (!line.is_string() || image.environment.size() >= kLabelsMax) continue;
        const std::string whole = line.get<std::string>();
        const auto equals = whole.find('=');
        if (equals != std::string::npos) image.environment[whole.substr(0, std::min(equals, kTextMax))] = whole.substr(equals + 1, kTextMax);
      }
    }
  }
  const Json history = json.value("history", Json::array());
  if (history.is_array()) {
    for (const Json& step : history) {
      if (step.is_object() && image.history.size() < kLayersMax) image.history.push_back(text_of(step, "created_by").substr(0, kTextMax));
    }
  }
  return {};
}

PlatformChange platform_change(const io::ImageFacts& was, const io::ImageFacts& now, const std::string& platform) {
  const io::PlatformImage* a = find_platform(was, platform);
  const io::PlatformImage* b = find_platform(now, platform);
  if (a == nullptr && b == nullptr) return {false, "not available"};
  if (a == nullptr) return {true, "newly available"};
  if (b == nullptr) return {true, "no longer available"};
  if (a->digest == b->digest) return {false, "same platform manifest"};
  if (!a->config_digest.empty() && a->config_digest == b->config_digest) return {false, "same config: only the packaging changed"};
  return {true, "another platform manifest"};
}

}  // namespace pawl::registry
