#include "upstream/python_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace pawl::upstream {
namespace {

using codec::Json;
using py::Expr;
using py::ExprKind;
using py::Stmt;
using py::StmtKind;

constexpr int kMaxLookups = 8;
constexpr int kMaxValueDepth = 40;

std::optional<Json> number(std::string text) {
  std::erase(text, '_');
  if (const auto whole = parse_int(text)) return Json(*whole);
  if (const auto real = parse_double(text)) return Json(*real);
  return std::nullopt;
}

const Expr* class_member(const Stmt& cls, const std::string& name) {
  const Expr* found = nullptr;
  for (const Stmt& stmt : cls.body) {
    if (stmt.kind == StmtKind::kAssign && stmt.target.kind == ExprKind::kName && stmt.target.text == name && !stmt.value.text.empty()) found = &stmt.value;
    if (stmt.kind == StmtKind::kAssign && stmt.target.kind == ExprKind::kName && stmt.target.text == name && stmt.value.kind != ExprKind::kOther)
      found = &stmt.value;
  }
  return found;
}

void assignments(const std::vector<Stmt>& body, const std::string& name, std::vector<const Expr*>& out) {
  for (const Stmt& stmt : body) {
    if (stmt.kind == StmtKind::kAssign && stmt.target.kind == ExprKind::kName && stmt.target.text == name) out.push_back(&stmt.value);
    if (stmt.kind == StmtKind::kBlock) assignments(stmt.body, name, out);
    for (const py::Branch& branch : stmt.branches) assignments(branch.body, name, out);
  }
}

}  // namespace

const Expr* local_assignment(const Stmt& function, const std::string& name) {
  std::vector<const Expr*> found;
  assignments(function.body, name, found);
  return found.size() == 1 ? found.front() : nullptr;
}

Program::Program(const SourceTree& tree, const std::map<std::string, std::string>& default_of) : tree_(tree), default_of_(default_of) {
  for (const auto& [path, bytes] : tree.files) {
    if (path.ends_with(".py")) by_name_[path.substr(path.rfind('/') + 1)].push_back(path);
  }
}

void Program::collect(const std::vector<Stmt>& body, Symbols& symbols) {
  for (const Stmt& stmt : body) {
    switch (stmt.kind) {
      case StmtKind::kAssign:
        if (stmt.target.kind == ExprKind::kName) symbols.values[stmt.target.text] = &stmt.value;
        break;
      case StmtKind::kClass:
        symbols.classes[stmt.name] = &stmt;
        break;
      case StmtKind::kImport:
        for (const auto& [there, here] : stmt.imports) {
          if (there == "*") {
            symbols.stars.push_back(stmt.name);
          } else if (stmt.name.empty()) {
            symbols.imports[here] = {there, ""};
          } else {
            symbols.imports[here] = {stmt.name, there};
          }
        }
        break;
      case StmtKind::kIf:
        for (const py::Branch& branch : stmt.branches) collect(branch.body, symbols);
        break;
      case StmtKind::kBlock:
        collect(stmt.body, symbols);
        break;
      default:
        break;
    }
  }
}

Program::Parsed* Program::load(const std::string& path) {
  const auto known = parsed_.find(path);
  if (known != parsed_.end()) return known->second.get();
  const auto source = tree_.files.find(path);
  if (source == tree_.files.end()) return nullptr;
  auto module = py::parse(source->second, path);
  auto& slot = parsed_[path];
  if (!module) {
    problems_.push_back(module.error().message);
    return nullptr;
  }
  if (!module->errors.empty()) {
    problems_.push_back(fmt::format("{}:{}: syntax that the grammar does not know ({} places); what stands there is not known", path, module->errors.front(),
                                    module->errors.size()));
  }
  if (module->cut_short) problems_.push_back(fmt::format("{}: nested deeper than {} levels; what lies deeper is not known", path, py::kMaxDepth));
  slot = std::make_unique<Parsed>();
  slot->module = std::move(*module);
  collect(slot->module.body, slot->symbols);
  return slot.get();
}

const py::Module* Program::file(const std::string& path) {
  const Parsed* parsed = load(path);
  return parsed != nullptr ? &parsed->module : nullptr;
}

