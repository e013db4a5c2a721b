// The launch face of the twin: launch scripts of the field start it unmodified, through small programs of the names that
// they call, which stand before the real ones in PATH.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "cli.h"

namespace pawl::app {
namespace {

struct Shim {
  const char* name;
  const char* text;  ///< {0}: this program
};

constexpr std::array<Shim, 5> kShims = {{
    {"python3", R"sh(#!/bin/sh
# Stands before python3 in PATH: starts a simulated engine for `-m sglang.launch_server`; all else goes to the real one.
if [ "$1" = -m ] && [ "$2" = sglang.launch_server ]; then shift 2; exec '{0}' twin launch sglang -- "$@"; fi
here=$(cd "$(dirname "$0")" && pwd)
IFS=:
for folder in $PATH; do
  if [ "$folder" != "$here" ] && [ -x "$folder/python3" ]; then unset IFS; exec "$folder/python3" "$@"; fi
done
echo "python3: no other python3 in PATH" >&2
exit 127
)sh"},
    {"sglang", R"sh(#!/bin/sh
if [ "$1" = serve ]; then shift; fi
exec '{0}' twin launch sglang -- "$@"
)sh"},
    {"vllm", R"sh(#!/bin/sh
if [ "$1" = serve ]; then shift; fi
exec '{0}' twin launch vllm -- "$@"
)sh"},
    {"trtllm-serve", R"sh(#!/bin/sh
if [ "$1" = serve ]; then shift; fi
exec '{0}' twin launch trtllm -- "$@"
)sh"},
    {"llama-server", R"sh(#!/bin/sh
exec '{0}' twin launch llamacpp -- "$@"
)sh"},
}};

struct Launch {
  std::string engine;
  std::vector<std::string> arguments;
};

/// The arguments of `pawl twin` for those of an engine's launcher.
std::vector<std::string> translated(const Launch& launch) {
  std::vector<std::string> own, engine;
  const auto setting = [](const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr && *value != '\0' ? value : otherwise);
  };
  const std::string profile = setting("PAWL_TWIN_PROFILE", launch.engine == "vllm" ? "vllm-v0.24-8b-h200" : "generic-new");
  const std::string faults = setting("PAWL_TWIN_FAULTS", ""), seed = setting("PAWL_TWIN_SEED", "");
  own = {"--profile", profile, "--engine", launch.engine};
  if (!faults.empty()) own.insert(own.end(), {"--faults", faults});
  if (!seed.empty()) own.insert(own.end(), {"--seed", seed});
  std::string port = launch.engine == "sglang" ? "30000" : launch.engine == "llamacpp" ? "8080" : "8000", model, served;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    std::string name = launch.arguments[i], value;
    bool given = false;
    if (const std::size_t equals = name.find('='); name.starts_with("--") && equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
      given = true;
    } else if (i + 1 < launch.arguments.size()) {
      value = launch.arguments[i + 1];
    }
    const auto is = [&](std::initializer_list<const char*> names) { return std::ranges::find(names, name) != names.end(); };
    const auto take = [&] {
      if (!given) ++i;
    };
    if (is({"--port"})) {
      port = value;
      take();
    } else if (is({"--host"})) {
      own.insert(own.end(), {"--host", value == "0.0.0.0" ? "127.0.0.1" : value});
      take();
    } else if (is({"--tp", "--tp-size", "--tp_size", "--tensor-parallel-size"})) {
      own.insert(own.end(), {"--tp", value});
      take();
    } else if (is({"--ep", "--ep-size", "--ep_size", "--expert-parallel-size"})) {
      own.insert(own.end(), {"--ep", value});
      take();
    } else if (is({"--dp", "--dp-size", "--data-parallel-size"})) {
      own.insert(own.end(), {"--dp", value});
      take();
    } else if (is({"--served-model-name"})) {
      served = value;
      take();
    } else if (is({"--model-path", "--model", "-m"})) {
      model = value;
      take();
    } else if (!name.starts_with("-") && model.empty() && engine.empty()) {
      model = name;  // vllm serve MODEL, trtllm-serve MODEL
    } else {
      engine.push_back(launch.arguments[i]);
    }
  }
  own.insert(own.end(), {"--port", port});
  if (!served.empty() || !model.empty()) own.insert(own.end(), {"--served-model-name", served.empty() ? model : served});
  if (!engine.empty()) {
    own.emplace_back("--");
    own.insert(own.end(), engine.begin(), engine.end());
  }
  return own;
}

}  // namespace

