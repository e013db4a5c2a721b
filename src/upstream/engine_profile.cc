#include "upstream/engine_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "codec/describe.h"
#include "codec/yaml.h"

namespace pawl::upstream {
namespace {

constexpr std::string_view kFolder = "upstream/";

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Keys that a file leaves out get their empty form, so that profiles say only what they have to say.
template <class T>
void fill(codec::Json& json) {
  const codec::Json empty = codec::to_json(T{});
  for (auto it = empty.begin(); it != empty.end(); ++it) {
    if (!json.contains(it.key())) json[it.key()] = it.value();
  }
}

template <class T>
void fill_all(codec::Json& json, const char* key) {
  if (!json.contains(key) || !json[key].is_array()) return;
  for (codec::Json& item : json[key]) {
    if (item.is_object()) fill<T>(item);
  }
}

Result<codec::Json> read_yaml(const io::Assets& assets, const std::string& file) {
  PAWL_ASSIGN(std::string text, assets.read(file));
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(std::move(text), "data/" + file));
  return codec::yaml_value(document, document.root);
}

Result<EngineProfile> parse_profile(codec::Json json, const std::string& file) {
  if (!json.is_object()) return bad_input(fmt::format("data/{}: a mapping is wanted", file));
  fill_all<ArgumentRule>(json, "arguments");
  fill_all<ResolutionRule>(json, "resolutions");
  for (const char* key : {"command_line", "environment", "dependencies", "endpoints"}) {
    if (!json.contains(key) || !json[key].is_object()) json[key] = codec::Json::object();
  }
  fill<CommandLine>(json["command_line"]);
  fill<EnvironmentRule>(json["environment"]);
  fill<DependencyRule>(json["dependencies"]);
  fill<EndpointRule>(json["endpoints"]);
  fill<EngineProfile>(json);
  PAWL_ASSIGN(EngineProfile profile, codec::from_json<EngineProfile>(json, "data/" + file));
  if (profile.schema != "pawl.upstream-engine/1")
    return bad_input(fmt::format("data/{}: schema is \"{}\", wanted pawl.upstream-engine/1", file, profile.schema));
  return profile;
}

}  // namespace

std::vector<std::string> profile_names(const io::Assets& assets) {
  std::vector<std::string> names;
  for (const std::string& file : assets.list(kFolder)) {
    const std::string name = file.substr(kFolder.size());
    if (name.ends_with(".yaml") && name != "hardware.yaml") names.push_back(name.substr(0, name.size() - 5));
  }
  return names;
}

Result<EngineProfile> load_profile(const io::Assets& assets, const std::string& name) {
  const std::string wanted = lower(name);
  const std::vector<std::string> names = profile_names(assets);
  for (const std::string& file : names) {
    const std::string path = fmt::format("{}{}.yaml", kFolder, file);
    PAWL_ASSIGN(codec::Json json, read_yaml(assets, path));
    PAWL_ASSIGN(EngineProfile profile, parse_profile(std::move(json), path));
    const auto is = [&](const std::string& other) { return lower(other) == wanted; };
    if (is(file) || is(profile.engine) || std::ranges::any_of(profile.frameworks, is) || std::ranges::any_of(profile.packages, is)) return profile;
  }
  return not_found(fmt::format("no engine \"{}\" among data/upstream", name), "there are: " + join(names, ", "));
}

Result<HardwareTable> load_hardware(const io::Assets& assets) {
  PAWL_ASSIGN(const codec::Json json, read_yaml(assets, std::string(kFolder) + "hardware.yaml"));
  return codec::from_json<HardwareTable>(json, "data/upstream/hardware.yaml");
}

bool reads_help_only(const EngineProfile& profile) {
  return !profile.arguments.empty() && std::ranges::all_of(profile.arguments, [](const ArgumentRule& rule) { return rule.kind == "help"; });
}

std::string family_of(const HardwareTable& table, const std::string& gpu) {
  const std::string name = lower(gpu);
  const auto whole = table.families.find(name);
  if (whole != table.families.end()) return whole->second;
  const auto part = table.families.find(name.substr(0, name.find('-')));
  return part != table.families.end() ? part->second : std::string();
}

}  // namespace pawl::upstream