std::string Program::module_file(const std::string& module, const std::string& from) const {
  std::string wanted;
  std::string base;
  if (module.starts_with('.')) {
    std::size_t dots = 0;
    while (dots < module.size() && module[dots] == '.') ++dots;
    base = from;
    for (std::size_t i = 0; i < dots; ++i) base = base.rfind('/') == std::string::npos ? std::string() : base.substr(0, base.rfind('/'));
    wanted = replace_all(module.substr(dots), ".", "/");
    const std::string stem = base.empty() ? wanted : wanted.empty() ? base : base + "/" + wanted;
    for (const std::string& path : {stem + ".py", stem + "/__init__.py"}) {
      if (tree_.files.contains(path)) return path;
    }
    return {};
  }
  wanted = replace_all(module, ".", "/");
  std::string best;
  for (const std::string& path : {wanted + ".py", wanted + "/__init__.py"}) {
    const auto named = by_name_.find(path.substr(path.rfind('/') + 1));
    if (named == by_name_.end()) continue;
    for (const std::string& candidate : named->second) {
      if (candidate != path && !candidate.ends_with("/" + path)) continue;
      if (best.empty() || candidate.size() < best.size()) best = candidate;
    }
  }
  return best;
}

std::optional<Found> Program::find_in_file(const std::string& name, const std::string& path, int depth) {
  if (depth > kMaxLookups) return std::nullopt;
  const Parsed* parsed = load(path);
  if (parsed == nullptr) return std::nullopt;
  const Symbols& symbols = parsed->symbols;
  if (const auto cls = symbols.classes.find(name); cls != symbols.classes.end()) return Found{nullptr, cls->second, {path, nullptr, nullptr}};
  if (const auto value = symbols.values.find(name); value != symbols.values.end()) return Found{value->second, nullptr, {path, nullptr, nullptr}};
  if (const auto import = symbols.imports.find(name); import != symbols.imports.end() && !import->second.second.empty()) {
    const std::string target = module_file(import->second.first, path);
    if (!target.empty()) return find_in_file(import->second.second, target, depth + 1);
    return std::nullopt;
  }
  for (const std::string& star : symbols.stars) {
    const std::string target = module_file(star, path);
    if (target.empty() || target == path) continue;
    if (auto found = find_in_file(name, target, depth + 1)) return found;
  }
  return std::nullopt;
}

std::optional<Found> Program::find(const std::string& dotted, const Scope& scope, int depth) {
  if (depth > kMaxLookups || dotted.empty()) return std::nullopt;
  const std::size_t dot = dotted.find('.');
  const std::string first = dotted.substr(0, dot);
  std::optional<Found> found;
  if (scope.function != nullptr) {
    if (const Expr* local = local_assignment(*scope.function, first)) found = Found{local, nullptr, scope};
  }
  if (!found && scope.cls != nullptr && dot == std::string::npos) {
    if (const Expr* member = class_member(*scope.cls, first)) found = Found{member, nullptr, {scope.file, scope.cls, nullptr}};
  }
  if (!found) found = find_in_file(first, scope.file, depth);
  if (!found && dot != std::string::npos) {
    // A module: `import a.b` or `from a import b`, then a name in it.
    const Parsed* parsed = load(scope.file);
    if (parsed != nullptr) {
      const auto import = parsed->symbols.imports.find(first);
      if (import != parsed->symbols.imports.end()) {
        const auto& [module, name] = import->second;
        const std::string target = module_file(name.empty() ? module : module + (module.ends_with('.') ? "" : ".") + name, scope.file);
        if (!target.empty()) return find(dotted.substr(dot + 1), {target, nullptr, nullptr}, depth + 1);
      }
    }
    return std::nullopt;
  }
  if (!found || dot == std::string::npos) return found;
  const std::string rest = dotted.substr(dot + 1);
  if (found->cls == nullptr) return std::nullopt;
  const std::size_t next = rest.find('.');
  if (const Expr* member = class_member(*found->cls, rest.substr(0, next))) {
    // `.value` of an enum's member is the member itself here.
    if (next == std::string::npos || rest.substr(next + 1) == "value") return Found{member, nullptr, {found->scope.file, found->cls, nullptr}};
    return std::nullopt;
  }
  for (const Expr& base : found->cls->bases) {
    const auto parent = find(base.dotted(), {found->scope.file, nullptr, nullptr}, depth + 1);
    if (!parent || parent->cls == nullptr) continue;
    if (const Expr* member = class_member(*parent->cls, rest)) return Found{member, nullptr, {parent->scope.file, parent->cls, nullptr}};
  }
  return std::nullopt;
}

