#include "image_sources.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "base/text.h"

namespace pawl::app {
namespace {

/// What pip is configured to use, or else its own default: no address of an index is built in.
Result<std::string> index_of_pip(World& world) {
  for (const char* name : {"PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return std::string(value);
  }
  const std::filesystem::path answer = std::filesystem::temp_directory_path() / fmt::format("pawl-pip-{}", ::getpid());
  constexpr const char* kAsk =
      "import subprocess, sys\n"
      "p = subprocess.run([sys.executable, '-m', 'pip', 'config', 'get', 'global.index-url'], capture_output=True, text=True)\n"
      "u = p.stdout.strip()\n"
      "if not u:\n"
      "    from pip._internal.models.index import PyPI\n"
      "    u = PyPI.simple_url\n"
      "print('index=' + u)\n";
  const auto child = world.processes.launch({.argv = {"python3", "-c", kAsk}, .output_file = answer, .ends_with_parent = true});
  std::string url;
  if (child) {
    static_cast<void>(world.processes.wait(*child, Seconds{20}, world.stop));
    if (const auto text = world.files.read(answer, 1u << 16)) {
      for (const std::string_view line : split(*text, '\n')) {
        if (line.starts_with("index=")) url = trim(line.substr(6));
      }
    }
  }
  static_cast<void>(world.files.remove_tree(answer));
  if (url.empty()) return bad_input("no package index is known: pip is not installed here", "give --index URL, or set PIP_INDEX_URL");
  return url;
}

std::optional<std::string> auth_file() {
  for (const auto& [variable, tail] : {std::pair("REGISTRY_AUTH_FILE", ""), std::pair("DOCKER_CONFIG", "/config.json"),
                                       std::pair("XDG_RUNTIME_DIR", "/containers/auth.json"), std::pair("HOME", "/.docker/config.json")}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    const std::string path = std::string(value) + tail;
    if (::access(path.c_str(), R_OK) == 0) return path;
  }
  return std::nullopt;
}

}  // namespace

void RegistryFlags::add_to(CLI::App& app) {
  app.add_option("--auth", auth, "File with registry accounts, as docker login and podman login write it; default: theirs, if it is there");
  app.add_option("--registries", registries, "Further registries and mirrors (YAML, as data/images/registries.yaml)");
  app.add_option("--index", index, "Package index for pypi: names; default: what pip uses");
  app.add_option("--tries", tries, "Tries of one request when the registry is busy or a transfer breaks")->capture_default_str()->check(CLI::Range(1, 20));
  app.add_option("--cache", cache, "Folder for answers that need not be asked for again (ETag)");
}

Result<std::unique_ptr<ImageDesk>> ImageDesk::open(World& world, const RegistryFlags& flags) {
  auto desk = std::unique_ptr<ImageDesk>(new ImageDesk());
  PAWL_ASSIGN(const std::string grammars, world.assets->read("images/grammars.yaml"));
  PAWL_ASSIGN(desk->grammars_, images::TagGrammars::parse(grammars, "images/grammars.yaml"));
  PAWL_ASSIGN(const std::string retention, world.assets->read("images/retention.yaml"));
  PAWL_ASSIGN(desk->retention_, images::parse_retention(retention, "images/retention.yaml"));
  PAWL_ASSIGN(const std::string known, world.assets->read("images/registries.yaml"));
  std::string own;
  if (!flags.registries.empty()) {
    PAWL_ASSIGN(own, world.files.read(flags.registries, 1u << 20));
  }
  PAWL_ASSIGN(desk->book_, registry::RegistryBook::parse(known, own, flags.registries));
  registry::Credentials credentials;
  if (const auto path = flags.auth.empty() ? auth_file() : std::optional(flags.auth)) {
    PAWL_ASSIGN(const std::string text, world.files.read(*path, 1u << 20));
    PAWL_ASSIGN(credentials, registry::Credentials::parse(text, *path));
  }
  desk->session_ = std::make_unique<registry::WebSession>(http::fetch, world.clock, std::move(credentials), registry::RetryPolicy{.tries = flags.tries},
                                                          &world.files, flags.cache);
  const std::string index = flags.index;
  desk->sources_ = std::make_unique<registry::ImageSources>(desk->book_, *desk->session_, world.files,
                                                            [&world, index] { return index.empty() ? index_of_pip(world) : Result<std::string>(index); });
  return desk;
}

Result<Nanos> parse_age(const std::string& text, const char* flag) {
  const auto bad = [&] { return usage_error(fmt::format("{} {}: not a duration", flag, text), "write 90s, 30m, 12h or 3d"); };
  if (text.empty()) return bad();
  const auto number = parse_double(std::string_view(text).substr(0, text.size() - 1));
  const std::map<char, double> units = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
  const auto unit = units.find(text.back());
  if (!number || *number < 0 || *number > 1e6 || unit == units.end()) return bad();
  return Nanos{std::llround(*number * unit->second * 1e9)};
}

}  // namespace pawl::app
