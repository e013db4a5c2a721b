#include "upstream/python_syntax.h"

#include <fmt/format.h>
#include <tree_sitter/api.h>

#include <memory>

extern "C" const TSLanguage* tree_sitter_python();

namespace pawl::upstream::py {
namespace {

struct ParserDelete {
  void operator()(TSParser* parser) const { ts_parser_delete(parser); }
};
struct TreeDelete {
  void operator()(TSTree* tree) const { ts_tree_delete(tree); }
};

/// The value of an escape-free or escaped literal's content. Unknown escapes stay as written, as Python has it.
void append_unescaped(std::string& out, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    switch (c) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case '\n':
        break;
      case '\\':
      case '\'':
      case '"':
        out += c;
        break;
      default:
        out += '\\';
        out += c;
    }
  }
}

/// Turns the parser's nodes into ours.
class Reader {
 public:
  Reader(std::string_view source, Module& module) : source_(source), module_(module) {}

  void block(TSNode node, std::vector<Stmt>& out, int depth) {
    for (std::uint32_t i = 0, n = ts_node_named_child_count(node); i < n; ++i) statement(ts_node_named_child(node, i), out, depth);
  }

 private:
  std::string_view source_;
  Module& module_;

  std::string_view type(TSNode node) const { return ts_node_type(node); }
  std::string_view bytes(TSNode node) const {
    const std::size_t begin = ts_node_start_byte(node), end = ts_node_end_byte(node);
    return begin <= end && end <= source_.size() ? source_.substr(begin, end - begin) : std::string_view{};
  }
  static int line(TSNode node) { return static_cast<int>(ts_node_start_point(node).row) + 1; }
  static TSNode field(TSNode node, std::string_view name) { return ts_node_child_by_field_name(node, name.data(), static_cast<std::uint32_t>(name.size())); }

  Expr other(TSNode node) const { return {ExprKind::kOther, std::string(bytes(node)), {}, {}, line(node)}; }

  void note_error(TSNode node) {
    if (module_.errors.size() < 100) module_.errors.push_back(line(node));
  }

  Expr items_of(TSNode node, ExprKind kind, int depth) {
    Expr out{kind, {}, {}, {}, line(node)};
    for (std::uint32_t i = 0, n = ts_node_named_child_count(node); i < n; ++i) {
      const TSNode child = ts_node_named_child(node, i);
      if (type(child) != "comment") out.items.push_back(expr(child, depth));
    }
    return out;
  }

  Expr text(TSNode node) {
    Expr out{ExprKind::kText, {}, {}, {}, line(node)};
    bool raw = false;
    for (std::uint32_t i = 0, n = ts_node_child_count(node); i < n; ++i) {
      const TSNode child = ts_node_child(node, i);
      const std::string_view kind = type(child);
      if (kind == "string_start") {
        raw = bytes(child).find_first_of("rR") != std::string_view::npos;
      } else if (kind == "string_content") {
        if (raw) {
          out.text += bytes(child);
        } else {
          append_unescaped(out.text, bytes(child));
        }
      } else if (kind == "interpolation") {
        out.kind = ExprKind::kFormat;
        out.text += bytes(child);
      }
    }
    return out;
  }

  Expr call(TSNode node, int depth) {
    Expr out{ExprKind::kCall, {}, {}, {}, line(node)};
    out.items.push_back(expr(field(node, "function"), depth));
    out.names.emplace_back();
    const TSNode arguments = field(node, "arguments");
    if (type(arguments) != "argument_list") {
      out.items.push_back(other(arguments));
      out.names.emplace_back();
      return out;
    }
    for (std::uint32_t i = 0, n = ts_node_named_child_count(arguments); i < n; ++i) {
      const TSNode child = ts_node_named_child(arguments, i);
      const std::string_view kind = type(child);
      if (kind == "comment") continue;
      if (kind == "keyword_argument") {
        out.names.emplace_back(bytes(field(child, "name")));
        out.items.push_back(expr(field(child, "value"), depth));
      } else if (kind == "list_splat" || kind == "dictionary_splat") {
        out.names.emplace_back(kind == "list_splat" ? "*" : "**");
        out.items.push_back(ts_node_named_child_count(child) > 0 ? expr(ts_node_named_child(child, 0), depth) : other(child));
      } else {
        out.names.emplace_back();
        out.items.push_back(expr(child, depth));
      }
    }
    return out;
  }