std::optional<Json> Program::binary_value(const Expr& expr, const Scope& scope, int depth) {
  const auto left = value(expr.items.at(0), scope, depth + 1), right = value(expr.items.at(1), scope, depth + 1);
  if (!left || !right || expr.names.empty()) return std::nullopt;
  const std::string& op = expr.names[0];
  if (op == "+" && left->is_array() && right->is_array()) {
    Json out = *left;
    for (const Json& item : *right) out.push_back(item);
    return out;
  }
  if (op == "+" && left->is_string() && right->is_string()) return Json(left->get<std::string>() + right->get<std::string>());
  if (!left->is_number() || !right->is_number()) return std::nullopt;
  if (left->is_number_integer() && right->is_number_integer()) {
    const std::int64_t a = left->get<std::int64_t>(), b = right->get<std::int64_t>();
    std::int64_t out = 0;
    if (op == "+" && !__builtin_add_overflow(a, b, &out)) return Json(out);
    if (op == "-" && !__builtin_sub_overflow(a, b, &out)) return Json(out);
    if (op == "*" && !__builtin_mul_overflow(a, b, &out)) return Json(out);
    if (op == "<<" && a >= 0 && b >= 0 && b < 62 && a <= (std::int64_t{1} << (62 - b))) return Json(a << b);
    if (op == "//" && a >= 0 && b > 0) return Json(a / b);
    if (op == "**" && b >= 0 && b < 62 && (a == 2 || a == 10)) {
      const double power = std::pow(static_cast<double>(a), static_cast<double>(b));
      if (power < 9e15) return Json(static_cast<std::int64_t>(power));
    }
  }
  const double a = left->get<double>(), b = right->get<double>();
  if (op == "+") return Json(a + b);
  if (op == "-") return Json(a - b);
  if (op == "*") return Json(a * b);
  if (op == "/" && b != 0) return Json(a / b);
  return std::nullopt;
}

std::optional<Json> Program::call_value(const Expr& call, const Scope& scope, int depth) {
  const std::string name = call.called();
  const Expr& function = call.items[0];
  if (const auto wrapped = default_of_.find(name); wrapped != default_of_.end()) {
    for (const std::string_view where : split(wrapped->second, '|')) {
      if (const auto position = parse_int(where)) {
        const auto at = static_cast<std::size_t>(*position) + 1;
        if (at < call.items.size() && call.names[at].empty()) return value(call.items[at], scope, depth + 1);
      } else if (const Expr* keyword = call.keyword(where)) {
        if (where == "default_factory") {
          const std::string made = keyword->dotted();
          if (made == "list") return Json::array();
          if (made == "dict") return Json::object();
          return std::nullopt;
        }
        return value(*keyword, scope, depth + 1);
      }
    }
    // get_field(Class, "name"): the default of that field.
    if (call.items.size() == 3 && call.items[2].kind == ExprKind::kText) {
      const auto member = find(call.items[1].dotted() + "." + call.items[2].text, scope, depth / 4);
      if (member && member->value != nullptr) return value(*member->value, member->scope, depth + 1);
    }
    return std::nullopt;
  }
  if ((name == "list" || name == "sorted" || name == "tuple" || name == "set" || name == "frozenset") && function.kind == ExprKind::kName) {
    if (call.items.size() == 1) return Json::array();
    auto inner = value(call.items[1], scope, depth + 1);
    if (inner && inner->is_object()) {
      Json keys = Json::array();
      for (auto it = inner->begin(); it != inner->end(); ++it) keys.push_back(it.key());
      return keys;
    }
    return inner;
  }
  if (function.kind == ExprKind::kAttribute && call.items.size() == 1 && (name == "keys" || name == "copy")) {
    auto inner = value(function.items[0], scope, depth + 1);
    if (!inner || name == "copy" || !inner->is_object()) return inner;
    Json keys = Json::array();
    for (auto it = inner->begin(); it != inner->end(); ++it) keys.push_back(it.key());
    return keys;
  }
  if (name == "get_args" && call.items.size() == 2) {
    if (const auto texts = choices(call.items[1], scope, depth / 4)) return Json(*texts);
  }
  return std::nullopt;
}

