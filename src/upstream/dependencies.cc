#include "upstream/dependencies.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace pawl::upstream {
namespace {

void lines_of(const std::string& text, auto&& visit) {
  int line = 0;
  for (const std::string_view raw : split(text, '\n')) visit(trim(raw), ++line);
}

void requirement(std::string_view text, const std::string& file, int line, std::vector<Dependency>& out) {
  Dependency d = read_requirement(text);
  if (d.name.empty()) return;
  d.place = {file, line};
  out.push_back(std::move(d));
}

void metadata(const std::string& file, const std::string& text, std::vector<Dependency>& out) {
  lines_of(text, [&](std::string_view line, int number) {
    if (line.starts_with("Requires-Dist: ")) requirement(line.substr(15), file, number, out);
    if (line.starts_with("Requires-Python: ")) out.push_back({"python", std::string(trim(line.substr(17))), "", {file, number}});
  });
}

/// The strings of lists whose key speaks of dependencies. No full TOML: those lists hold plain strings.
void pyproject(const std::string& file, const std::string& text, std::vector<Dependency>& out) {
  bool inside = false;
  std::string section;
  lines_of(text, [&](std::string_view line, int number) {
    if (!inside && line.starts_with('[') && line.ends_with(']')) section = std::string(line);
    const std::size_t equals = line.find('=');
    if (!inside && equals != std::string_view::npos && line.find('[', equals) != std::string_view::npos) {
      const std::string_view key = trim(line.substr(0, equals));
      inside = key == "dependencies" || section == "[project.optional-dependencies]" || section == "[dependency-groups]";
      line = line.substr(line.find('[', equals) + 1);
    }
    if (!inside) return;
    std::size_t at = 0;
    while ((at = line.find_first_of("\"'", at)) != std::string_view::npos) {
      const std::size_t end = line.find(line[at], at + 1);
      if (end == std::string_view::npos) break;
      requirement(line.substr(at + 1, end - at - 1), file, number, out);
      at = end + 1;
    }
    if (line.find(']') != std::string_view::npos && (line == "]" || line.ends_with("]"))) inside = false;
  });
}

void dockerfile(const std::string& file, const std::string& text, const DependencyRule& rule, std::vector<Dependency>& out) {
  lines_of(text, [&](std::string_view line, int number) {
    for (const std::string_view keyword : {"ARG ", "ENV "}) {
      if (!line.starts_with(keyword)) continue;
      const std::string rest(trim(line.substr(4)));
      const std::size_t equals = rest.find_first_of("= ");
      if (equals == std::string::npos) continue;
      const std::string name = rest.substr(0, equals), value(trim(std::string_view(rest).substr(equals + 1)));
      const auto alias = rule.aliases.find(name);
      if (alias != rule.aliases.end() && !value.starts_with('$')) out.push_back({alias->second, value, "", {file, number}});
      if (std::ranges::find(rule.driver, name) != rule.driver.end()) out.push_back({"driver", value, "", {file, number}});
    }
    if (line.starts_with("FROM ")) {
      const std::string image(trim(line.substr(5).substr(0, line.substr(5).find(" AS "))));
      const std::size_t colon = image.rfind(':');
      const std::string name = image.substr(0, colon);
      if (colon != std::string::npos && image.find('$') == std::string::npos) {
        out.push_back({name.ends_with("/cuda") ? "cuda-base" : "base-image:" + name, image.substr(colon + 1), "", {file, number}});
      }
    }
  });
}

}  // namespace

std::string normal_package(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.') {
      if (!out.ends_with('-')) out += '-';
    } else {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

Dependency read_requirement(std::string_view text) {
  text = trim(text.substr(0, text.find(" #")));
  std::size_t end = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-' || text[end] == '_' || text[end] == '.')) ++end;
  Dependency d;
  if (end == 0 || text.starts_with('-') || text.starts_with('#')) return d;
  std::string_view rest = trim(text.substr(end));
  if (rest.starts_with('[')) rest = trim(rest.substr(std::min(rest.find(']'), rest.size() - 1) + 1));
  const std::size_t marker = rest.find(';');
  if (marker != std::string_view::npos) d.marker = std::string(trim(rest.substr(marker + 1)));
  rest = trim(rest.substr(0, marker));
  if (rest.starts_with('(') && rest.ends_with(')')) rest = trim(rest.substr(1, rest.size() - 2));
  if (!rest.empty() && std::string_view("=<>!~@").find(rest[0]) == std::string_view::npos) return d;  // prose, not a requirement
  d.name = normal_package(text.substr(0, end));
  d.requirement = std::string(rest);
  std::erase(d.requirement, ' ');
  return d;
}

std::vector<Dependency> read_dependencies(const SourceTree& tree, const DependencyRule& rule) {
  std::vector<Dependency> out;
  const auto name_of = [](const std::string& path) { return path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1); };
  bool installed = false;
  for (const auto& [path, text] : tree.files) {
    if (path.ends_with("dist-info/METADATA") || path.ends_with("PKG-INFO")) {
      metadata(path, text, out);
      installed = true;
    }
  }
  for (const auto& [path, text] : tree.files) {
    const std::string name = name_of(path);
    if (!installed && name == "pyproject.toml") pyproject(path, text, out);
    if (!installed && name.find("requirements") != std::string::npos && name.ends_with(".txt")) {
      lines_of(text, [&](std::string_view line, int number) { requirement(line, path, number, out); });
    }
    if (name.find("Dockerfile") != std::string::npos) dockerfile(path, text, rule, out);
  }
  return out;
}

}  // namespace pawl::upstream
