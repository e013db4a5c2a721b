#pragma once

#include <boost/describe.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "upstream/argument_schema.h"
#include "upstream/engine_profile.h"

namespace pawl::upstream {

/// One flag as a recipe writes it.
struct GivenFlag {
  std::string flag;                 ///< as written, without a value
  std::vector<std::string> values;  ///< words after it or behind `=`; a shell expansion stays as written
  bool literal = true;              ///< false: a value holds an expansion, so it is only known when the script runs
  bool conditional = false;         ///< within an `if`, a loop or an array filled in one
  Place place;
};
BOOST_DESCRIBE_STRUCT(GivenFlag, (), (flag, values, literal, conditional, place))

struct GivenEnvironment {
  std::string name, value;
  Place place;
};
BOOST_DESCRIBE_STRUCT(GivenEnvironment, (), (name, value, place))

/// How a recipe starts its engine.
struct RecipeCommand {
  std::string launch;  ///< which of the profile's launch words it was; empty for logs and texts of flags
  std::vector<GivenFlag> flags;
  std::vector<GivenEnvironment> environment;
  std::map<std::string, codec::Json> resolved;  ///< destination → value, from an engine's own log; empty for scripts
};
BOOST_DESCRIBE_STRUCT(RecipeCommand, (), (launch, flags, environment, resolved))

/// Reads a launch script: the first command with one of the profile's launch words, its arrays and variables of flags, and
/// the environment names that the script sets. kNotFound when no launch command is there. Quotes, continuation lines,
/// `$(…)` and redirections are understood; nothing is executed.
[[nodiscard]] Result<RecipeCommand> read_script(const std::string& text, const EngineProfile& profile, const std::string& name);

/// Reads what an engine logged about itself: `ServerArgs(a=…, …)` or `non-default args: {…}`. Failing that, a text of
/// flags. kNotFound when it holds neither.
[[nodiscard]] Result<RecipeCommand> read_argument_log(const std::string& text, const EngineProfile& profile, const std::string& name);

}  // namespace pawl::upstream