void add_twin_launch_commands(Cli& cli, CLI::App& twin) {
  CLI::App* shims = cli.command(twin, "shims", "Write programs named python3, sglang, vllm, trtllm-serve and llama-server that start a simulated engine",
                                "  pawl twin shims shims\n  PATH=$PWD/shims:$PATH PAWL_TWIN_PROFILE=generic-new bash launch.sh");
  auto folder = std::make_shared<std::string>();
  shims->add_option("folder", *folder, "Folder for them")->required();
  shims->callback([&cli, folder] {
    cli.selected = [folder](World& world, const CommonFlags&) -> Result<ExitStatus> {
      if (world.self.find('\'') != std::string::npos)
        return bad_input(fmt::format("the path of this program holds a quote: {}", world.self), "install it elsewhere");
      for (const Shim& shim : kShims) {
        const std::filesystem::path file = std::filesystem::path(*folder) / shim.name;
        std::error_code error;
        std::filesystem::create_directories(*folder, error);
        if (error) return machine_error(fmt::format("{}: {}", *folder, error.message()));
        std::string text = shim.text;
        if (const std::size_t at = text.find("{0}"); at != std::string::npos) text.replace(at, 3, world.self);
        PAWL_TRY(world.files.write_atomic(file, text));
        std::filesystem::permissions(file,
                                     std::filesystem::perms::owner_all | std::filesystem::perms::group_read | std::filesystem::perms::group_exec |
                                         std::filesystem::perms::others_read | std::filesystem::perms::others_exec,
                                     error);
        if (error) return machine_error(fmt::format("{}: {}", file.string(), error.message()));
        fmt::print("{}\n", file.string());
      }
      fmt::print("Simulated engines stand before the real ones with PATH={}:$PATH; PAWL_TWIN_PROFILE, PAWL_TWIN_FAULTS and PAWL_TWIN_SEED choose.\n", *folder);
      return ExitStatus::kDone;
    };
  });
  CLI::App* launch =
      cli.command(twin, "launch", "Start a simulated engine with the arguments of an engine's launcher",
                  "  pawl twin launch sglang -- --model-path demo --port 8000 --tp 4\n  pawl twin launch vllm -- demo --port 8000 --tensor-parallel-size 2");
  auto what = std::make_shared<Launch>();
  launch->add_option("engine", what->engine, "sglang, vllm, trtllm, llamacpp")->required()->check(CLI::IsMember({"sglang", "vllm", "trtllm", "llamacpp"}));
  launch->add_option("arguments", what->arguments, "After --: what the launcher would get");
  launch->callback([&cli, what] {
    cli.selected = [what](World& world, const CommonFlags& common) -> Result<ExitStatus> {
      std::vector<std::string> command = {world.self, "twin"};
      if (!common.data.empty()) command.insert(command.end(), {"--data", common.data.string()});
      const auto rest = translated(*what);
      command.insert(command.end(), rest.begin(), rest.end());
      std::vector<char*> argv;
      for (std::string& word : command) argv.push_back(word.data());
      argv.push_back(nullptr);
      ::execv(world.self.c_str(), argv.data());  // the engine takes the place of its launcher: one process to watch and to end
      return machine_error(fmt::format("{} could not be started", world.self));
    };
  });
}

}  // namespace pawl::app