  Expr compare(TSNode node, int depth) {
    Expr out{ExprKind::kCompare, {}, {}, {}, line(node)};
    std::string op;
    for (std::uint32_t i = 0, n = ts_node_child_count(node); i < n; ++i) {
      const TSNode child = ts_node_child(node, i);
      if (ts_node_is_named(child)) {
        if (type(child) == "comment") continue;
        if (!out.items.empty()) out.names.push_back(op);
        op.clear();
        out.items.push_back(expr(child, depth));
      } else {
        if (!op.empty()) op += ' ';
        op += bytes(child);
      }
    }
    return out;
  }

  /// `is not` and `not in` are one token in some versions of the grammar and two in others: written the same here.
  Expr expr(TSNode node, int depth) {
    if (ts_node_is_null(node)) return {};
    if (depth > kMaxDepth) {
      module_.cut_short = true;
      return other(node);
    }
    const int next = depth + 1;
    const std::string_view kind = type(node);
    if (kind == "identifier") return {ExprKind::kName, std::string(bytes(node)), {}, {}, line(node)};
    if (kind == "string") return text(node);
    if (kind == "concatenated_string") {
      Expr out{ExprKind::kText, {}, {}, {}, line(node)};
      for (std::uint32_t i = 0, n = ts_node_named_child_count(node); i < n; ++i) {
        const Expr part = expr(ts_node_named_child(node, i), next);
        if (part.kind == ExprKind::kFormat) out.kind = ExprKind::kFormat;
        out.text += part.text;
      }
      return out;
    }
    if (kind == "integer" || kind == "float") return {ExprKind::kNumber, std::string(bytes(node)), {}, {}, line(node)};
    if (kind == "true") return {ExprKind::kTrue, {}, {}, {}, line(node)};
    if (kind == "false") return {ExprKind::kFalse, {}, {}, {}, line(node)};
    if (kind == "none") return {ExprKind::kNone, {}, {}, {}, line(node)};
    if (kind == "attribute") {
      Expr out{ExprKind::kAttribute, std::string(bytes(field(node, "attribute"))), {}, {}, line(node)};
      out.items.push_back(expr(field(node, "object"), next));
      return out;
    }
    if (kind == "call") return call(node, next);
    if (kind == "list" || kind == "tuple" || kind == "set" || kind == "expression_list") return items_of(node, ExprKind::kList, next);
    if (kind == "parenthesized_expression" || kind == "type") {
      for (std::uint32_t i = 0, n = ts_node_named_child_count(node); i < n; ++i) {
        const TSNode child = ts_node_named_child(node, i);
        if (type(child) != "comment") return expr(child, next);
      }
      return other(node);
    }
    if (kind == "dictionary") {
      Expr out{ExprKind::kDict, {}, {}, {}, line(node)};
      for (std::uint32_t i = 0, n = ts_node_named_child_count(node); i < n; ++i) {
        const TSNode child = ts_node_named_child(node, i);
        if (type(child) == "dictionary_splat" && ts_node_named_child_count(child) > 0) {
          out.items.push_back({ExprKind::kOther, "**", {}, {}, line(child)});
          out.items.push_back(expr(ts_node_named_child(child, 0), next));
        }
        if (type(child) != "pair") continue;
        out.items.push_back(expr(field(child, "key"), next));
        out.items.push_back(expr(field(child, "value"), next));
      }
      return out;
    }
    if (kind == "subscript") {
      Expr out{ExprKind::kSubscript, {}, {}, {}, line(node)};
      for (std::uint32_t i = 0, n = ts_node_named_child_count(node); i < n; ++i) {
        const TSNode child = ts_node_named_child(node, i);
        if (type(child) != "comment") out.items.push_back(expr(child, next));
      }
      return out;
    }
    // In an annotation the grammar reads A[T, …] as a generic type.
    if (kind == "generic_type") {
      Expr out{ExprKind::kSubscript, {}, {}, {}, line(node)};
      for (std::uint32_t i = 0, n = ts_node_named_child_count(node); i < n; ++i) {
        const TSNode child = ts_node_named_child(node, i);
        if (type(child) != "type_parameter") {
          out.items.push_back(expr(child, next));
          continue;
        }
        for (std::uint32_t j = 0, m = ts_node_named_child_count(child); j < m; ++j) {
          if (type(ts_node_named_child(child, j)) != "comment") out.items.push_back(expr(ts_node_named_child(child, j), next));
        }
      }
      return out;
    }
    if (kind == "not_operator") {
      Expr out{ExprKind::kNot, {}, {}, {}, line(node)};
      out.items.push_back(expr(field(node, "argument"), next));
      return out;
    }
    if (kind == "boolean_operator") {
      Expr out{bytes(field(node, "operator")) == "and" ? ExprKind::kAnd : ExprKind::kOr, {}, {}, {}, line(node)};
      out.items.push_back(expr(field(node, "left"), next));
      out.items.push_back(expr(field(node, "right"), next));
      return out;
    }
    if (kind == "comparison_operator") return compare(node, next);
    if (kind == "binary_operator" || kind == "union_type") {
      Expr out{ExprKind::kBinary, {}, {}, {}, line(node)};
      if (kind == "union_type") {
        out = items_of(node, ExprKind::kBinary, next);
        out.names.emplace_back("|");
        return out;
      }
      out.items.push_back(expr(field(node, "left"), next));
      out.items.push_back(expr(field(node, "right"), next));
      out.names.emplace_back(bytes(field(node, "operator")));
      return out;
    }
    if (kind == "unary_operator" && bytes(field(node, "operator")) == "-") {
      Expr out{ExprKind::kMinus, {}, {}, {}, line(node)};
      out.items.push_back(expr(field(node, "argument"), next));
      return out;
    }
    if (kind == "conditional_expression" && ts_node_named_child_count(node) == 3) return items_of(node, ExprKind::kConditional, next);
    if (kind == "ERROR") note_error(node);
    return other(node);
  }

