#include "upstream/decisions.h"

#include <algorithm>

#include "base/text.h"
#include "upstream/clip.h"

namespace pawl::upstream {
namespace {

using codec::Json;
using py::Expr;
using py::ExprKind;
using py::Stmt;
using py::StmtKind;

bool any_match(const std::vector<std::string>& patterns, std::string_view text) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return glob_match(pattern, text); });
}

bool ends_function(const std::vector<Stmt>& body) {
  if (body.empty()) return false;
  const Stmt& last = body.back();
  if (last.kind == StmtKind::kReturn || last.kind == StmtKind::kRaise) return true;
  if (last.kind != StmtKind::kIf || last.branches.empty() || last.branches.back().condition.kind != ExprKind::kTrue) return false;
  return std::ranges::all_of(last.branches, [](const py::Branch& branch) { return ends_function(branch.body); });
}

class Collector {
 public:
  Collector(const ResolutionRule& rule, const std::set<std::string>& fields) : rule_(rule), fields_(fields) {}

  std::vector<Decision> decisions;
  std::map<std::string, std::vector<CallSite>> calls;

  void file(const std::string& path, const std::vector<Stmt>& body, const Stmt* cls) {
    for (const Stmt& stmt : body) {
      if (stmt.kind == StmtKind::kClass) {
        file(path, stmt.body, &stmt);
      } else if (stmt.kind == StmtKind::kFunction) {
        function(path, stmt, cls);
      }
    }
  }

 private:
  const ResolutionRule& rule_;
  const std::set<std::string>& fields_;
  std::vector<std::string> architectures_;

  void function(const std::string& path, const Stmt& stmt, const Stmt* cls) {
    architectures_.clear();
    for (const Expr& decorator : stmt.decorators) {
      if (std::ranges::find(rule_.models, decorator.called()) == rule_.models.end()) continue;
      for (std::size_t i = 1; i < decorator.items.size(); ++i) {
        if (decorator.items[i].kind == ExprKind::kText) architectures_.push_back(decorator.items[i].text);
      }
    }
    std::vector<Guard> guards;
    block(stmt.body, {path, cls, &stmt}, guards);
  }

  /// `guards` is back to what it was when this returns.
  void block(const std::vector<Stmt>& body, const Scope& scope, std::vector<Guard>& guards) {
    const std::size_t outer = guards.size();
    for (const Stmt& stmt : body) {
      switch (stmt.kind) {
        case StmtKind::kIf:
          branches(stmt, scope, guards);
          break;
        case StmtKind::kBlock:
          block(stmt.body, scope, guards);
          break;
        case StmtKind::kAssign:
          assignment(stmt, scope, guards);
          break;
        case StmtKind::kReturn:
          if (any_match(rule_.returns, scope.function->name)) returned(stmt.value, scope, guards);
          calls_in(stmt.value, scope, guards);
          break;
        case StmtKind::kExpr:
          calls_in(stmt.value, scope, guards);
          break;
        default:
          break;
      }
    }
    guards.resize(outer);
  }

  void branches(const Stmt& stmt, const Scope& scope, std::vector<Guard>& guards) {
    const std::size_t outer = guards.size();
    std::vector<Guard> after;
    for (const py::Branch& branch : stmt.branches) {
      const bool otherwise = branch.condition.kind == ExprKind::kTrue;
      if (!otherwise) guards.push_back({branch.condition, true, scope});
      block(branch.body, scope, guards);
      if (!otherwise) guards.pop_back();
      if (ends_function(branch.body) && !otherwise) {
        // What follows runs only when this branch was not taken: not (earlier ones false and this one true).
        Expr taken = branch.condition;
        for (std::size_t i = guards.size(); i > outer; --i) {
          Expr both{ExprKind::kAnd, {}, {}, {}, branch.condition.line};
          Expr none{ExprKind::kNot, {}, {}, {}, branch.condition.line};
          none.items.push_back(guards[i - 1].condition);
          both.items.push_back(std::move(none));
          both.items.push_back(std::move(taken));
          taken = std::move(both);
        }
        after.push_back({std::move(taken), false, scope});
      }
      if (!otherwise) guards.push_back({branch.condition, false, scope});
    }
    guards.resize(outer);
    for (Guard& guard : after) guards.push_back(std::move(guard));
  }

