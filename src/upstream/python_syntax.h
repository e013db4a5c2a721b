#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// Python source as trees of our own: what an audit reads, without the parser's types. PURE: no file, no clock.
namespace pawl::upstream::py {

enum class ExprKind {
  kName,       ///< `text`
  kAttribute,  ///< items[0].`text`
  kCall,       ///< items[0](items[1…]); names[i] is the keyword of items[i], "*" or "**" for a splat, "" positional
  kText,       ///< a string literal (adjacent ones joined), escapes resolved; `text`
  kFormat,     ///< an f-string: `text` is what is written, with its braces
  kNumber,     ///< `text` as written
  kTrue,
  kFalse,
  kNone,
  kList,       ///< list, tuple or set
  kDict,       ///< items: key, value, key, value…; `**x` has a kOther "**" as its key
  kSubscript,  ///< items[0][items[1…]]
  kNot,
  kAnd,
  kOr,
  kCompare,      ///< items[0] names[0] items[1] names[1] items[2]…
  kBinary,       ///< items[0] names[0] items[1]
  kMinus,        ///< -items[0]
  kConditional,  ///< items[0] if items[1] else items[2]
  kOther,        ///< anything else: `text` is its source
};

struct Expr {
  ExprKind kind = ExprKind::kOther;
  std::string text;
  std::vector<Expr> items;
  std::vector<std::string> names;
  int line = 0;

  /// The value of keyword `name` of a call, or null.
  [[nodiscard]] const Expr* keyword(std::string_view name) const;
  /// "a.b.c" for names and attributes of names; empty for anything else.
  [[nodiscard]] std::string dotted() const;
  /// The last name of what is called: "f" for `a.f(…)` and `f(…)`; empty when it is no call.
  [[nodiscard]] std::string called() const;
};

/// Source text again, with one blank between words: equal for sources that differ in layout and quotes only.
[[nodiscard]] std::string write(const Expr& expr);

enum class StmtKind { kClass, kFunction, kAssign, kIf, kReturn, kRaise, kExpr, kImport, kBlock };

struct Branch;

/// One statement. Loops, `with`, `try` and `match` are a kBlock: their bodies may run, how often is not known.
struct Stmt {
  StmtKind kind = StmtKind::kExpr;
  std::string name;                                          ///< class, function; the module of a kImport ("" for `import x`), with leading dots
  Expr target;                                               ///< kAssign
  Expr annotation;                                           ///< kAssign: kOther with empty text when there is none
  Expr value;                                                ///< kAssign (kOther, empty when none), kReturn, kRaise, kExpr
  std::vector<Expr> decorators;                              ///< kClass, kFunction
  std::vector<Expr> bases;                                   ///< kClass
  std::vector<Stmt> body;                                    ///< kClass, kFunction, kBlock
  std::vector<Branch> branches;                              ///< kIf: if, elif…; an else has a condition of kTrue
  std::vector<std::pair<std::string, std::string>> imports;  ///< kImport: name in the module ("*" too), name here
  int line = 0;
};

struct Branch {
  Expr condition;
  std::vector<Stmt> body;
};

/// A parsed file. `errors`: lines where the grammar gave up; the rest of the file is there all the same.
struct Module {
  std::vector<Stmt> body;
  std::vector<int> errors;
  bool cut_short = false;  ///< nested deeper than kMaxDepth: what lies deeper is a kOther
};

inline constexpr std::size_t kMaxSource = 8u << 20;
inline constexpr int kMaxDepth = 200;

/// Parses one file. Never fails on bad syntax (see `errors`); refuses a text over kMaxSource or one that takes the parser
/// more than ten seconds.
[[nodiscard]] Result<Module> parse(std::string_view source, const std::string& name);

/// Calls `visit` for every expression below `expr`, itself included, outermost first.
template <class F>
void each_expr(const Expr& expr, F&& visit) {
  visit(expr);
  for (const Expr& item : expr.items) each_expr(item, visit);
}

}  // namespace pawl::upstream::py