  void assignment(TSNode node, std::vector<Stmt>& out, int depth) {
    Stmt stmt;
    stmt.kind = StmtKind::kAssign;
    stmt.line = line(node);
    stmt.target = expr(field(node, "left"), depth);
    stmt.annotation = expr(field(node, "type"), depth);
    const TSNode right = field(node, "right");
    if (!ts_node_is_null(right) && type(right) == "assignment") {  // a = b = 1: one statement each
      assignment(right, out, depth + 1);
      stmt.value = out.back().value;
    } else {
      stmt.value = expr(right, depth);
    }
    out.push_back(std::move(stmt));
  }

  void conditional(TSNode node, std::vector<Stmt>& out, int depth) {
    Stmt stmt;
    stmt.kind = StmtKind::kIf;
    stmt.line = line(node);
    Branch first{expr(field(node, "condition"), depth), {}};
    block(field(node, "consequence"), first.body, depth);
    stmt.branches.push_back(std::move(first));
    for (std::uint32_t i = 0, n = ts_node_named_child_count(node); i < n; ++i) {
      const TSNode child = ts_node_named_child(node, i);
      if (type(child) == "elif_clause") {
        Branch branch{expr(field(child, "condition"), depth), {}};
        block(field(child, "consequence"), branch.body, depth);
        stmt.branches.push_back(std::move(branch));
      } else if (type(child) == "else_clause") {
        Branch branch{{ExprKind::kTrue, {}, {}, {}, line(child)}, {}};
        block(field(child, "body"), branch.body, depth);
        stmt.branches.push_back(std::move(branch));
      }
    }
    out.push_back(std::move(stmt));
  }

