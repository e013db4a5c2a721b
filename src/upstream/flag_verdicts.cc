#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/text.h"
#include "upstream/audit.h"
#include "upstream/clip.h"
#include "upstream/extract.h"

namespace pawl::upstream {
namespace {

/// The argument that a command line means by `flag`, by the engine's own rules.
struct Meant {
  const Argument* argument = nullptr;
  std::vector<std::string> candidates;  ///< of an abbreviation
  bool abbreviated = false;
};

Meant meant(const Schema& schema, const CommandLine& rules, const std::string& flag) {
  std::string name = flag;
  if (rules.underscores && name.starts_with("--")) name = "--" + replace_all(name.substr(2), "_", "-");
  if (const Argument* exact = schema.find(name)) return {exact, {}, false};
  if (rules.underscores) {
    // The source may write underscores itself (click).
    if (const Argument* other = schema.find("--" + replace_all(name.substr(std::min<std::size_t>(2, name.size())), "-", "_"))) return {other, {}, false};
  }
  if (rules.dotted && name.find('.') != std::string::npos) {
    if (const Argument* whole = schema.find(name.substr(0, name.find('.')))) return {whole, {}, false};
  }
  Meant out;
  if (!rules.prefixes || !name.starts_with("--") || name.size() < 4) return out;
  std::set<const Argument*> arguments;
  for (const Argument& a : schema.arguments) {
    for (const std::string& one : a.names) {
      if (!one.starts_with(name)) continue;
      out.candidates.push_back(one);
      arguments.insert(&a);
    }
  }
  out.abbreviated = out.candidates.size() == 1;
  if (out.abbreviated) out.argument = *arguments.begin();
  return out;
}

std::string cite(const Place& place, const SourceTree& tree) {
  if (tree.shown == place.file) return place.text();
  return fmt::format("{} ({})", place.text(), tree.revision.empty() ? tree.shown : tree.revision.substr(0, 12));
}

bool has(const std::optional<std::vector<std::string>>& choices, const std::string& value) {
  return choices && std::ranges::find(*choices, value) != choices->end();
}

/// Values that the old version took and the new one refuses.
std::string withdrawn(const GivenFlag& given, const Argument* before, const Argument& after) {
  if (!given.literal || !after.choices) return {};
  for (const std::string& value : given.values) {
    if (has(after.choices, value)) continue;
    if (before != nullptr && before->choices && !has(before->choices, value)) continue;  // refused before as well
    return value;
  }
  return {};
}

/// "--a-{x,y}=off" stands for two flags.
std::vector<std::string> expanded(const std::string& successor) {
  const std::size_t open = successor.find('{'), close = successor.find('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {successor};
  std::vector<std::string> out;
  const std::string inner = successor.substr(open + 1, close - open - 1);
  for (const std::string_view part : split(inner, ',')) out.push_back(successor.substr(0, open) + std::string(part) + successor.substr(close + 1));
  return out;
}

bool defined(const Schema& schema, const std::string& successor) {
  const auto all = expanded(successor);
  return !all.empty() && std::ranges::all_of(all, [&](const std::string& one) { return schema.find(one.substr(0, one.find('='))) != nullptr; });
}

std::vector<std::string> added_dests(const Schema& before, const Schema& after) {
  std::set<std::string> old;
  for (const Argument& a : before.arguments) old.insert(a.dest);
  std::set<std::string> out;
  for (const Argument& a : after.arguments) {
    if (!old.contains(a.dest) && !a.deprecated) out.insert(a.dest);
  }
  return {out.begin(), out.end()};
}

void gone(FlagFinding& out, const Argument& old, const Schema& before, const Schema& after, const AuditInput& input) {
  out.breaks = true;
  out.verdict = Verdict::kRemoved;
  out.old_place = old.place;
  // What the project has read in an engine's source before.
  if (input.playbook != nullptr) {
    if (const auto known = input.playbook->find_flag(input.profile.engine, out.flag)) {
      out.successor = known->replacement;
      out.evidence = known->evidence;
      out.verdict = known->verdict == playbook::FlagVerdict::kRenamed   ? Verdict::kRenamed
                    : known->verdict == playbook::FlagVerdict::kDefault ? Verdict::kNowTheDefault
                                                                        : Verdict::kRemoved;
      return;
    }
  }
  // The old version announced what takes its place.
  if (!old.successor.empty() && defined(after, old.successor)) {
    out.successor = old.successor;
    out.verdict = expanded(old.successor).size() > 1 ? Verdict::kSplit : Verdict::kRenamed;
    out.evidence = fmt::format("announced by the old version: {} says {}", cite(old.place, input.before), old.successor);
    return;
  }
  // Another name of the same destination.
  if (const Argument* same = after.of_dest(old.dest); same != nullptr && before.find(same->names[0]) == nullptr) {
    out.successor = same->names[0];
    out.verdict = Verdict::kRenamed;
    out.new_place = same->place;
    out.evidence = fmt::format("same destination {}: {}", old.dest, cite(same->place, input.after));
    return;
  }
  if (const Argument* same = after.of_dest(old.dest)) {
    out.successor = same->names[0];
    out.verdict = Verdict::kRenamed;
    out.new_place = same->place;
    out.evidence = fmt::format("an alias went: {} is still set by {}, {}", old.dest, same->names[0], cite(same->place, input.after));
    return;
  }
  if (const auto use = successor_by_use(input.before, input.after, old.dest, added_dests(before, after))) {
    const Argument* now = after.of_dest(use->dest);
    if (now != nullptr && now->takes_value == old.takes_value) {
      out.successor = now->names[0];
      out.new_place = now->place;
      out.verdict = Verdict::kRenamed;
      out.evidence = use->evidence;
      if (now->fallback != old.fallback) out.evidence += fmt::format("; its default is {} instead of {}", now->fallback_text, old.fallback_text);
      return;
    }
  }
  out.evidence = fmt::format("defined at {}, nowhere in the new version", cite(old.place, input.before));
  if (!after.problems.empty()) {
    out.verdict = Verdict::kUnknown;
    for (const std::string& problem : after.problems) {
      // Only what concerns files that hold arguments makes the absence doubtful.
      const bool concerns = std::ranges::any_of(input.profile.arguments, [&](const ArgumentRule& rule) {
        const std::string file = problem.substr(0, problem.find(':'));
        return std::ranges::any_of(rule.files, [&](const std::string& pattern) { return glob_match(pattern, file); });
      });
      if (concerns) {
        out.evidence += "; but " + problem;
        return;
      }
    }
    out.verdict = Verdict::kRemoved;
  }
}

}  // namespace

std::optional<UseSite> successor_by_use(const SourceTree& before, const SourceTree& after, const std::string& dest, const std::vector<std::string>& added) {
  // Statements, blanks aside, in which the field stands; the field itself as a placeholder.
  const auto uses = [](const std::string& text, const std::string& field, auto&& visit) {
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    for (std::size_t at = text.find(field); at != std::string::npos; at = text.find(field, at + field.size())) {
      if ((at > 0 && is_word(text[at - 1])) || (at + field.size() < text.size() && is_word(text[at + field.size()]))) continue;
      const std::size_t begin = text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at) + 1;
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::string line(trim(std::string_view(text).substr(begin, end - begin)));
      // Declarations and comments look alike for many fields: they prove nothing.
      if (line.starts_with('#') || line == field || line.starts_with(field + ":") || line.size() < field.size() + 8) continue;
      const int number = 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
      visit(replace_all(std::move(line), field, "\x01"), number);
    }
  };
  struct Site {
    std::string file;
    int line;
  };
  std::map<std::string, Site> old;  ///< file + statement → where
  for (const auto& [path, text] : before.files) {
    if (!path.ends_with(".py")) continue;
    uses(text, dest, [&](std::string statement, int line) { old.try_emplace(path + "\n" + statement, Site{path, line}); });
  }
  if (old.empty()) return std::nullopt;
  std::set<std::string> files;
  for (const auto& [key, site] : old) files.insert(site.file);
  std::map<std::string, std::set<std::string>> hits;
  std::map<std::string, std::string> shown;
  for (const std::string& file : files) {
    const auto now = after.files.find(file);
    if (now == after.files.end()) continue;
    for (const std::string& candidate : added) {
      uses(now->second, candidate, [&](const std::string& statement, int line) {
        const auto same = old.find(file + "\n" + statement);
        if (same == old.end()) return;
        hits[candidate].insert(same->first);
        shown.try_emplace(candidate, fmt::format("{} stands where {} stood: {}:{} ({}) and {}:{} ({})", candidate, dest, file, same->second.line,
                                                 before.revision.empty() ? before.shown : before.revision.substr(0, 12), file, line,
                                                 after.revision.empty() ? after.shown : after.revision.substr(0, 12)));
      });
    }
  }
  std::string best;
  bool tie = false;
  for (const auto& [candidate, statements] : hits) {
    if (best.empty() || statements.size() > hits[best].size()) {
      best = candidate;
      tie = false;
    } else if (statements.size() == hits[best].size()) {
      tie = true;
    }
  }
  if (best.empty() || tie) return std::nullopt;
  const std::size_t count = hits[best].size();
  return UseSite{best, fmt::format("{}{}", shown[best], count > 1 ? fmt::format(", and {} more", count - 1) : "")};
}

FlagFinding judge_flag(const GivenFlag& given, const Schema& before, const Schema& after, const AuditInput& input) {
  const CommandLine& rules = input.profile.command_line;
  FlagFinding out;
  out.flag = given.flag;
  out.values = given.values;
  out.given = given.place;
  const Meant old = meant(before, rules, given.flag), now = meant(after, rules, given.flag);
  if (old.argument != nullptr) {
    out.old_place = old.argument->place;
    out.dest = old.argument->dest;
  }
  if (now.argument == nullptr) {
    if (now.candidates.size() > 1 && old.argument != nullptr) {
      out.verdict = Verdict::kAmbiguous;
      out.breaks = true;
      out.evidence = "begins " + join(now.candidates, ", ");
      // The full names that carry the old meaning: those that set the old destination.
      for (const Argument& a : after.arguments) {
        if (a.dest == old.argument->dest && !a.deprecated) out.successor = a.names[0];
      }
      return out;
    }
    if (old.argument != nullptr) {
      gone(out, *old.argument, before, after, input);
      return out;
    }
    out.breaks = true;
    out.verdict = Verdict::kUndefined;
    std::vector<std::string> names;
    for (const Argument& a : after.arguments) names.insert(names.end(), a.names.begin(), a.names.end());
    const std::string dashes = "--" + replace_all(given.flag.substr(std::min<std::size_t>(2, given.flag.size())), "_", "-");
    if (after.find(dashes) != nullptr) {
      out.successor = dashes;
      out.evidence = "defined with dashes";
    } else {
      out.evidence = "in neither version";
      if (const auto near = nearest(given.flag, names)) out.evidence += fmt::format("; the nearest spelling is {}", *near);
    }
    return out;
  }
  const Argument& a = *now.argument;
  out.new_place = a.place;
  out.dest = a.dest;
  const bool help = reads_help_only(input.profile);
  out.moved = !help && old.argument != nullptr && old.argument->place.file != a.place.file;
  if (old.argument == nullptr) {
    out.evidence = fmt::format("new: {}", cite(a.place, input.after));
  } else if (!help && old.argument->dest != a.dest) {
    out.verdict = Verdict::kValuesChanged;
    out.breaks = true;
    out.evidence = fmt::format("sets {} instead of {}: {}", a.dest, old.argument->dest, cite(a.place, input.after));
    return out;
  }
  if (const std::string value = withdrawn(given, old.argument, a); !value.empty()) {
    out.verdict = Verdict::kValuesChanged;
    out.breaks = true;
    out.evidence = fmt::format("\"{}\" is not among the values any more: {}", value, cite(a.place, input.after));
    return out;
  }
  if (old.argument != nullptr && old.argument->takes_value != a.takes_value) {
    out.verdict = Verdict::kValuesChanged;
    out.breaks = true;
    out.evidence = fmt::format("{} now: {}", a.takes_value ? "takes a value" : "takes no value", cite(a.place, input.after));
    return out;
  }
  if (a.deprecated) {
    out.verdict = a.ignored ? Verdict::kRemoved : Verdict::kDeprecated;
    out.breaks = a.ignored && (old.argument == nullptr || !old.argument->ignored);
    out.already = old.argument != nullptr && old.argument->deprecated;
    out.successor = a.successor;
    if (a.ignored && !a.successor.empty() && defined(after, a.successor)) out.verdict = Verdict::kRenamed;
    if (a.successor.empty()) {
      if (const Argument* same = after.of_dest(a.dest); same != nullptr && !same->deprecated) out.successor = same->names[0];
    }
    std::string notice = clip(a.notice, 200);
    std::ranges::replace(notice, '\n', ' ');
    out.evidence = fmt::format("{}{}", notice.empty() ? "" : "\"" + notice + "\" ", cite(a.place, input.after));
    return out;
  }
  if (now.abbreviated) {
    out.verdict = Verdict::kAlias;
    out.successor = now.candidates[0];
    out.already = old.abbreviated;
    out.evidence = fmt::format("an abbreviation that one option begins with: {}", cite(a.place, input.after));
    return out;
  }
  // The first name of its kind: "--no-x" stands beside "--x" and is no alias of it.
  const bool negated = given.flag.starts_with("--no-");
  const auto own = [&](const Argument& argument) {
    const auto at = std::ranges::find_if(argument.names, [&](const std::string& name) { return name.starts_with("--no-") == negated; });
    return at == argument.names.end() ? given.flag : *at;
  };
  const std::string written = rules.underscores && given.flag.starts_with("--") ? "--" + replace_all(given.flag.substr(2), "_", "-") : given.flag;
  const bool part = rules.dotted && written.find('.') != std::string::npos;
  if (!part && own(a) != written && own(a) != given.flag) {
    out.verdict = Verdict::kAlias;
    out.successor = own(a);
    out.already = old.argument != nullptr && own(*old.argument) != written;
    out.evidence = fmt::format("another name of {}: {}", out.successor, cite(a.place, input.after));
    return out;
  }
  if (out.evidence.empty()) out.evidence = cite(a.place, input.after);
  return out;
}

}  // namespace pawl::upstream
