#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/text.h"
#include "cli.h"

namespace pawl::app {
namespace {

using codec::Json;

/// One script of the reference: its path in a checkout, what of pawl answers for it, and its flags.
struct Script {
  const char* path;
  const char* commands;  ///< Python: first argument → words of pawl; the key None where the script has no subcommands
  const char* flags;     ///< Python list: known flags, so that unambiguous beginnings are accepted as argparse does
  const char* renamed;   ///< Python: flag → pawl's, where they differ
};

constexpr const char* kGeneratorFlags =
    R"(["--config-files", "--runner-config", "--no-evals", "--evals-only", "--all-evals", "--runner-node-filter", "--scenario-type", "--model-prefix", "--precision", "--framework", "--runner-type", "--seq-lens", "--step-size", "--min-conc", "--max-conc", "--max-tp", "--max-ep", "--single-node", "--multi-node", "--config-keys", "--conc"])";

constexpr Script kScripts[] = {
    {"utils/matrix_logic/generate_sweep_configs.py",
     R"({"full-sweep": ["matrix", "full-sweep", "--compat"], "test-config": ["matrix", "test-config", "--compat"]})", kGeneratorFlags, "{}"},
    {"utils/process_changelog.py", R"({None: ["changelog", "process", "--compat", "--repo", "."]})",
     R"(["--base-ref", "--head-ref", "--changelog-file", "--trim-conc", "--all-evals", "--evals-only"])", R"({"--changelog-file": "--path"})"},
    {"utils/validate_perf_changelog.py", R"({None: ["changelog", "check", "--compat", "--repo", "."]})",
     R"(["--base-ref", "--head-ref", "--changelog-file", "--all-evals", "--evals-only"])", R"({"--changelog-file": "--path"})"},
    {"utils/prepare_perf_changelog_merge.py",
     R"({"canonicalize": ["changelog", "canonicalize", "--compat"], "resolve-conflict": ["changelog", "merge", "--compat", "--repo", "."]})",
     R"(["--base-ref", "--pr-number", "--changelog-file", "--repo"])",
     R"({"--pr-number": "--number", "--changelog-file": "--path", "--repo": "--repository"})"},
    {"utils/ci_priority.py", R"({None: ["priority", "--compat"]})",
     R"(["--input", "--config", "--policy", "--event-name", "--labels-json", "--queue-namespace", "--pr-number", "--criteria-json"])", "{}"},
};

std::string wrapper(const Script& script, const std::string& program) {
  return fmt::format(R"PY(#!/usr/bin/env python3
"""Written by `pawl compat install`: answers for the script of this name. PAWL names another program than the one found then."""
import os
import sys

COMMANDS = {commands}
FLAGS = {flags}
RENAMED = {renamed}


def words(arguments):
    for word in arguments:
        flag, equals, value = word.partition("=")
        if flag.startswith("--"):
            near = [known for known in FLAGS if known.startswith(flag)]
            if flag not in FLAGS and len(near) == 1:
                flag = near[0]
            word = RENAMED.get(flag, flag) + equals + value
        yield word


arguments = sys.argv[1:]
command = COMMANDS.get(None)
if command is None:
    command = COMMANDS.get(arguments[0] if arguments else "")
    if command is None:
        asked = arguments[:1] in (["-h"], ["--help"])
        print("commands: " + ", ".join(COMMANDS), file=sys.stdout if asked else sys.stderr)
        sys.exit(0 if asked else 2)
    arguments = arguments[1:]
pawl = os.environ.get("PAWL", {program})
try:
    os.execv(pawl, [pawl, *command, *words(arguments)])
except OSError as trouble:
    sys.exit(f"ERROR: cannot run {{pawl}}: {{trouble}}")
)PY",
                     fmt::arg("commands", script.commands), fmt::arg("flags", script.flags), fmt::arg("renamed", script.renamed),
                     fmt::arg("program", codec::write_json(Json(program), codec::JsonForm::kPyCompact)));
}

struct InstallFlags {
  std::string folder;
  bool force = false;
};

Result<ExitStatus> install(World& world, const CommonFlags& common, const InstallFlags& flags) {
  const std::filesystem::path folder(flags.folder);
  std::vector<std::string> in_the_way;
  for (const Script& script : kScripts) {
    const auto path = folder / script.path;
    if (!world.files.exists(path)) continue;
    PAWL_ASSIGN(const std::string bytes, world.files.read(path));
    if (!bytes.contains("Written by `pawl compat install`")) in_the_way.push_back(path.string());
  }
  if (!in_the_way.empty() && !flags.force)
    return Error{ErrorClass::kConflict, ExitStatus::kBadInput, fmt::format("there are other files: {}", join(in_the_way, ", ")), "--force replaces them"};
  Json written = Json::array();
  for (const Script& script : kScripts) {
    const auto path = folder / script.path;
    PAWL_TRY(world.files.make_folder(path.parent_path()));
    PAWL_TRY(world.files.write_atomic(path, wrapper(script, world.self)));
    std::error_code trouble;
    using std::filesystem::perms;
    std::filesystem::permissions(path, perms::owner_exec | perms::group_exec | perms::others_exec, std::filesystem::perm_options::add, trouble);
    written.push_back(path.string());
  }
  if (common.json) {
    print_json({{"schema", "pawl.compat-install/1"}, {"written", written}, {"program", world.self}});
  } else {
    for (const Json& path : written) fmt::print("{}\n", path.get<std::string>());
  }
  return ExitStatus::kDone;
}

}  // namespace

void add_compat_commands(Cli& cli) {
  CLI::App* compat = cli.root.add_subcommand("compat", "Stand in for the reference's programs")->require_subcommand(1);
  auto flags = std::make_shared<InstallFlags>();
  CLI::App* app = cli.command(*compat, "install", "Write small wrappers under the names and flags of the reference's scripts, so that a CI can call pawl",
                              "  pawl compat install CHECKOUT\n  python3 CHECKOUT/utils/process_changelog.py --base-ref origin/main --head-ref HEAD "
                              "--changelog-file perf-changelog.yaml");
  app->add_option("folder", flags->folder, "Root of a checkout")->required();
  app->add_flag("--force", flags->force, "Replace files that are there");
  app->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return install(world, common, *flags); }; });
}

}  // namespace pawl::app
