#include "upstream/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.h"

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

std::string flag_of(const std::string& dest) { return "--" + replace_all(dest, "_", "-"); }

std::string dest_of(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.starts_with("--")) return replace_all(name.substr(2), "-", "_");
  }
  return names.empty() ? std::string()
                       : replace_all(std::string(names[0].substr(std::min<std::size_t>(names[0].find_first_not_of('-'), names[0].size()))), "-", "_");
}

/// The type of an annotation without Optional, `| None` and metadata.
std::string type_of(const Expr& annotation) {
  if (annotation.kind == ExprKind::kSubscript && annotation.items.size() > 1) {
    const std::string name = annotation.items[0].dotted();
    if (name == "Optional" || name == "typing.Optional" || name == "A" || name == "Annotated") return type_of(annotation.items[1]);
  }
  if (annotation.kind == ExprKind::kBinary && annotation.items.size() == 2) {
    if (annotation.items[1].kind == ExprKind::kNone) return type_of(annotation.items[0]);
    if (annotation.items[0].kind == ExprKind::kNone) return type_of(annotation.items[1]);
  }
  return py::write(annotation);
}

std::string text_of(const Expr* expr) {
  return expr != nullptr && (expr->kind == ExprKind::kText || expr->kind == ExprKind::kFormat) ? expr->text : std::string();
}

std::vector<std::string> texts_of(const std::optional<Json>& value) {
  std::vector<std::string> out;
  if (!value || !value->is_array()) return out;
  for (const Json& item : *value) out.push_back(item.is_string() ? item.get<std::string>() : codec::write_json(item, codec::JsonForm::kCompactUtf8));
  return out;
}

/// A call that has a class's field as its source of keywords: `**kwargs["field"]`.
class SchemaReader {
 public:
  SchemaReader(const EngineProfile& profile, Program& program) : profile_(profile), program_(program) {}

  std::vector<Argument> arguments;

  void fields(const std::string& path, const ArgumentRule& rule) {
    const py::Module* module = program_.file(path);
    if (module == nullptr) return;
    for (const Stmt& stmt : module->body) {
      if (stmt.kind == StmtKind::kClass && any_match(rule.classes, stmt.name)) class_fields(stmt, {path, &stmt, nullptr}, rule, 0);
    }
  }

  void calls(const std::string& path, const ArgumentRule& rule) {
    const py::Module* module = program_.file(path);
    if (module != nullptr) walk(module->body, {path, nullptr, nullptr}, rule, rule.classes.empty());
  }

 private:
  const EngineProfile& profile_;
  Program& program_;
  std::set<std::string> seen_classes_;

  void class_fields(const Stmt& cls, const Scope& scope, const ArgumentRule& rule, int depth) {
    if (depth > 8 || !seen_classes_.insert(scope.file + ":" + cls.name).second) return;
    if (rule.inherited) {
      for (const Expr& base : cls.bases) {
        const auto parent = program_.find(base.dotted(), {scope.file, nullptr, nullptr});
        if (parent && parent->cls != nullptr) class_fields(*parent->cls, {parent->scope.file, parent->cls, nullptr}, rule, depth + 1);
      }
    }
    for (std::size_t i = 0; i < cls.body.size(); ++i) {
      const Stmt& stmt = cls.body[i];
      if (stmt.kind != StmtKind::kAssign || stmt.target.kind != ExprKind::kName) continue;
      if (stmt.annotation.kind == ExprKind::kOther && stmt.annotation.text.empty()) continue;
      if (stmt.annotation.kind == ExprKind::kSubscript && stmt.annotation.items[0].dotted().ends_with("ClassVar")) continue;
      std::string doc;
      if (i + 1 < cls.body.size() && cls.body[i + 1].kind == StmtKind::kExpr) doc = text_of(&cls.body[i + 1].value);
      if (auto argument = field(stmt, scope, rule, doc)) add(std::move(*argument));
    }
  }