  void add(const std::string& field, const Expr& value, const Scope& scope, const std::vector<Guard>& guards, int line) {
    if (!fields_.contains(field)) return;
    decisions.push_back({field, py::write(value), value, guards, architectures_, scope.function->name, scope, {scope.file, line}});
  }

  bool is_holder(const Expr& expr) const {
    const std::string name = expr.kind == ExprKind::kCall ? expr.called() : expr.dotted();
    return std::ranges::find(rule_.holders, name) != rule_.holders.end();
  }

  void assignment(const Stmt& stmt, const Scope& scope, const std::vector<Guard>& guards) {
    const Expr& target = stmt.target;
    if (target.kind == ExprKind::kAttribute && is_holder(target.items[0])) add(target.text, stmt.value, scope, guards, stmt.line);
    if (target.kind == ExprKind::kSubscript && target.items.size() == 2 && target.items[1].kind == ExprKind::kText &&
        any_match(rule_.returns, scope.function->name)) {
      add(target.items[1].text, stmt.value, scope, guards, stmt.line);
    }
    if (target.kind == ExprKind::kList) {
      for (std::size_t i = 0; i < target.items.size(); ++i) {
        const Expr& one = target.items[i];
        if (one.kind != ExprKind::kAttribute || !is_holder(one.items[0])) continue;
        const bool same = stmt.value.kind == ExprKind::kList && i < stmt.value.items.size();
        add(one.text, same ? stmt.value.items[i] : stmt.value, scope, guards, stmt.line);
      }
    }
    calls_in(stmt.value, scope, guards);
  }

  void returned(const Expr& value, const Scope& scope, const std::vector<Guard>& guards) {
    if (value.kind != ExprKind::kDict) return;
    for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
      if (value.items[i].kind == ExprKind::kText) add(value.items[i].text, value.items[i + 1], scope, guards, value.items[i].line);
    }
  }

  void calls_in(const Expr& value, const Scope& scope, const std::vector<Guard>& guards) {
    py::each_expr(value, [&](const Expr& expr) {
      const std::string name = expr.called();
      if (name.empty()) return;
      calls[name].push_back({guards, scope.function->name});
      // run_pass(args, function): the function is called there.
      for (std::size_t i = 1; i < expr.items.size(); ++i) {
        if (expr.items[i].kind == ExprKind::kName) calls[expr.items[i].text].push_back({guards, scope.function->name});
      }
      if (std::ranges::find(rule_.declares, name) == rule_.declares.end()) return;
      for (std::size_t i = 1; i < expr.items.size(); ++i) {
        if (!expr.names[i].empty() && !expr.names[i].starts_with('*')) add(expr.names[i], expr.items[i], scope, guards, expr.items[i].line);
        if (expr.names[i] == "**" && expr.items[i].kind == ExprKind::kDict) returned(expr.items[i], scope, guards);
      }
    });
  }
};

std::optional<bool> truthy(const Json& value) {
  if (value.is_null()) return false;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0;
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return !value.empty();
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& one : from) {
    if (std::ranges::find(to, one) == to.end()) to.push_back(one);
  }
}

}  // namespace

std::string field_read(const Expr& expr, const EngineProfile& profile) {
  if (expr.kind == ExprKind::kCall && expr.called() == "getattr" && expr.items.size() > 2 && expr.items[2].kind == ExprKind::kText) return expr.items[2].text;
  if (expr.kind != ExprKind::kAttribute) return {};
  const Expr& object = expr.items[0];
  const std::string name = object.kind == ExprKind::kCall ? object.called() : object.dotted();
  for (const ResolutionRule& rule : profile.resolutions) {
    if (std::ranges::find(rule.holders, name) != rule.holders.end()) return expr.text;
  }
  return {};
}

