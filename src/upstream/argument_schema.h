#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <vector>

#include "codec/json.h"

namespace pawl::upstream {

/// A line of a source.
struct Place {
  std::string file;
  int line = 0;
  [[nodiscard]] std::string text() const { return file.empty() ? std::string() : line > 0 ? file + ":" + std::to_string(line) : file; }
};
BOOST_DESCRIBE_STRUCT(Place, (), (file, line))

/// One argument of an engine's command line, as its source defines it.
struct Argument {
  std::vector<std::string> names;                   ///< the name of its own first, then aliases; with dashes
  std::string dest;                                 ///< where the value goes
  std::string type;                                 ///< as the source says it, without Optional and metadata: "int", "List[str]"
  bool takes_value = true;                          ///< false: a switch
  std::string nargs;                                ///< "", "+", "*", "?", a number
  std::optional<std::vector<std::string>> choices;  ///< absent: any value, or not known
  std::optional<codec::Json> fallback;              ///< the default; absent when it does not follow from literals
  std::string fallback_text;                        ///< the default as written; empty when there is none
  bool deprecated = false;
  bool ignored = false;   ///< parsed and thrown away, or refused: it has no effect any more
  std::string successor;  ///< what to write instead, as the source says it: "--x", "--x=auto"; empty when it says nothing
  std::string notice;     ///< the sentence that says so
  std::string help;
  std::string environment;  ///< the name that sets it too
  Place place;
};
BOOST_DESCRIBE_STRUCT(Argument, (),
                      (names, dest, type, takes_value, nargs, choices, fallback, fallback_text, deprecated, ignored, successor, notice, help, environment,
                       place))

/// A name that the engine reads from its environment.
struct EnvironmentName {
  std::string name;
  std::string fallback_text;
  bool deprecated = false;
  std::string successor;  ///< a name or a flag; empty: none
  std::string notice;
  bool declared = false;  ///< in the engine's own list; false: only read somewhere
  Place place;
};
BOOST_DESCRIBE_STRUCT(EnvironmentName, (), (name, fallback_text, deprecated, successor, notice, declared, place))

struct Endpoint {
  std::string method, path;
  Place place;
};
BOOST_DESCRIBE_STRUCT(Endpoint, (), (method, path, place))

/// The command line, environment and endpoints of one version.
struct Schema {
  std::vector<Argument> arguments;
  std::vector<EnvironmentName> environment;
  std::vector<Endpoint> endpoints;
  std::vector<std::string> problems;  ///< what could not be read

  /// By any of its names; null when there is none.
  [[nodiscard]] const Argument* find(const std::string& flag) const;
  /// The one with that destination that is not deprecated, else any; null when there is none.
  [[nodiscard]] const Argument* of_dest(const std::string& dest) const;
  [[nodiscard]] const EnvironmentName* environment_of(const std::string& name) const;
  /// How many option names there are, aliases included.
  [[nodiscard]] std::size_t names() const;
};
BOOST_DESCRIBE_STRUCT(Schema, (), (arguments, environment, endpoints, problems))

}  // namespace pawl::upstream