  void import(TSNode node, std::vector<Stmt>& out) {
    Stmt stmt;
    stmt.kind = StmtKind::kImport;
    stmt.line = line(node);
    const TSNode from = field(node, "module_name");
    if (!ts_node_is_null(from)) stmt.name = bytes(from);
    for (std::uint32_t i = 0, n = ts_node_named_child_count(node); i < n; ++i) {
      const TSNode child = ts_node_named_child(node, i);
      if (!ts_node_is_null(from) && ts_node_eq(child, from)) continue;
      if (type(child) == "aliased_import") {
        stmt.imports.emplace_back(bytes(field(child, "name")), bytes(field(child, "alias")));
      } else if (type(child) == "dotted_name") {
        stmt.imports.emplace_back(bytes(child), bytes(child));
      } else if (type(child) == "wildcard_import") {
        stmt.imports.emplace_back("*", "*");
      }
    }
    out.push_back(std::move(stmt));
  }

  void definition(TSNode node, std::vector<Expr> decorators, std::vector<Stmt>& out, int depth) {
    Stmt stmt;
    stmt.kind = type(node) == "class_definition" ? StmtKind::kClass : StmtKind::kFunction;
    stmt.name = bytes(field(node, "name"));
    stmt.line = line(node);
    stmt.decorators = std::move(decorators);
    if (const TSNode bases = field(node, "superclasses"); stmt.kind == StmtKind::kClass && !ts_node_is_null(bases)) {
      stmt.bases = items_of(bases, ExprKind::kList, depth).items;
    }
    block(field(node, "body"), stmt.body, depth);
    out.push_back(std::move(stmt));
  }

  /// Bodies below `node`, wherever its grammar keeps them.
  void bodies(TSNode node, std::vector<Stmt>& out, int depth) {
    for (std::uint32_t i = 0, n = ts_node_named_child_count(node); i < n; ++i) {
      const TSNode child = ts_node_named_child(node, i);
      const std::string_view kind = type(child);
      if (kind == "block") {
        block(child, out, depth);
      } else if (kind.ends_with("_clause")) {
        bodies(child, out, depth);
      }
    }
  }

  void statement(TSNode node, std::vector<Stmt>& out, int depth) {
    if (depth > kMaxDepth) {
      module_.cut_short = true;
      return;
    }
    const int next = depth + 1;
    const std::string_view kind = type(node);
    if (ts_node_is_missing(node)) note_error(node);
    if (kind == "comment") return;
    if (kind == "ERROR") {
      note_error(node);
      block(node, out, next);  // what the grammar could still make of its parts
      return;
    }
    Stmt stmt;
    stmt.line = line(node);
    if (kind == "expression_statement") {
      const TSNode child = ts_node_named_child(node, 0);
      if (!ts_node_is_null(child) && type(child) == "assignment") {
        assignment(child, out, next);
        return;
      }
      stmt.value = expr(child, next);
    } else if (kind == "if_statement") {
      conditional(node, out, next);
      return;
    } else if (kind == "class_definition" || kind == "function_definition") {
      definition(node, {}, out, next);
      return;
    } else if (kind == "decorated_definition") {
      std::vector<Expr> decorators;
      for (std::uint32_t i = 0, n = ts_node_named_child_count(node); i < n; ++i) {
        const TSNode child = ts_node_named_child(node, i);
        if (type(child) == "decorator" && ts_node_named_child_count(child) > 0) decorators.push_back(expr(ts_node_named_child(child, 0), next));
      }
      definition(field(node, "definition"), std::move(decorators), out, next);
      return;
    } else if (kind == "return_statement" || kind == "raise_statement") {
      stmt.kind = kind == "return_statement" ? StmtKind::kReturn : StmtKind::kRaise;
      if (ts_node_named_child_count(node) > 0) stmt.value = expr(ts_node_named_child(node, 0), next);
    } else if (kind == "import_statement" || kind == "import_from_statement") {
      import(node, out);
      return;
    } else if (kind == "for_statement" || kind == "while_statement" || kind == "with_statement" || kind == "try_statement") {
      stmt.kind = StmtKind::kBlock;
      bodies(node, stmt.body, next);
    } else {
      stmt.value = other(node);
    }
    out.push_back(std::move(stmt));
  }
};

}  // namespace

const Expr* Expr::keyword(std::string_view name) const {
  for (std::size_t i = 1; i < items.size() && i < names.size(); ++i) {
    if (names[i] == name) return &items[i];
  }
  return nullptr;
}