DecisionSet extract_decisions(const SourceTree& tree, const EngineProfile& profile, Program& program, const std::set<std::string>& fields) {
  DecisionSet all;
  for (const ResolutionRule& rule : profile.resolutions) {
    Collector collector(rule, fields);
    for (const auto& [path, bytes] : tree.files) {
      if (!any_match(rule.files, path)) continue;
      if (const py::Module* module = program.file(path)) collector.file(path, module->body, nullptr);
    }
    for (Decision& decision : collector.decisions) all.decisions.push_back(std::move(decision));
    for (auto& [function, sites] : collector.calls) {
      auto& to = all.calls[function];
      to.insert(to.end(), sites.begin(), sites.end());
    }
  }
  return all;
}

ConditionReader::Known ConditionReader::known(const Expr& expr, const Scope& scope, int depth) {
  if (depth > 12) return {};
  const std::string called = expr.called();
  const std::string last = !called.empty() ? called : expr.kind == ExprKind::kAttribute || expr.kind == ExprKind::kName ? expr.text : std::string();
  if (const auto predicate = profile_.hardware.find(last); predicate != profile_.hardware.end()) {
    if (circumstances_.family.empty()) return {};
    return {Json(std::ranges::find(predicate->second, circumstances_.family) != predicate->second.end()), true, {"hardware:" + last}};
  }
  const std::string written = py::write(expr);
  if (const auto assumed = profile_.assumed.find(written); assumed != profile_.assumed.end()) {
    return {Json(assumed->second == "true"), true, {"assumed:" + written}};
  }
  if (std::ranges::find(profile_.architecture, written) != profile_.architecture.end()) {
    if (circumstances_.architecture.empty()) return {};
    return {Json(circumstances_.architecture), true, {"model"}};
  }
  if (const std::string field = field_read(expr, profile_); !field.empty()) {
    const auto at = circumstances_.fields.find(field);
    if (at == circumstances_.fields.end()) return {};
    return {at->second.value, !at->second.value || !at->second.value->is_null(), {"flag:" + field}};
  }
  if (expr.kind == ExprKind::kName && scope.function != nullptr) {
    if (const Expr* local = local_assignment(*scope.function, expr.text); local != nullptr && local != &expr) {
      if (local->kind == ExprKind::kCompare || local->kind == ExprKind::kAnd || local->kind == ExprKind::kOr || local->kind == ExprKind::kNot) {
        const Truth inner = truth(*local, scope, depth + 1);
        return {inner.value ? std::optional<Json>(*inner.value) : std::nullopt, false, inner.reasons};
      }
      return known(*local, scope, depth + 1);
    }
  }
  return {program_.value(expr, scope), false, {}};
}

Truth ConditionReader::compare(const Expr& expr, const Scope& scope, int depth) {
  Truth all{true, {}};
  for (std::size_t i = 0; i + 1 < expr.items.size(); ++i) {
    const std::string op = i < expr.names.size() ? expr.names[i] : std::string();
    const Known left = known(expr.items[i], scope, depth + 1), right = known(expr.items[i + 1], scope, depth + 1);
    std::optional<bool> one;
    const bool null_right = right.value && right.value->is_null();
    if ((op == "is" || op == "is not" || op == "==" || op == "!=") && null_right && !left.value && left.not_null) {
      one = op == "is not" || op == "!=";
    } else if (left.value && right.value) {
      const Json &a = *left.value, &b = *right.value;
      if (op == "is" || op == "==") one = a == b;
      if (op == "is not" || op == "!=") one = a != b;
      if ((op == "in" || op == "not in") && (b.is_array() || b.is_object())) {
        const bool inside = b.is_array() ? std::ranges::find(b, a) != b.end() : a.is_string() && b.contains(a.get<std::string>());
        one = inside == (op == "in");
      }
      if (a.is_number() && b.is_number()) {
        const double x = a.get<double>(), y = b.get<double>();
        if (op == "<") one = x < y;
        if (op == "<=") one = x <= y;
        if (op == ">") one = x > y;
        if (op == ">=") one = x >= y;
      }
    }
    append(all.reasons, left.reasons);
    append(all.reasons, right.reasons);
    if (!one) {
      all.value.reset();
    } else if (!*one) {
      return {false, all.reasons};
    }
  }
  if (!all.value) all.unknown.push_back(clip(py::write(expr), 80));
  return all;
}

