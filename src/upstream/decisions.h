#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "upstream/argument_schema.h"
#include "upstream/engine_profile.h"
#include "upstream/python_program.h"

namespace pawl::upstream {

/// A condition that must hold (`wanted`) or must not for the code behind it to run.
struct Guard {
  py::Expr condition;
  bool wanted = true;
  Scope scope;
};

/// One place where an engine sets a field by itself.
struct Decision {
  std::string field, value_text;
  py::Expr value;
  std::vector<Guard> guards;               ///< all of them, from the outermost inwards
  std::vector<std::string> architectures;  ///< only for models of these; empty: any
  std::string function;
  Scope scope;
  Place place;
};

/// A place that calls a function of the resolution code, by the conditions there.
struct CallSite {
  std::vector<Guard> guards;
  std::string function;  ///< the one that it stands in
};

struct DecisionSet {
  std::vector<Decision> decisions;
  std::map<std::string, std::vector<CallSite>> calls;  ///< function → where it is called, within the resolution code
};

/// Every decision about one of `fields`, by the profile's resolution rules. Early returns count as conditions of what
/// follows them.
[[nodiscard]] DecisionSet extract_decisions(const SourceTree& tree, const EngineProfile& profile, Program& program, const std::set<std::string>& fields);

/// What is known of a field before an engine decides anything.
struct FieldValue {
  std::optional<codec::Json> value;  ///< absent: set, but not to what is known here
  bool pinned = false;               ///< by the recipe
};

/// The circumstances of one recipe. A field that is not there is unknown.
struct Circumstances {
  std::map<std::string, FieldValue> fields;
  std::string family;        ///< GPU family, "sm90"; empty: unknown
  std::string architecture;  ///< of the model; empty: unknown
};

/// What made a condition false, for people and for classes: "flag:x", "hardware:is_sm100", "model".
struct Truth {
  std::optional<bool> value;
  std::vector<std::string> reasons;
  std::vector<std::string> unknown = {};  ///< conditions, as written, that could not be worked out
};

/// Three-valued: known true, known false, unknown.
class ConditionReader {
 public:
  /// `calls` may be null: then every function counts as called.
  ConditionReader(const EngineProfile& profile, Program& program, const Circumstances& circumstances, const std::map<std::string, std::vector<CallSite>>* calls)
      : profile_(profile), program_(program), circumstances_(circumstances), calls_(calls) {}
  /// Whether a decision's code runs: its own conditions, and those of the places that call its function (any of them will
  /// do). Its reasons name what stops it, when something does.
  Truth runs(const Decision& decision);
  Truth truth(const py::Expr& condition, const Scope& scope, int depth = 0);

 private:
  struct Known {
    std::optional<codec::Json> value;  ///< absent: unknown
    bool not_null = false;             ///< known to be there, whatever it is
    std::vector<std::string> reasons;
  };
  const EngineProfile& profile_;
  Program& program_;
  const Circumstances& circumstances_;
  const std::map<std::string, std::vector<CallSite>>* calls_;
  std::map<std::string, Truth> reached_;

  Truth all_of(const std::vector<Guard>& guards);
  Truth reach(const std::string& function, int depth);
  Known known(const py::Expr& expr, const Scope& scope, int depth);
  Truth compare(const py::Expr& expr, const Scope& scope, int depth);
};

/// The field that an expression reads ("tp_size" for `self.tp_size`), by the profile's holders; empty for others.
[[nodiscard]] std::string field_read(const py::Expr& expr, const EngineProfile& profile);

}  // namespace pawl::upstream
