#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/catalogue.h"

namespace pawl::plan {

/// One rule that a file of a catalogue breaks.
struct Violation {
  std::string rule;      ///< id of the contract: "M-20"; "type" for a wrong type, "key" for an unknown one, "yaml"
  std::string config;    ///< the config key, empty when it is not about one
  std::string path;      ///< key path inside it: "scenarios.fixed-seq-len[0].search-space[1].tp"
  std::string message;   ///< one sentence; holds the contract's anchor
  std::string expected;  ///< what would have been right; may be empty
  std::string nearest;   ///< the valid name that was probably meant; may be empty
  SourcePlace place;

  /// As an error for whoever stops at the first one: names the config key and `failed validation`.
  [[nodiscard]] Error error() const;
};

/// Every violation of sections 4 and 5 in the entries and the runners file of a loaded catalogue: entries in order, inside
/// an object field errors before cross rules, of the cross rules the first. Empty: the reference accepts it too, except
/// for quoted range ends (O-4), which are refused here.
[[nodiscard]] std::vector<Violation> validate(const Catalogue& catalogue);

/// The same for one recipe alone.
[[nodiscard]] std::vector<Violation> validate_recipe(const Catalogue& catalogue, const Recipe& recipe);

/// The first violation as an error, or nothing. What a generator run does before it generates.
[[nodiscard]] Status check(const Catalogue& catalogue);

/// `validate` on files that may be unreadable as YAML or wrong at the top: everything that can be said is said.
[[nodiscard]] std::vector<Violation> validate_texts(const Layout& layout, const std::map<std::string, std::string>& texts,
                                                    const codec::YamlLimits& limits = {});

}  // namespace pawl::plan
