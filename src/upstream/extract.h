#pragma once

#include "upstream/argument_schema.h"
#include "upstream/engine_profile.h"
#include "upstream/python_program.h"

namespace pawl::upstream {

/// Reads arguments, environment names and endpoints of one version by the rules of its profile. Never fails: what cannot
/// be read is said in `problems`. `program` must be made from `tree`.
[[nodiscard]] Schema extract_schema(const SourceTree& tree, const EngineProfile& profile, Program& program);

/// The options of an engine's `--help` text (llama.cpp's form: names in the first column, what they do beside or below,
/// "(default: x)", "allowed values: a, b", "(env: NAME)").
[[nodiscard]] std::vector<Argument> arguments_of_help(const std::string& text, const std::string& name);

/// The options of a Rust program's `#[arg(long …)]` fields: names, types, literal defaults, environment names, doc comments.
[[nodiscard]] std::vector<Argument> arguments_of_clap(const std::string& text, const std::string& name);

/// What a sentence says about a flag: "--x is deprecated, use --y instead". `flag` empty when it names none.
struct Notice {
  std::string flag, successor;
  bool ignored = false;
};
[[nodiscard]] Notice read_notice(const std::string& sentence);

}  // namespace pawl::upstream
