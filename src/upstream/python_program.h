#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "codec/json.h"
#include "upstream/python_syntax.h"
#include "upstream/source_tree.h"

namespace pawl::upstream {

/// Where an expression stands, so that its names can be looked up. The pointers live as long as the Program.
struct Scope {
  std::string file;
  const py::Stmt* cls = nullptr;
  const py::Stmt* function = nullptr;
};

/// Something with a value, found by its name.
struct Found {
  const py::Expr* value = nullptr;  ///< an assignment's right side
  const py::Stmt* cls = nullptr;    ///< or a class
  Scope scope;                      ///< where its own names are looked up
};

/// The modules of a source tree, parsed when asked for, and what their constants are worth. Nothing is executed: a value
/// is known when it follows from literals, and unknown otherwise. Imports are followed within the tree, at most eight deep.
/// Not thread-safe; keeps a reference to the tree.
class Program {
 public:
  /// `default_of`: see EngineProfile.
  Program(const SourceTree& tree, const std::map<std::string, std::string>& default_of);

  /// The parsed file; null when it is not in the tree or could not be read (then a problem says why).
  const py::Module* file(const std::string& path);
  /// The value of an expression as JSON: texts, numbers, booleans, null, lists, objects. Nothing when it is not known.
  std::optional<codec::Json> value(const py::Expr& expr, const Scope& scope, int depth = 0);
  /// The texts that an annotation allows: Literal[…], also by an alias, also within Optional and `| None`. Nothing when it
  /// allows others too.
  std::optional<std::vector<std::string>> choices(const py::Expr& annotation, const Scope& scope, int depth = 0);
  /// What a name, or a dotted name, stands for.
  std::optional<Found> find(const std::string& dotted, const Scope& scope, int depth = 0);

  /// Files with syntax that was not understood, or that could not be read: one sentence each.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Symbols {
    std::unordered_map<std::string, const py::Expr*> values;
    std::unordered_map<std::string, const py::Stmt*> classes;
    std::unordered_map<std::string, std::pair<std::string, std::string>> imports;  ///< name here → module, name there ("" the module itself)
    std::vector<std::string> stars;
  };
  struct Parsed {
    py::Module module;
    Symbols symbols;
  };

  const SourceTree& tree_;
  const std::map<std::string, std::string>& default_of_;
  std::map<std::string, std::unique_ptr<Parsed>> parsed_;
  std::unordered_map<std::string, std::vector<std::string>> by_name_;  ///< last part of a path → paths
  std::vector<std::string> problems_;

  Parsed* load(const std::string& path);
  static void collect(const std::vector<py::Stmt>& body, Symbols& symbols);
  std::string module_file(const std::string& module, const std::string& from) const;
  std::optional<Found> find_in_file(const std::string& name, const std::string& path, int depth);
  std::optional<codec::Json> call_value(const py::Expr& call, const Scope& scope, int depth);
  std::optional<codec::Json> binary_value(const py::Expr& expr, const Scope& scope, int depth);
};

/// The last assignment to `name` in a function's body, loops and branches included; null when there is none or several.
[[nodiscard]] const py::Expr* local_assignment(const py::Stmt& function, const std::string& name);

}  // namespace pawl::upstream
