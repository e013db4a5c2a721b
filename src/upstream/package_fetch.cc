#include "upstream/package_fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "upstream/dependencies.h"

namespace pawl::upstream {
namespace {

bool plain(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == '+' || c == '!'; }) &&
         text.front() != '-';
}

std::string last_lines(const io::Files& files, const std::filesystem::path& log) {
  const auto text = files.read(log, 1 << 20);
  if (!text) return {};
  std::string last;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.find("ERROR") != std::string_view::npos || last.empty()) last = std::string(trim(line));
  }
  return last.substr(0, 300);
}

}  // namespace

Result<std::filesystem::path> find_package(const io::Files& files, const std::string& name, const std::string& version, const std::filesystem::path& cache) {
  const auto missing = [&] { return not_found(fmt::format("{}: no {} {}", cache.string(), name, version)); };
  if (!files.exists(cache)) return missing();
  PAWL_ASSIGN(const std::vector<std::string> paths, files.list_tree(cache));
  std::string source;
  for (const std::string& path : paths) {
    const bool wheel = path.ends_with(".whl");
    if (path.find('/') != std::string::npos || (!wheel && !path.ends_with(".tar.gz"))) continue;
    std::string stem = wheel ? path : path.substr(0, path.size() - 7);
    const std::size_t dash = wheel ? path.find('-') : stem.rfind('-');
    if (dash == std::string::npos || normal_package(path.substr(0, dash)) != normal_package(name)) continue;
    const std::string rest = stem.substr(dash + 1);
    if (rest.substr(0, wheel ? rest.find('-') : std::string::npos) != version) continue;
    if (wheel) return cache / path;
    source = path;
  }
  if (source.empty()) return missing();
  return cache / source;
}

Result<std::filesystem::path> fetch_package(io::Processes& processes, const io::Files& files, const std::string& name, const std::string& version,
                                            const std::filesystem::path& cache, const std::string& python, std::stop_token stop) {
  if (!plain(name) || !plain(version)) return bad_input(fmt::format("\"{}=={}\" is no package and version", name, version));
  if (auto there = find_package(files, name, version, cache)) return there;
  PAWL_TRY(files.make_folder(cache));
  const std::filesystem::path log = cache / fmt::format("{}-{}.log", name, version);
  // Wheels are per Python and per platform; the sources inside are the same, so the first that exists will do.
  std::string said;
  for (const char* version_of_python : {"3.11", "3.12", "3.10", "3.13"}) {
    io::ProcessSpec spec;
    spec.argv = {python,
                 "-m",
                 "pip",
                 "download",
                 "--quiet",
                 "--disable-pip-version-check",
                 "--no-input",
                 "--no-deps",
                 "--only-binary",
                 ":all:",
                 "--python-version",
                 version_of_python,
                 "--implementation",
                 "cp"};
    for (const char* platform : {"manylinux_2_39_x86_64", "manylinux_2_35_x86_64", "manylinux_2_34_x86_64", "manylinux_2_31_x86_64", "manylinux_2_28_x86_64",
                                 "manylinux_2_17_x86_64", "manylinux2014_x86_64", "linux_x86_64", "any"}) {
      spec.argv.insert(spec.argv.end(), {"--platform", platform});
    }
    spec.argv.insert(spec.argv.end(), {"--dest", cache.string(), fmt::format("{}=={}", name, version)});
    spec.output_file = log;
    spec.ends_with_parent = true;
    auto id = processes.launch(spec);
    if (!id) return std::move(id).error().advise("install Python with pip, or put the wheel into --cache yourself");
    PAWL_ASSIGN(const auto end, processes.wait(*id, Seconds(600), stop));
    if (!end) {
      PAWL_TRY(processes.end_group(*id, Seconds(2)));
      if (stop.stop_requested()) return cancelled();
      return peer_error(fmt::format("downloading {} {} took more than ten minutes", name, version));
    }
    if (end->ok()) {
      if (files.exists(log)) PAWL_TRY(files.remove_tree(log));
      return find_package(files, name, version, cache);
    }
    said = last_lines(files, log);
    if (said.find("No matching distribution") == std::string::npos && said.find("Could not find") == std::string::npos) break;
  }
  if (said.find("No matching distribution") != std::string::npos || said.find("Could not find") != std::string::npos) {
    return not_found(fmt::format("{} {} has no wheel on the package index", name, version),
                     "give a folder, a source archive or git:REPOSITORY@REVISION instead");
  }
  return peer_error(fmt::format("downloading {} {}: {}", name, version, said),
                    fmt::format("pip's output: {}; or put the wheel into --cache yourself", log.string()));
}

}  // namespace pawl::upstream