  std::optional<Argument> field(const Stmt& stmt, const Scope& scope, const ArgumentRule& rule, const std::string& doc) {
    Argument a;
    a.dest = stmt.target.text;
    a.place = {scope.file, stmt.line};
    if (rule.metadata.empty()) a.help = doc;
    if (a.dest.starts_with("_")) return std::nullopt;
    std::vector<std::string> names{flag_of(a.dest)};
    const Expr* metadata = nullptr;
    bool described = false;
    if (!rule.metadata.empty()) {
      if (stmt.annotation.kind != ExprKind::kSubscript) return std::nullopt;
      for (std::size_t i = 2; i < stmt.annotation.items.size(); ++i) {
        const Expr& item = stmt.annotation.items[i];
        if (item.kind == ExprKind::kText || item.kind == ExprKind::kFormat) {
          a.help = item.text;
          described = true;
          break;
        }
        if (std::ranges::find(rule.metadata, item.called()) != rule.metadata.end()) {
          metadata = &item;
          described = true;
          break;
        }
      }
      if (!described) return std::nullopt;
    }
    a.type = type_of(stmt.annotation);
    a.choices = program_.choices(stmt.annotation, scope);
    a.takes_value = a.type != "bool";
    if (metadata != nullptr) {
      if (const Expr* hidden = metadata->keyword("no_cli"); hidden != nullptr && hidden->kind == ExprKind::kTrue) return std::nullopt;
      if (const std::string named = text_of(metadata->keyword("cli_name")); !named.empty()) names[0] = named;
      if (const Expr* aliases = metadata->keyword("aliases")) {
        for (std::string& alias : texts_of(program_.value(*aliases, scope))) names.push_back(std::move(alias));
      }
      for (const char* key : {"help", "const", "nargs"}) {
        const std::string text = text_of(metadata->keyword(key));
        if (!text.empty() && std::string_view(key) == "help") a.help = text;
        if (!text.empty() && std::string_view(key) == "nargs") a.nargs = text;
      }
      if (const Expr* choices = metadata->keyword("choices")) {
        const auto value = program_.value(*choices, scope);
        a.choices.reset();
        if (value && value->is_array()) a.choices = texts_of(value);
      }
      if (const Expr* action = metadata->keyword("action")) {
        const std::string name = action->kind == ExprKind::kText ? action->text : action->dotted();
        if (name.starts_with("store_")) a.takes_value = false;
        if (any_match(profile_.deprecated_actions, name.substr(name.rfind('.') + 1))) a.deprecated = true;
      }
    }
    if (a.nargs.empty() && (a.type.starts_with("List[") || a.type.starts_with("list["))) a.nargs = "+";
    if (!a.takes_value && !rule.negation.empty()) names.push_back(rule.negation + names[0].substr(2));
    a.names = std::move(names);
    set_default(a, stmt.value, scope);
    read_help(a);
    return a;
  }

  void set_default(Argument& a, const Expr& value, const Scope& scope) {
    if (value.kind == ExprKind::kOther && value.text.empty()) return;
    a.fallback_text = py::write(value);
    a.fallback = program_.value(value, scope);
  }