std::optional<Json> Program::value(const Expr& expr, const Scope& scope, int depth) {
  if (depth > kMaxValueDepth) return std::nullopt;
  switch (expr.kind) {
    case ExprKind::kText:
      return Json(expr.text);
    case ExprKind::kNumber:
      return number(expr.text);
    case ExprKind::kTrue:
      return Json(true);
    case ExprKind::kFalse:
      return Json(false);
    case ExprKind::kNone:
      return Json(nullptr);
    case ExprKind::kMinus: {
      auto inner = value(expr.items.at(0), scope, depth + 1);
      if (!inner) return std::nullopt;
      if (inner->is_number_integer()) return Json(-inner->get<std::int64_t>());
      if (inner->is_number()) return Json(-inner->get<double>());
      return std::nullopt;
    }
    case ExprKind::kList: {
      Json out = Json::array();
      for (const Expr& item : expr.items) {
        auto one = value(item, scope, depth + 1);
        if (!one) return std::nullopt;
        out.push_back(std::move(*one));
      }
      return out;
    }
    case ExprKind::kDict: {
      Json out = Json::object();
      for (std::size_t i = 0; i + 1 < expr.items.size(); i += 2) {
        const auto key = value(expr.items[i], scope, depth + 1);
        if (!key || !key->is_string()) return std::nullopt;
        // The keys of a table of functions or classes are known even where its values are not.
        out[key->get<std::string>()] = value(expr.items[i + 1], scope, depth + 1).value_or(Json(py::write(expr.items[i + 1])));
      }
      return out;
    }
    case ExprKind::kSubscript: {
      if (expr.items.size() != 2) return std::nullopt;
      const auto whole = value(expr.items[0], scope, depth + 1), index = value(expr.items[1], scope, depth + 1);
      if (!whole || !index) return std::nullopt;
      if (!whole->is_array() || !index->is_number_integer()) return std::nullopt;
      const auto size = static_cast<std::int64_t>(whole->size());
      const std::int64_t at = index->get<std::int64_t>() + (index->get<std::int64_t>() < 0 ? size : 0);
      if (at < 0 || at >= size) return std::nullopt;
      return (*whole)[static_cast<std::size_t>(at)];
    }
    case ExprKind::kBinary:
      return expr.items.size() == 2 ? binary_value(expr, scope, depth) : std::nullopt;
    case ExprKind::kCall:
      return call_value(expr, scope, depth);
    case ExprKind::kName:
    case ExprKind::kAttribute: {
      const auto found = find(expr.dotted(), scope, depth / 4);
      if (!found || found->value == nullptr || found->value == &expr) return std::nullopt;
      return value(*found->value, found->scope, depth + 1);
    }
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<std::string>> Program::choices(const Expr& annotation, const Scope& scope, int depth) {
  if (depth > kMaxLookups) return std::nullopt;
  if (annotation.kind == ExprKind::kSubscript && annotation.items.size() > 1) {
    const std::string name = annotation.items[0].dotted();
    const std::string last = name.substr(name.rfind('.') + 1);
    if (last == "Literal") {
      std::vector<std::string> out;
      for (std::size_t i = 1; i < annotation.items.size(); ++i) {
        const Expr& item = annotation.items[i];
        if (item.kind == ExprKind::kText || item.kind == ExprKind::kNumber) {
          out.push_back(item.text);
        } else if (item.kind == ExprKind::kList) {  // Literal["a", "b"] of some grammars
          for (const Expr& inner : item.items) out.push_back(inner.text);
        } else if (item.kind != ExprKind::kNone) {
          return std::nullopt;
        }
      }
      return out;
    }
    if (last == "Optional" || last == "Annotated" || last == "A" || last == "list" || last == "List") return choices(annotation.items[1], scope, depth + 1);
    return std::nullopt;
  }
  if (annotation.kind == ExprKind::kBinary && annotation.items.size() == 2) {
    const bool left = annotation.items[0].kind == ExprKind::kNone, right = annotation.items[1].kind == ExprKind::kNone;
    if (right) return choices(annotation.items[0], scope, depth + 1);
    if (left) return choices(annotation.items[1], scope, depth + 1);
    return std::nullopt;
  }
  if (annotation.kind == ExprKind::kName || annotation.kind == ExprKind::kAttribute) {
    const auto found = find(annotation.dotted(), scope, depth);
    if (found && found->value != nullptr) return choices(*found->value, found->scope, depth + 1);
  }
  return std::nullopt;
}

}  // namespace pawl::upstream