Truth ConditionReader::truth(const Expr& condition, const Scope& scope, int depth) {
  if (depth > 12) return {};
  switch (condition.kind) {
    case ExprKind::kTrue:
      return {true, {}};
    case ExprKind::kFalse:
      return {false, {}};
    case ExprKind::kNot: {
      Truth inner = truth(condition.items.at(0), scope, depth + 1);
      if (inner.value) inner.value = !*inner.value;
      return inner;
    }
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      const bool decisive = condition.kind == ExprKind::kOr;
      const Truth left = truth(condition.items.at(0), scope, depth + 1), right = truth(condition.items.at(1), scope, depth + 1);
      if (left.value == decisive) return left;
      if (right.value == decisive) return right;
      Truth both;
      if (left.value && right.value) both.value = !decisive;
      both.reasons = left.reasons;
      append(both.reasons, right.reasons);
      if (!left.value) append(both.unknown, left.unknown);
      if (!right.value) append(both.unknown, right.unknown);
      return both;
    }
    case ExprKind::kCompare:
      return compare(condition, scope, depth);
    default: {
      const Known value = known(condition, scope, depth);
      if (!value.value) return {std::nullopt, value.reasons, {clip(py::write(condition), 80)}};
      return {truthy(*value.value), value.reasons};
    }
  }
}

Truth ConditionReader::all_of(const std::vector<Guard>& guards) {
  Truth all{true, {}};
  for (const Guard& guard : guards) {
    Truth one = truth(guard.condition, guard.scope);
    if (!one.value) {
      all.value.reset();
      append(all.unknown, one.unknown);
      continue;
    }
    if (*one.value != guard.wanted) return {false, one.reasons};
    append(all.reasons, one.reasons);
  }
  return all;
}

Truth ConditionReader::reach(const std::string& function, int depth) {
  if (calls_ == nullptr || depth > 6) return {true, {}};
  const auto sites = calls_->find(function);
  if (sites == calls_->end()) return {true, {}};
  if (const auto known = reached_.find(function); known != reached_.end()) return known->second;
  reached_[function] = {std::nullopt, {}};  // a function that calls itself is reached from elsewhere
  Truth any{false, {}};
  for (const CallSite& site : sites->second) {
    if (site.function == function) continue;
    Truth one = all_of(site.guards);
    if (one.value != false) {
      const Truth outer = reach(site.function, depth + 1);
      if (outer.value == false) {
        one = outer;
      } else if (!outer.value) {
        one.value.reset();
        append(one.unknown, outer.unknown);
      }
    }
    if (one.value == true) {
      any = {true, one.reasons};
      break;
    }
    if (!one.value) {
      any.value.reset();
      append(any.unknown, one.unknown);
    } else if (any.reasons.empty()) {
      any.reasons = one.reasons;
    }
  }
  return reached_[function] = any;
}

Truth ConditionReader::runs(const Decision& decision) {
  Truth all = all_of(decision.guards);
  if (all.value == false) return all;
  if (!decision.architectures.empty()) {
    if (circumstances_.architecture.empty()) {
      all.value.reset();
      append(all.unknown, {"the model's architecture"});
    } else if (std::ranges::find(decision.architectures, circumstances_.architecture) == decision.architectures.end()) {
      return {false, {"model"}};
    }
  }
  const Truth called = reach(decision.function, 0);
  if (called.value == false) return called;
  if (!called.value) {
    all.value.reset();
    append(all.unknown, called.unknown);
  }
  return all;
}

}  // namespace pawl::upstream