  /// What the help text itself says about deprecation.
  void read_help(Argument& a) const {
    std::string start = a.help.substr(0, 160);
    std::ranges::transform(start, start.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const bool says = start.find("deprecated") < 40 || start.starts_with("removed.") || start.find(" is deprecated") != std::string::npos;
    if (!says && !a.deprecated) return;
    a.deprecated = true;
    if (a.notice.empty()) a.notice = a.help;
    if (start.starts_with("removed")) a.ignored = true;
    if (a.successor.empty()) a.successor = read_notice(a.names.empty() ? a.help : a.names[0] + " is deprecated. " + a.help).successor;
  }

  void walk(const std::vector<Stmt>& body, const Scope& scope, const ArgumentRule& rule, bool inside) {
    for (const Stmt& stmt : body) {
      if (stmt.kind == StmtKind::kClass) {
        walk(stmt.body, {scope.file, &stmt, nullptr}, rule, inside || any_match(rule.classes, stmt.name));
      } else if (stmt.kind == StmtKind::kFunction) {
        const bool here = inside || any_match(rule.classes, stmt.name);
        for (const Expr& decorator : stmt.decorators) call(decorator, {scope.file, scope.cls, &stmt}, rule, here);
        walk(stmt.body, {scope.file, scope.cls, &stmt}, rule, here);
      } else {
        py::each_expr(stmt.value, [&](const Expr& expr) { call(expr, scope, rule, inside); });
        walk(stmt.body, scope, rule, inside);
        for (const py::Branch& branch : stmt.branches) walk(branch.body, scope, rule, inside);
      }
    }
  }

  void call(const Expr& expr, const Scope& scope, const ArgumentRule& rule, bool inside) {
    if (!inside || expr.kind != ExprKind::kCall) return;
    const std::string function = expr.called();
    if (std::ranges::find(rule.functions, function) == rule.functions.end()) return;
    Argument a;
    a.place = {scope.file, expr.line};
    const Stmt* kwargs_field = nullptr;
    Scope kwargs_scope;
    for (std::size_t i = 1; i < expr.items.size(); ++i) {
      const Expr& item = expr.items[i];
      if (expr.names[i].empty() && item.kind == ExprKind::kText) {
        // click writes "--a/--no-a" and a destination without dashes.
        const std::string text = item.text;
        for (const std::string_view name : split(text, '/')) {
          if (name.starts_with("-")) a.names.emplace_back(name);
        }
        if (!text.starts_with("-") && !a.names.empty()) a.dest = text;
      } else if (expr.names[i] == "flag_name" && item.kind == ExprKind::kText) {
        a.names.push_back(item.text);
      } else if (expr.names[i] == "**") {
        kwargs_field = field_behind(item, scope, rule, kwargs_scope);
      }
    }
    if (a.names.empty()) return;
    if (kwargs_field != nullptr) {
      ArgumentRule plain = rule;
      plain.metadata.clear();
      std::string doc;
      const auto& members = kwargs_scope.cls->body;
      for (std::size_t i = 0; i + 1 < members.size(); ++i) {
        if (&members[i] == kwargs_field && members[i + 1].kind == StmtKind::kExpr) doc = text_of(&members[i + 1].value);
      }
      if (auto field_argument = field(*kwargs_field, kwargs_scope, plain, doc)) {
        field_argument->names = a.names;
        field_argument->dest.clear();
        field_argument->place = a.place;
        a = std::move(*field_argument);
        if (!a.takes_value && !rule.negation.empty()) a.names.push_back(rule.negation + a.names[0].substr(2));
      }
    }
    keywords(a, expr, scope, rule, function);
    for (std::size_t i = 1; i < expr.items.size(); ++i) {
      if (expr.names[i] != "**" || expr.items[i].kind != ExprKind::kDict) continue;
      const Expr& dict = expr.items[i];
      for (std::size_t j = 0; j + 1 < dict.items.size(); j += 2) {
        if (dict.items[j].kind == ExprKind::kText && dict.items[j].text == "default") set_default(a, dict.items[j + 1], scope);
      }
    }
    if (a.dest.empty()) a.dest = dest_of(a.names);
    read_help(a);
    add(std::move(a));
  }

  void keywords(Argument& a, const Expr& expr, const Scope& scope, const ArgumentRule& rule, const std::string& function) {
    const auto text = [&](const char* key) { return text_of(expr.keyword(key)); };
    if (const std::string dest = text("dest"); !dest.empty()) a.dest = dest;
    if (const std::string help = text("help"); !help.empty()) {
      a.help = help;
    } else if (const Expr* named = expr.keyword("help")) {
      if (const auto value = program_.value(*named, scope); value && value->is_string()) a.help = value->get<std::string>();
    }
    if (const Expr* nargs = expr.keyword("nargs")) a.nargs = nargs->kind == ExprKind::kNone ? "" : nargs->text;
    for (const char* key : {"type", "arg_type"}) {
      const Expr* type = expr.keyword(key);
      if (type == nullptr) continue;
      a.type = py::write(*type);
      if (type->called() == "Choice" && type->items.size() > 1) {
        if (const auto value = program_.value(type->items[1], scope)) a.choices = texts_of(value);
      }
    }
    if (const Expr* choices = expr.keyword("choices")) {
      const auto value = program_.value(*choices, scope);
      a.choices.reset();
      if (value && value->is_array()) a.choices = texts_of(value);
    }
    if (const Expr* fallback = expr.keyword("default")) set_default(a, *fallback, scope);
    if (const Expr* is_flag = expr.keyword("is_flag"); is_flag != nullptr && is_flag->kind == ExprKind::kTrue) a.takes_value = false;
    std::string action;
    if (const Expr* given = expr.keyword("action")) {
      action = given->kind == ExprKind::kText ? given->text : given->dotted();
      action = action.substr(action.rfind('.') + 1);
    }
    const bool negatable = action == "BooleanOptionalAction" || std::ranges::find(rule.negated, function) != rule.negated.end();
    if (negatable || action.starts_with("store_") || action == "count" || action == "version" || action == "help") a.takes_value = false;
    if (negatable) a.names.push_back("--no-" + a.names[0].substr(std::min<std::size_t>(2, a.names[0].size())));
    if (const std::string obsolete = text("obsolete_flag"); !obsolete.empty()) a.names.push_back(obsolete);
    if (const std::string environment = text("env_var"); !environment.empty()) a.environment = environment;
    if (const Expr* envvar = expr.keyword("envvar"); envvar != nullptr) a.environment = text_of(envvar);
    if (any_match(profile_.deprecated_actions, action)) {
      a.deprecated = true;
      a.successor = text("new_flag");
      a.notice = text("error_message");
      if (action.find("Store") != std::string::npos && action.find("True") + action.find("Const") + action.find("False") != 3 * std::string::npos) {
        if (action.find("Alias") == std::string::npos) a.takes_value = false;
      }
      if (action == "DeprecatedAction") a.ignored = true;
    }
    const Expr* deprecated = expr.keyword("deprecated");
    if (deprecated != nullptr && deprecated->kind != ExprKind::kFalse && deprecated->kind != ExprKind::kNone) {
      a.deprecated = true;
      if (deprecated->kind == ExprKind::kCall) a.successor = text_of(deprecated->keyword("replacement"));
      if (deprecated->kind == ExprKind::kText) a.notice = deprecated->text;
    }
  }

  /// The field that `**kwargs["name"]` stands for, where `kwargs = get_kwargs(Class)`.
  const Stmt* field_behind(const Expr& splat, const Scope& scope, const ArgumentRule& rule, Scope& where) {
    if (splat.kind == ExprKind::kDict) {  // **{**kwargs["name"], "default": None}
      for (std::size_t i = 0; i + 1 < splat.items.size(); i += 2) {
        if (splat.items[i].kind != ExprKind::kOther || splat.items[i].text != "**") continue;
        if (const Stmt* found = field_behind(splat.items[i + 1], scope, rule, where)) return found;
      }
      return nullptr;
    }
    if (splat.kind != ExprKind::kSubscript || splat.items.size() != 2 || splat.items[1].kind != ExprKind::kText || scope.function == nullptr) return nullptr;
    const Expr* made = local_assignment(*scope.function, splat.items[0].dotted());
    if (made == nullptr || made->items.size() < 2 || std::ranges::find(rule.kwargs_of, made->called()) == rule.kwargs_of.end()) return nullptr;
    const auto cls = program_.find(made->items[1].dotted(), {scope.file, nullptr, nullptr});
    if (!cls || cls->cls == nullptr) return nullptr;
    where = {cls->scope.file, cls->cls, nullptr};
    for (const Stmt& stmt : cls->cls->body) {
      if (stmt.kind == StmtKind::kAssign && stmt.target.text == splat.items[1].text) return &stmt;
    }
    return nullptr;
  }

  void add(Argument a) {
    // A second definition of the same name (a subcommand, an override): the first that is not deprecated stays.
    for (Argument& have : arguments) {
      if (!have.names.empty() && have.names[0] == a.names[0]) {
        if (have.deprecated && !a.deprecated) have = std::move(a);
        return;
      }
    }
    arguments.push_back(std::move(a));
  }
};

bool word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Names with a prefix of the engine, wherever they stand.
void mentioned(const SourceTree& tree, const EnvironmentRule& rule, Schema& schema) {
  std::set<std::string> known;
  for (const EnvironmentName& name : schema.environment) known.insert(name.name);
  for (const auto& [path, bytes] : tree.files) {
    if (!path.ends_with(".py") && !path.ends_with(".rs") && !path.ends_with(".cpp") && !path.ends_with(".h")) continue;
    if (path.find("/test") != std::string::npos) continue;
    for (const std::string& prefix : rule.prefixes) {
      for (std::size_t at = bytes.find(prefix); at != std::string::npos; at = bytes.find(prefix, at + 1)) {
        if (at > 0 && word(bytes[at - 1])) continue;
        std::size_t end = at;
        while (end < bytes.size() &&
               (std::isupper(static_cast<unsigned char>(bytes[end])) != 0 || std::isdigit(static_cast<unsigned char>(bytes[end])) != 0 || bytes[end] == '_'))
          ++end;
        const std::string name = bytes.substr(at, end - at);
        if (end - at <= prefix.size() || name.ends_with('_') || !known.insert(name).second) continue;
        const int line = 1 + static_cast<int>(std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
        schema.environment.push_back({name, "", false, "", "", false, {path, line}});
      }
    }
  }
}

void environment(const SourceTree& tree, const EngineProfile& profile, Program& program, Schema& schema) {
  const EnvironmentRule& rule = profile.environment;
  std::set<std::string> known;
  const auto is_name = [&](const std::string& text) { return std::ranges::any_of(rule.prefixes, [&](const std::string& p) { return text.starts_with(p); }); };
  const auto add = [&](EnvironmentName name) {
    if (known.insert(name.name).second) {
      schema.environment.push_back(std::move(name));
      return;
    }
    if (!name.deprecated) return;
    for (EnvironmentName& have : schema.environment) {
      if (have.name == name.name) have = std::move(name);
    }
  };
  for (const auto& [path, bytes] : tree.files) {
    if (!any_match(rule.files, path)) continue;
    const py::Module* module = program.file(path);
    if (module == nullptr) continue;
    const auto table = [&](const Expr& expr) {
      if (expr.kind != ExprKind::kDict) return;
      for (std::size_t i = 0; i + 1 < expr.items.size(); i += 2) {
        const Expr &key = expr.items[i], &value = expr.items[i + 1];
        if (key.kind != ExprKind::kText || !is_name(key.text)) continue;
        EnvironmentName name{key.text, "", false, "", "", true, {path, key.line}};
        if (std::ranges::find(rule.deprecated, value.called()) != rule.deprecated.end()) {
          name.deprecated = true;
          name.successor = text_of(value.keyword("replacement"));
          name.notice = text_of(value.keyword("note"));
          if (name.successor.empty()) name.successor = read_notice("--x is deprecated. " + name.notice).successor;
        }
        add(std::move(name));
      }
    };
    const auto scan = [&](auto&& self, const std::vector<Stmt>& body) -> void {
      for (const Stmt& stmt : body) {
        if (stmt.kind == StmtKind::kAssign && stmt.target.kind == ExprKind::kName && is_name(stmt.target.text)) {
          std::string fallback = stmt.value.kind == ExprKind::kCall && stmt.value.items.size() > 1 ? py::write(stmt.value.items[1]) : py::write(stmt.value);
          add({stmt.target.text, std::move(fallback), false, "", "", true, {path, stmt.line}});
        }
        if (stmt.kind == StmtKind::kAssign || stmt.kind == StmtKind::kExpr) py::each_expr(stmt.value, table);
        self(self, stmt.body);
        for (const py::Branch& branch : stmt.branches) self(self, branch.body);
      }
    };
    scan(scan, module->body);
  }
  mentioned(tree, rule, schema);
}

void endpoints(const SourceTree& tree, const EngineProfile& profile, Program& program, Schema& schema) {
  std::set<std::string> known;
  for (const auto& [path, bytes] : tree.files) {
    if (!any_match(profile.endpoints.files, path)) continue;
    const py::Module* module = program.file(path);
    if (module == nullptr) continue;
    const auto take = [&](const Expr& call) {
      const std::string method = call.called();
      if (std::ranges::find(profile.endpoints.methods, method) == profile.endpoints.methods.end() || call.items.size() < 2) return;
      if (call.items[1].kind != ExprKind::kText || !call.items[1].text.starts_with('/')) return;
      if (known.insert(method + " " + call.items[1].text).second) schema.endpoints.push_back({method, call.items[1].text, {path, call.line}});
    };
    const auto scan = [&](auto&& self, const std::vector<Stmt>& body) -> void {
      for (const Stmt& stmt : body) {
        for (const Expr& decorator : stmt.decorators) take(decorator);
        py::each_expr(stmt.value, take);
        self(self, stmt.body);
        for (const py::Branch& branch : stmt.branches) self(self, branch.body);
      }
    };
    scan(scan, module->body);
  }
}

/// Sentences in the code that resolves arguments: "--x is deprecated, use --y".
void notices(const SourceTree& tree, const EngineProfile& profile, Program& program, Schema& schema) {
  for (const auto& [path, bytes] : tree.files) {
    const bool resolves = std::ranges::any_of(profile.resolutions, [&](const ResolutionRule& rule) { return any_match(rule.files, path); });
    if (!resolves) continue;
    const py::Module* module = program.file(path);
    if (module == nullptr) continue;
    const auto read = [&](const Expr& expr) {
      if (expr.kind != ExprKind::kText && expr.kind != ExprKind::kFormat) return;
      if (expr.text.find("eprecated") == std::string::npos) return;
      const Notice notice = read_notice(expr.text);
      if (notice.flag.empty()) return;
      for (Argument& a : schema.arguments) {
        if (std::ranges::find(a.names, notice.flag) == a.names.end() || a.deprecated) continue;
        a.deprecated = true;
        a.successor = notice.successor;
        a.notice = expr.text;
      }
    };
    const auto scan = [&](auto&& self, const std::vector<Stmt>& body) -> void {
      for (const Stmt& stmt : body) {
        // Texts that are handed to something (a log, a warning); a docstring speaks of everything.
        if (stmt.kind == StmtKind::kExpr && stmt.value.kind == ExprKind::kCall) py::each_expr(stmt.value, read);
        self(self, stmt.body);
        for (const py::Branch& branch : stmt.branches) self(self, branch.body);
      }
    };
    scan(scan, module->body);
  }
}

}  // namespace

const Argument* Schema::find(const std::string& flag) const {
  for (const Argument& a : arguments) {
    if (std::ranges::find(a.names, flag) != a.names.end()) return &a;
  }
  return nullptr;
}

const Argument* Schema::of_dest(const std::string& dest) const {
  const Argument* found = nullptr;
  for (const Argument& a : arguments) {
    if (a.dest == dest && (found == nullptr || found->deprecated)) found = &a;
  }
  return found;
}

const EnvironmentName* Schema::environment_of(const std::string& name) const {
  const auto at = std::ranges::find(environment, name, &EnvironmentName::name);
  return at != environment.end() ? &*at : nullptr;
}

std::size_t Schema::names() const {
  std::size_t count = 0;
  for (const Argument& a : arguments) count += a.names.size();
  return count;
}

Schema extract_schema(const SourceTree& tree, const EngineProfile& profile, Program& program) {
  Schema schema;
  SchemaReader reader(profile, program);
  for (const ArgumentRule& rule : profile.arguments) {
    for (const auto& [path, bytes] : tree.files) {
      if (!any_match(rule.files, path)) continue;
      if (rule.kind == "fields") reader.fields(path, rule);
      if (rule.kind == "calls") reader.calls(path, rule);
      if (rule.kind == "clap") {
        for (Argument& a : arguments_of_clap(bytes, path)) reader.arguments.push_back(std::move(a));
      }
      if (rule.kind == "help") {
        for (Argument& a : arguments_of_help(bytes, path)) reader.arguments.push_back(std::move(a));
      }
    }
  }
  schema.arguments = std::move(reader.arguments);
  environment(tree, profile, program, schema);
  for (const Argument& a : schema.arguments) {
    if (!a.environment.empty() && schema.environment_of(a.environment) == nullptr) {
      schema.environment.push_back({a.environment, a.fallback_text, a.deprecated, "", "", true, a.place});
    }
  }
  endpoints(tree, profile, program, schema);
  notices(tree, profile, program, schema);
  schema.problems = program.problems();
  for (const std::string& note : tree.notes) schema.problems.push_back(note);
  return schema;
}

}  // namespace pawl::upstream
