#pragma once

#include <boost/describe.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/assets.h"

namespace pawl::upstream {

/// How one kind of argument is written in an engine's source. Patterns are shell patterns; `*` crosses slashes.
struct ArgumentRule {
  std::string kind;                    ///< fields (a class's annotated fields), calls (add_argument and the like), clap (Rust), help (--help text)
  std::vector<std::string> files;      ///< paths it is looked for in
  std::vector<std::string> classes;    ///< fields: names of the classes; calls: only inside such classes or functions (empty: anywhere)
  std::vector<std::string> metadata;   ///< fields: calls inside the annotation that hold help, aliases, choices ("Arg"); with it, fields without are no flags
  std::vector<std::string> functions;  ///< calls: names of the functions
  std::vector<std::string> kwargs_of;  ///< calls: functions that give the keywords of every field of a class
  std::string negation;                ///< for switches: what is put before the name to turn them off ("--no-"); empty: none
  std::vector<std::string> negated;    ///< calls: functions whose switches are negatable by themselves
  bool inherited = false;              ///< fields: also those of base classes
};
BOOST_DESCRIBE_STRUCT(ArgumentRule, (), (kind, files, classes, metadata, functions, kwargs_of, negation, negated, inherited))

/// Where an engine decides values that were not given.
struct ResolutionRule {
  std::vector<std::string> files;
  std::vector<std::string> holders;   ///< names of the argument object: self, server_args, cfg…
  std::vector<std::string> declares;  ///< calls whose keywords are decisions
  std::vector<std::string> returns;   ///< names of functions whose returned dicts are decisions (patterns)
  std::vector<std::string> models;    ///< decorators that bind a function to model architectures
};
BOOST_DESCRIBE_STRUCT(ResolutionRule, (), (files, holders, declares, returns, models))

/// What a line of the source turns on: fields that matter only with another one set.
struct Gate {
  std::string fields;  ///< pattern over destinations
  std::string needs;   ///< destination that must have a value other than false, null, "" and its default
};
BOOST_DESCRIBE_STRUCT(Gate, (), (fields, needs))

struct EnvironmentRule {
  std::vector<std::string> prefixes;    ///< of the engine's own names
  std::vector<std::string> files;       ///< where they are declared
  std::vector<std::string> deprecated;  ///< calls that mark a name as superseded
};
BOOST_DESCRIBE_STRUCT(EnvironmentRule, (), (prefixes, files, deprecated))

/// Where versions of other components are pinned.
struct DependencyRule {
  std::vector<std::string> coupled;            ///< names (normalised) whose change matters to measurements
  std::vector<std::string> driver;             ///< environment or label names that state a driver requirement
  std::map<std::string, std::string> aliases;  ///< name in a build file → name of the package
};
BOOST_DESCRIBE_STRUCT(DependencyRule, (), (coupled, driver, aliases))

struct EndpointRule {
  std::vector<std::string> files;
  std::vector<std::string> methods;  ///< names of the calls or decorators: get, post, api_route, add_api_route
};
BOOST_DESCRIBE_STRUCT(EndpointRule, (), (files, methods))

/// How the command line treats what is written.
struct CommandLine {
  std::vector<std::string> launch;                           ///< word sequences that start the engine: "sglang.launch_server", "vllm serve"
  bool prefixes = false;                                     ///< an unambiguous beginning of a flag is taken for it
  bool underscores = false;                                  ///< `_` is taken for `-`
  bool dotted = false;                                       ///< --a.b sets one key of --a
  std::map<std::string, std::vector<std::string>> programs;  ///< launch words → files whose arguments that program has; none: all
};
BOOST_DESCRIBE_STRUCT(CommandLine, (), (launch, prefixes, underscores, dotted, programs))

/// Everything pawl knows about where an engine keeps things: data/upstream/NAME.yaml.
struct EngineProfile {
  std::string schema;                   ///< pawl.upstream-engine/1
  std::string engine;                   ///< "SGLang"
  std::vector<std::string> frameworks;  ///< values of a recipe's `framework`
  std::vector<std::string> packages;    ///< on the package index, the one with the sources first
  std::string repository;               ///< owner/name, for change numbers
  std::vector<std::string> read;        ///< files worth reading
  CommandLine command_line;
  std::vector<ArgumentRule> arguments;
  std::vector<std::string> deprecated_actions;
  std::map<std::string, std::string> default_of;  ///< call → keyword or position of the default in it ("default", "0")
  std::vector<ResolutionRule> resolutions;
  std::map<std::string, std::vector<std::string>> hardware;  ///< predicate name → GPU families for which it is true
  std::vector<std::string> architecture;                     ///< names that hold the model's architecture
  std::map<std::string, std::string> assumed;                ///< predicate or environment reading (source text) → "true" or "false" for every recipe
  std::vector<Gate> gates;
  EnvironmentRule environment;
  DependencyRule dependencies;
  EndpointRule endpoints;
  std::vector<std::string> touched;  ///< paths whose history is looked at
};
BOOST_DESCRIBE_STRUCT(EngineProfile, (),
                      (schema, engine, frameworks, packages, repository, read, command_line, arguments, deprecated_actions, default_of, resolutions, hardware,
                       architecture, assumed, gates, environment, dependencies, endpoints, touched))

/// True when every argument rule reads --help texts: then destinations are not known, and one text is one file.
[[nodiscard]] bool reads_help_only(const EngineProfile& profile);

/// Which generation a recipe's GPU belongs to: data/upstream/hardware.yaml.
struct HardwareTable {
  std::string schema;                           ///< pawl.upstream-hardware/1
  std::map<std::string, std::string> families;  ///< "h200" → "sm90"
};
BOOST_DESCRIBE_STRUCT(HardwareTable, (), (schema, families))

/// The profile for a name: that of the file (sglang), of the engine, of a framework or of a package; letter case does not
/// matter. kNotFound names those that there are; a broken file is an error with its place.
[[nodiscard]] Result<EngineProfile> load_profile(const io::Assets& assets, const std::string& name);
/// Names of the profiles, sorted.
[[nodiscard]] std::vector<std::string> profile_names(const io::Assets& assets);
[[nodiscard]] Result<HardwareTable> load_hardware(const io::Assets& assets);
/// The family of a runner or GPU name ("h200", "h200-dgxc", "b200-nb"): that of its first part; empty when not known.
[[nodiscard]] std::string family_of(const HardwareTable& table, const std::string& gpu);

}  // namespace pawl::upstream