std::string Expr::dotted() const {
  if (kind == ExprKind::kName) return text;
  if (kind != ExprKind::kAttribute || items.empty()) return {};
  const std::string left = items[0].dotted();
  return left.empty() ? std::string() : left + "." + text;
}

std::string Expr::called() const {
  if (kind != ExprKind::kCall || items.empty()) return {};
  const Expr& function = items[0];
  return function.kind == ExprKind::kName || function.kind == ExprKind::kAttribute ? function.text : std::string();
}

std::string write(const Expr& e) {
  const auto list = [&](std::size_t from) {
    std::string out;
    for (std::size_t i = from; i < e.items.size(); ++i) {
      if (i > from) out += ", ";
      if (e.kind == ExprKind::kCall && i < e.names.size() && !e.names[i].empty()) out += e.names[i].starts_with('*') ? e.names[i] : e.names[i] + "=";
      out += write(e.items[i]);
    }
    return out;
  };
  const auto at = [&](std::size_t i) { return i < e.items.size() ? write(e.items[i]) : std::string(); };
  switch (e.kind) {
    case ExprKind::kName:
    case ExprKind::kNumber:
      return e.text;
    case ExprKind::kAttribute:
      return at(0) + "." + e.text;
    case ExprKind::kCall:
      return at(0) + "(" + list(1) + ")";
    case ExprKind::kText:
      return "\"" + e.text + "\"";
    case ExprKind::kFormat:
      return "f\"" + e.text + "\"";
    case ExprKind::kTrue:
      return "True";
    case ExprKind::kFalse:
      return "False";
    case ExprKind::kNone:
      return "None";
    case ExprKind::kList:
      return "[" + list(0) + "]";
    case ExprKind::kDict: {
      std::string out = "{";
      for (std::size_t i = 0; i + 1 < e.items.size(); i += 2) out += (i > 0 ? ", " : "") + at(i) + ": " + at(i + 1);
      return out + "}";
    }
    case ExprKind::kSubscript:
      return at(0) + "[" + list(1) + "]";
    case ExprKind::kNot:
      return "not (" + at(0) + ")";
    case ExprKind::kAnd:
      return "(" + at(0) + " and " + at(1) + ")";
    case ExprKind::kOr:
      return "(" + at(0) + " or " + at(1) + ")";
    case ExprKind::kCompare: {
      std::string out = at(0);
      for (std::size_t i = 1; i < e.items.size(); ++i) out += " " + (i - 1 < e.names.size() ? e.names[i - 1] : std::string("?")) + " " + at(i);
      return out;
    }
    case ExprKind::kBinary:
      return at(0) + " " + (e.names.empty() ? std::string("?") : e.names[0]) + " " + at(1);
    case ExprKind::kMinus:
      return "-" + at(0);
    case ExprKind::kConditional:
      return at(0) + " if " + at(1) + " else " + at(2);
    case ExprKind::kOther:
      break;
  }
  std::string out;
  bool blank = false;
  for (const char c : e.text) {
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      blank = !out.empty();
    } else {
      if (blank) out += ' ';
      blank = false;
      out += c;
    }
  }
  return out;
}

Result<Module> parse(std::string_view source, const std::string& name) {
  if (source.size() > kMaxSource) return bad_input(fmt::format("{}: {} bytes of Python, more than the {} that are read", name, source.size(), kMaxSource));
  const std::unique_ptr<TSParser, ParserDelete> parser(ts_parser_new());
  if (!ts_parser_set_language(parser.get(), tree_sitter_python())) return internal_error("the Python grammar does not fit the parser library");
  ts_parser_set_timeout_micros(parser.get(), 10'000'000);
  const std::unique_ptr<TSTree, TreeDelete> tree(ts_parser_parse_string(parser.get(), nullptr, source.data(), static_cast<std::uint32_t>(source.size())));
  if (!tree) return bad_input(fmt::format("{}: the parser did not finish within ten seconds", name));
  Module module;
  const TSNode root = ts_tree_root_node(tree.get());
  Reader(source, module).block(root, module.body, 0);
  if (module.errors.empty() && ts_node_has_error(root)) module.errors.push_back(1);
  return module;
}

}  // namespace pawl::upstream::py
