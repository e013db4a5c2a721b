#include "upstream/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.h"
#include "upstream/clip.h"
#include "upstream/extract.h"

namespace pawl::upstream {
namespace {

using codec::Json;

std::string shown_value(const Json& value) { return value.is_string() ? value.get<std::string>() : codec::write_json(value, codec::JsonForm::kCompactUtf8); }

/// What the recipe gives a flag, as the engine would hold it.
FieldValue given_value(const GivenFlag& given, const Argument& argument) {
  FieldValue out{std::nullopt, true};
  if (!argument.takes_value) {
    out.value = !given.flag.starts_with("--no-");
    return out;
  }
  if (!given.literal || given.values.size() != 1) return out;
  const std::string& text = given.values[0];
  if (argument.type.find("int") != std::string::npos) {
    if (const auto whole = parse_int(text)) out.value = *whole;
  } else if (argument.type.find("float") != std::string::npos) {
    if (const auto real = parse_double(text)) out.value = *real;
  } else {
    out.value = text;
  }
  return out;
}

/// One version, read and seen through the recipe.
struct Side {
  const SourceTree& tree;
  Program program;
  Schema schema;
  DecisionSet found;
  Circumstances circumstances;
  std::map<std::string, FieldValue> pinned;

  Side(const SourceTree& source, const EngineProfile& profile) : tree(source), program(source, profile.default_of) {}
};

void read_side(Side& side, const AuditInput& input) { side.schema = extract_schema(side.tree, input.profile, side.program); }

/// Fields that the recipe sets in this version.
void pin(Side& side, const AuditInput& input) {
  for (const GivenFlag& given : input.recipe.flags) {
    std::string name = given.flag;
    const Argument* argument = side.schema.find(name);
    if (argument == nullptr && input.profile.command_line.underscores)
      argument = side.schema.find("--" + replace_all(name.substr(std::min<std::size_t>(2, name.size())), "_", "-"));
    if (argument == nullptr) continue;
    if (!input.recipe.resolved.empty()) {
      // An engine's log names every field: those at their default are not the recipe's doing.
      const auto value = input.recipe.resolved.find(argument->dest);
      if (value == input.recipe.resolved.end() || (argument->fallback && *argument->fallback == value->second)) continue;
      side.pinned[argument->dest] = {value->second, true};
      continue;
    }
    side.pinned[argument->dest] = given_value(given, *argument);
  }
}

/// What is known of every field: pinned ones, and defaults that no code of the engine changes here.
void settle(Side& side, const AuditInput& input) {
  side.circumstances.family = input.family;
  side.circumstances.architecture = input.architecture;
  std::map<std::string, std::vector<const Decision*>> by_field;
  for (const Decision& decision : side.found.decisions) by_field[decision.field].push_back(&decision);
  auto& fields = side.circumstances.fields;
  for (const auto& [dest, value] : side.pinned) fields[dest] = value;
  for (const Argument& a : side.schema.arguments) {
    if (!fields.contains(a.dest) && !by_field.contains(a.dest) && a.fallback) fields[a.dest] = {*a.fallback, false};
  }
  // A field whose every decision is known not to run keeps its default; that may settle further ones.
  for (int round = 0; round < 6; ++round) {
    bool more = false;
    std::map<std::string, FieldValue> found;
    for (const auto& [dest, decisions] : by_field) {
      if (fields.contains(dest)) continue;
      const Argument* a = side.schema.of_dest(dest);
      if (a == nullptr || !a->fallback) continue;
      // The default itself may be what keeps a decision from running.
      Circumstances with = side.circumstances;
      with.fields[dest] = {*a->fallback, false};
      ConditionReader trial(input.profile, side.program, with, &side.found.calls);
      if (std::ranges::all_of(decisions, [&](const Decision* d) { return trial.runs(*d).value == false; })) found[dest] = {*a->fallback, false};
    }
    for (auto& [dest, value] : found) {
      fields[dest] = std::move(value);
      more = true;
    }
    if (!more) break;
  }
}

/// The value of a decision in a form that survives refactoring: holders dropped, choices made, constants computed.
std::string value_form(const py::Expr& value, const Decision& decision, ConditionReader& reader, Program& program, const EngineProfile& profile) {
  if (value.kind == py::ExprKind::kConditional && value.items.size() == 3) {
    const Truth truth = reader.truth(value.items[1], decision.scope);
    if (truth.value) return value_form(value.items[*truth.value ? 0 : 2], decision, reader, program, profile);
    return value_form(value.items[0], decision, reader, program, profile) + " or " + value_form(value.items[2], decision, reader, program, profile);
  }
  if (const auto known = program.value(value, decision.scope)) return shown_value(*known);
  py::Expr plain = value;
  const auto strip = [&](auto&& self, py::Expr& expr) -> void {
    if (const std::string field = field_read(expr, profile); !field.empty()) expr = {py::ExprKind::kName, field, {}, {}, expr.line};
    for (py::Expr& item : expr.items) self(self, item);
  };
  strip(strip, plain);
  // Arithmetic says something; a variable or a call says where to look, and its name may change without its meaning.
  if (plain.kind == py::ExprKind::kBinary || plain.kind == py::ExprKind::kMinus) return py::write(plain);
  if (plain.kind == py::ExprKind::kName && plain.text == decision.field) return plain.text;
  std::string called = plain.called();
  while (called.starts_with('_')) called.erase(0, 1);
  return called.empty() ? "(computed)" : "(computed by " + called + ")";
}

/// Values that an engine's code may give a field, in one version.
struct Outcomes {
  std::map<std::string, std::vector<Place>> live;                                       ///< not known to be out of the question
  std::map<std::string, std::vector<std::string>> open;                                 ///< of these: conditions that are not known
  std::set<std::string> certain;                                                        ///< of these: known to happen
  std::map<std::string, std::pair<std::vector<std::string>, std::vector<Place>>> dead;  ///< with what rules them out
};

/// `first`: sees the field's default where nothing is known of it, as the first decision does; `reader`: does not.
void outcome(const Decision& decision, ConditionReader& first, ConditionReader& reader, Side& side, const Argument* own, const AuditInput& input, Outcomes& o) {
  Truth truth = first.runs(decision);
  // A later decision may find what an earlier one left: only what is out of the question either way is dead.
  if (truth.value == false) {
    Truth plain = reader.runs(decision);
    if (plain.value != false) truth = std::move(plain);
  }
  const std::string form = value_form(decision.value, decision, reader, side.program, input.profile);
  if (form == decision.field) return;  // x = x
  if (truth.value == false) {
    auto& dead = o.dead[form];
    if (dead.first.empty()) dead.first = truth.reasons;
    dead.second.push_back(decision.place);
  } else {
    // Setting what is there anyway changes nothing.
    if (!side.pinned.contains(decision.field) && own != nullptr && own->fallback && shown_value(*own->fallback) == form) return;
    o.live[form].push_back(decision.place);
    if (truth.value == true) o.certain.insert(form);
    auto& open = o.open[form];
    for (const std::string& condition : truth.unknown) {
      if (open.size() < 3 && std::ranges::find(open, condition) == open.end()) open.push_back(condition);
    }
  }
}

std::map<std::string, Outcomes> outcomes_of(Side& side, const AuditInput& input) {
  std::map<std::string, Outcomes> out;
  std::map<std::string, std::vector<const Decision*>> by_field;
  for (const Decision& decision : side.found.decisions) by_field[decision.field].push_back(&decision);
  ConditionReader plain(input.profile, side.program, side.circumstances, &side.found.calls);
  for (const auto& [field, decisions] : by_field) {
    Circumstances circumstances = side.circumstances;
    const Argument* own = side.schema.of_dest(field);
    if (own != nullptr && own->fallback && !circumstances.fields.contains(field)) circumstances.fields[field] = {*own->fallback, false};
    ConditionReader reader(input.profile, side.program, circumstances, &side.found.calls);
    for (const Decision* decision : decisions) outcome(*decision, reader, plain, side, own, input, out[field]);
  }
  return out;
}

std::pair<Effect, std::string> effect_of(const std::vector<std::string>& reasons, const std::string& dest, bool pinned) {
  for (const std::string& reason : reasons) {
    if (pinned && reason == "flag:" + dest) return {Effect::kPinned, dest};
  }
  for (const std::string& reason : reasons) {
    if (reason.starts_with("hardware:")) return {Effect::kOtherHardware, reason.substr(9)};
  }
  for (const std::string& reason : reasons) {
    if (reason.starts_with("flag:")) return {Effect::kGated, reason.substr(5)};
  }
  for (const std::string& reason : reasons) {
    if (reason == "model") return {Effect::kOtherModel, ""};
  }
  return {Effect::kGated, reasons.empty() ? std::string() : reasons[0].substr(reasons[0].find(':') + 1)};
}

std::string flag_for(const std::string& dest, const Side& after, const Side& before) {
  if (const Argument* a = after.schema.of_dest(dest)) return a->names[0];
  if (const Argument* a = before.schema.of_dest(dest)) return a->names[0];
  return dest;
}

/// The field that keeps `dest` from mattering, by the profile's gates: the recipe sets none of those it needs. Empty: none.
std::string closed_gate(const std::string& dest, const Side& after, const EngineProfile& profile) {
  std::string first;
  for (const Gate& gate : profile.gates) {
    if (!glob_match(gate.fields, dest) || gate.needs == dest || after.schema.of_dest(gate.needs) == nullptr) continue;
    if (after.pinned.contains(gate.needs)) return {};
    if (first.empty()) first = gate.needs;
  }
  return first;
}

void decided_defaults(Side& before, Side& after, const AuditInput& input, AuditReport& report) {
  const auto old = outcomes_of(before, input), now = outcomes_of(after, input);
  std::set<std::string> fields;
  for (const auto& [field, o] : old) fields.insert(field);
  for (const auto& [field, o] : now) fields.insert(field);
  static const Outcomes kNone;
  for (const std::string& field : fields) {
    // A field of one version only is a new or a removed option, and said there.
    const Argument* own = after.schema.of_dest(field);
    if (before.schema.of_dest(field) == nullptr || own == nullptr || own->deprecated) continue;
    const Outcomes& a = old.contains(field) ? old.at(field) : kNone;
    const Outcomes& b = now.contains(field) ? now.at(field) : kNone;
    DefaultFinding live{flag_for(field, after, before), field, true, {}, {}, Effect::kMayAffect, "", {}, {}};
    const bool pinned = after.pinned.contains(field);
    for (const auto& [form, places] : a.live) {
      if (b.live.contains(form)) continue;
      live.old_values.push_back(form);
      live.old_places.insert(live.old_places.end(), places.begin(), places.end());
    }
    for (const auto& [form, places] : b.live) {
      if (a.live.contains(form)) continue;
      live.new_values.push_back(form);
      live.new_places.insert(live.new_places.end(), places.begin(), places.end());
      if (b.certain.contains(form)) live.effect = Effect::kAffects;
    }
    if (!live.old_values.empty() || !live.new_values.empty()) {
      std::vector<std::string> open;
      for (const auto* side : {&b, &a}) {
        const auto& values = side == &b ? live.new_values : live.old_values;
        for (const std::string& form : values) {
          const auto conditions = side->open.find(form);
          if (conditions != side->open.end() && open.empty()) open = conditions->second;
        }
      }
      if (live.effect == Effect::kMayAffect && !open.empty()) live.because = join(open, "; ");
      if (const auto gate = closed_gate(field, after, input.profile); !gate.empty() && !pinned) {
        live.effect = Effect::kGated;
        live.because = gate;
      }
      report.defaults.push_back(std::move(live));
    }
    // What is new but out of the question here, by what rules it out.
    std::map<std::pair<Effect, std::string>, DefaultFinding> out;
    for (const auto& [form, why] : b.dead) {
      if (a.dead.contains(form) || a.live.contains(form) || b.live.contains(form)) continue;
      const auto key = effect_of(why.first, field, pinned);
      DefaultFinding& d =
          out.try_emplace(key, DefaultFinding{flag_for(field, after, before), field, true, {}, {}, key.first, key.second, {}, {}}).first->second;
      d.new_values.push_back(form);
      d.new_places.insert(d.new_places.end(), why.second.begin(), why.second.end());
    }
    for (const auto& [form, why] : a.dead) {
      if (b.dead.contains(form) || b.live.contains(form) || a.live.contains(form)) continue;
      const auto key = effect_of(why.first, field, pinned);
      DefaultFinding& d =
          out.try_emplace(key, DefaultFinding{flag_for(field, after, before), field, true, {}, {}, key.first, key.second, {}, {}}).first->second;
      d.old_values.push_back(form);
      d.old_places.insert(d.old_places.end(), why.second.begin(), why.second.end());
    }
    for (auto& [key, finding] : out) report.defaults.push_back(std::move(finding));
  }
}

void own_defaults(const Side& before, const Side& after, const AuditInput& input, AuditReport& report) {
  std::vector<std::string> unread;
  std::set<std::string> seen;
  for (const Argument& b : after.schema.arguments) {
    if (b.deprecated || !seen.insert(b.dest).second) continue;
    const Argument* a = before.schema.of_dest(b.dest);
    if (a == nullptr || a->deprecated) continue;
    if (a->fallback && b.fallback) {
      if (*a->fallback == *b.fallback) continue;
    } else if (a->fallback_text == b.fallback_text) {
      continue;
    } else if (!a->fallback_text.empty() && !b.fallback_text.empty()) {
      unread.push_back(b.names[0]);
      continue;
    } else {
      // No default and None are the same to a parser.
      const auto& one = a->fallback ? a->fallback : b.fallback;
      if (one && one->is_null()) continue;
      if (a->fallback_text.empty() != b.fallback_text.empty()) {
        unread.push_back(b.names[0]);  // one side says nothing: that is not known, not changed
        continue;
      }
    }
    DefaultFinding d{b.names[0],
                     b.dest,
                     false,
                     {a->fallback ? shown_value(*a->fallback) : a->fallback_text},
                     {b.fallback ? shown_value(*b.fallback) : b.fallback_text},
                     Effect::kAffects,
                     "",
                     {a->place},
                     {b.place}};
    if (after.pinned.contains(b.dest)) {
      d.effect = Effect::kPinned;
      d.because = b.dest;
    } else {
      d.because = closed_gate(b.dest, after, input.profile);
      if (!d.because.empty()) d.effect = Effect::kGated;
    }
    report.defaults.push_back(std::move(d));
  }
  if (!unread.empty())
    report.uncertain.push_back(fmt::format("defaults that could not be computed from the source, and are written differently: {}", join(unread, ", ")));
}

void effective(const Side& before, const Side& after, const AuditReport& findings, AuditReport& report) {
  const auto value = [](const Side& side, const std::string& dest) -> std::string {
    const auto at = side.circumstances.fields.find(dest);
    if (at == side.circumstances.fields.end()) return "?";
    return at->second.value ? shown_value(*at->second.value) : "(set when the script runs)";
  };
  std::set<std::string> done;
  for (const auto& [dest, pinned] : after.pinned) {
    done.insert(dest);
    const std::string a = value(before, dest), b = value(after, dest);
    report.effective.push_back({dest, a, b, a != b});
  }
  for (const DefaultFinding& d : findings.defaults) {
    if ((d.effect != Effect::kAffects && d.effect != Effect::kMayAffect) || !done.insert(d.dest).second) continue;
    const std::string a = d.old_values.empty() ? value(before, d.dest) : join(d.old_values, " or "),
                      b = d.new_values.empty() ? value(after, d.dest) : join(d.new_values, " or ");
    report.effective.push_back({d.dest, a, b, a != b});
  }
}

std::vector<std::int64_t> version_numbers(const std::string& text) {
  std::vector<std::int64_t> out;
  std::size_t at = text.find_first_of("0123456789");
  while (at != std::string::npos && at < text.size() && out.size() < 8) {
    std::size_t end = at;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    out.push_back(parse_int(text.substr(at, end - at)).value_or(0));
    at = text.find_first_of("0123456789", end);
  }
  return out;
}

void compare_dependencies(const AuditInput& input, AuditReport& report) {
  const auto gather = [&](const SourceTree& tree) {
    std::map<std::string, std::pair<std::vector<std::string>, Place>> out;
    for (const Dependency& d : read_dependencies(tree, input.profile.dependencies)) {
      std::string key = d.name;
      const std::size_t extra = d.marker.find("extra ==");
      if (extra != std::string::npos) {
        const std::size_t quote = d.marker.find_first_of("'\"", extra);
        if (quote != std::string::npos) key += fmt::format(" (extra {})", d.marker.substr(quote + 1, d.marker.find_first_of("'\"", quote + 1) - quote - 1));
      }
      auto& entry = out[key];
      const std::string text = d.requirement.empty() ? "any" : d.requirement;
      if (std::ranges::find(entry.first, text) == entry.first.end()) entry.first.push_back(text);
      if (entry.second.file.empty()) entry.second = d.place;
    }
    return out;
  };
  const auto old = gather(input.before), now = gather(input.after);
  std::set<std::string> names;
  for (const auto& [name, d] : old) names.insert(name);
  for (const auto& [name, d] : now) names.insert(name);
  for (const std::string& name : names) {
    DependencyFinding f;
    f.name = name;
    if (const auto at = old.find(name); at != old.end()) {
      f.before = join(at->second.first, " | ");
      f.old_place = at->second.second;
    }
    if (const auto at = now.find(name); at != now.end()) {
      f.after = join(at->second.first, " | ");
      f.new_place = at->second.second;
    }
    if (f.before == f.after) continue;
    const std::string plain = name.substr(0, name.find(" ("));
    f.coupled =
        std::ranges::find(input.profile.dependencies.coupled, plain) != input.profile.dependencies.coupled.end() || plain == "cuda-base" || plain == "driver";
    const auto a = version_numbers(f.before), b = version_numbers(f.after);
    f.direction = f.before.empty() ? "added" : f.after.empty() ? "removed" : a < b ? "up" : b < a ? "down" : "changed";
    report.dependencies.push_back(std::move(f));
  }
  std::ranges::stable_sort(report.dependencies, [](const DependencyFinding& a, const DependencyFinding& b) { return a.coupled > b.coupled; });
  if (old.empty() && now.empty()) {
    report.uncertain.emplace_back("no METADATA, pyproject.toml, requirements or Dockerfile in these sources: dependencies were not compared");
  } else if (!old.contains("cuda-base") && !now.contains("cuda-base")) {
    report.uncertain.emplace_back("no Dockerfile in these sources: the CUDA base image and its driver requirement were not compared");
  }
}

std::string counted(const std::map<std::string, std::size_t>& files) {
  std::vector<std::string> parts;
  for (const auto& [file, count] : files) parts.push_back(fmt::format("{} {}", file, count));
  if (parts.size() > 12) {
    const std::size_t more = parts.size() - 12;
    parts.resize(12);
    parts.push_back(fmt::format("and {} more files", more));
  }
  return join(parts, ", ");
}

void moved_parts(const Side& before, const Side& after, const AuditInput& input, AuditReport& report) {
  if (reads_help_only(input.profile)) return;
  const auto definitions = [](const Side& side) {
    std::map<std::string, std::size_t> out;
    for (const Argument& a : side.schema.arguments) ++out[a.place.file];
    return out;
  };
  const auto decisions = [](const Side& side) {
    std::map<std::string, std::size_t> out;
    for (const Decision& d : side.found.decisions) ++out[d.place.file];
    return out;
  };
  const auto files = [](const std::map<std::string, std::size_t>& counts) {
    std::set<std::string> out;
    for (const auto& [file, count] : counts) out.insert(file);
    return out;
  };
  const auto a = definitions(before), b = definitions(after);
  if (files(a) != files(b)) report.moved.push_back({"definitions", counted(a), counted(b)});
  const auto c = decisions(before), d = decisions(after);
  if (files(c) != files(d)) report.moved.push_back({"decisions", counted(c), counted(d)});
}

std::string first_sentence(const std::string& help) {
  std::string text = clip(help, 400);
  std::ranges::replace(text, '\n', ' ');
  const std::size_t end = text.find(". ");
  text = end != std::string::npos ? text.substr(0, end + 1) : text;
  if (text.size() > 160) text = clip(std::move(text), 157) + "…";
  return text;
}

void options(const Side& before, const Side& after, const AuditInput& input, AuditReport& report) {
  for (const Argument& a : after.schema.arguments) {
    const bool known = std::ranges::any_of(a.names, [&](const std::string& name) { return before.schema.find(name) != nullptr; });
    if (!known && before.schema.of_dest(a.dest) == nullptr) report.added.push_back({a.names[0], first_sentence(a.help), a.deprecated, a.place});
  }
  std::set<std::string> used;
  for (const FlagFinding& f : report.flags) used.insert(f.flag);
  for (const Argument& a : before.schema.arguments) {
    for (const std::string& name : a.names) {
      if (used.contains(name)) continue;
      FlagFinding f = judge_flag({name, {}, true, false, {}}, before.schema, after.schema, input);
      const Argument* now = after.schema.find(name);
      if (now != nullptr && a.choices && now->choices) {
        std::vector<std::string> lost;
        for (const std::string& choice : *a.choices) {
          if (std::ranges::find(*now->choices, choice) == now->choices->end()) lost.push_back(choice);
        }
        if (!lost.empty() && name == a.names[0]) {
          report.others.push_back({name, Verdict::kValuesChanged, "", "withdrawn: " + join(lost, ", "), a.place, now->place});
          continue;
        }
      }
      if (f.verdict == Verdict::kDefined || f.verdict == Verdict::kAlias || (f.verdict == Verdict::kDeprecated && f.already)) continue;
      if (!f.breaks && f.already) continue;
      report.others.push_back({name, f.verdict, f.successor, f.evidence, a.place, f.new_place});
    }
  }
  for (const EnvironmentName& name : before.schema.environment) {
    const EnvironmentName* now = after.schema.environment_of(name.name);
    if (now == nullptr && name.declared) report.others.push_back({name.name, Verdict::kRemoved, "", "", name.place, {}});
    if (now != nullptr && now->deprecated && !name.deprecated)
      report.others.push_back({name.name, Verdict::kDeprecated, now->successor, now->notice, name.place, now->place});
  }
}

void judge_environment(const Side& before, const Side& after, const AuditInput& input, AuditReport& report) {
  for (const GivenEnvironment& given : input.recipe.environment) {
    const auto& prefixes = input.profile.environment.prefixes;
    if (std::ranges::none_of(prefixes, [&](const std::string& p) { return given.name.starts_with(p); })) continue;
    FlagFinding f;
    f.flag = given.name;
    f.values = {given.value};
    f.given = given.place;
    const EnvironmentName *old = before.schema.environment_of(given.name), *now = after.schema.environment_of(given.name);
    if (old != nullptr) f.old_place = old->place;
    if (now != nullptr) {
      f.new_place = now->place;
      f.moved = old != nullptr && old->place.file != now->place.file;
      f.evidence = now->place.text();
      if (now->deprecated) {
        f.verdict = Verdict::kDeprecated;
        f.successor = now->successor;
        f.already = old != nullptr && old->deprecated;
        if (!now->notice.empty()) f.evidence = "\"" + now->notice + "\" " + f.evidence;
      }
    } else {
      // A name that nobody reads breaks nothing at once; that is why it must be said.
      f.verdict = old != nullptr ? Verdict::kRemoved : Verdict::kUndefined;
      f.breaks = old != nullptr;
      f.evidence = old != nullptr ? fmt::format("read at {}, nowhere in the new version", old->place.text()) : "read in neither version";
    }
    report.environment.push_back(std::move(f));
  }
}

void compare_endpoints(const Side& before, const Side& after, AuditReport& report) {
  const auto missing = [](const Schema& from, const Schema& in, std::vector<OptionFinding>& out) {
    for (const Endpoint& e : from.endpoints) {
      if (std::ranges::none_of(in.endpoints, [&](const Endpoint& other) { return other.path == e.path; }) &&
          std::ranges::none_of(out, [&](const OptionFinding& o) { return o.flag == e.path; })) {
        out.push_back({e.path, e.method, false, e.place});
      }
    }
  };
  missing(after.schema, before.schema, report.endpoints_added);
  missing(before.schema, after.schema, report.endpoints_removed);
}

SideFacts facts(const Side& side) {
  return {side.tree.shown,
          side.tree.revision,
          side.tree.origin,
          side.schema.arguments.size(),
          side.schema.names(),
          side.schema.environment.size(),
          side.found.decisions.size()};
}

}  // namespace

std::size_t AuditReport::breaking() const {
  const auto count = [](const std::vector<FlagFinding>& all) { return static_cast<std::size_t>(std::ranges::count_if(all, &FlagFinding::breaks)); };
  return count(flags) + count(environment);
}

void add_images(AuditReport& report, const EngineProfile& profile, const std::string& before_name, const ImageFacts& before, const std::string& after_name,
                const ImageFacts& after) {
  const auto one = [&](const char* side, const std::string& name, const ImageFacts& facts, const SideFacts& source) {
    Provenance p{side, name, facts.digest, facts.created, "", "", true, true};
    if (const auto commit = source_commit(facts)) {
      p.commit = commit->commit;
      p.label = commit->label;
      p.agree = commit->agree;
      // Only a commit can be held against a commit; a version says nothing here.
      const bool comparable = source.revision.size() == 40;
      p.matches = !comparable || source.revision.starts_with(p.commit);
      if (!p.agree) report.uncertain.push_back(fmt::format("{}: its labels name different commits", name));
      if (!p.matches) report.uncertain.push_back(fmt::format("{}: built from {}, but the source compared is {}", name, p.commit, source.revision));
    } else {
      report.uncertain.push_back(fmt::format("{}: no label names its source commit", name));
    }
    report.provenance.push_back(std::move(p));
  };
  one("old", before_name, before, report.before);
  one("new", after_name, after, report.after);
  std::vector<std::string> names = profile.dependencies.coupled;
  names.insert(names.begin(), {"cuda", "python"});
  names.insert(names.end(), profile.packages.begin(), profile.packages.end());
  report.identity = identity_lines(before, after, names);
  for (const std::string& key : profile.dependencies.driver) {
    const auto a = before.environment.find(key), b = after.environment.find(key);
    const std::string x = a == before.environment.end() ? "" : a->second, y = b == after.environment.end() ? "" : b->second;
    if (x != y) report.identity.push_back(fmt::format("{} \"{}\" → \"{}\" (image environment)", key, x, y));
  }
  for (const ImageFacts* facts : {&before, &after}) {
    report.uncertain.insert(report.uncertain.end(), facts->notes.begin(), facts->notes.end());
  }
}

AuditReport audit(const AuditInput& input) {
  Side before(input.before, input.profile), after(input.after, input.profile);
  read_side(before, input);
  read_side(after, input);
  std::set<std::string> fields;
  for (const Side* side : {&before, &after}) {
    for (const Argument& a : side->schema.arguments) fields.insert(a.dest);
  }
  for (Side* side : {&before, &after}) {
    side->found = extract_decisions(side->tree, input.profile, side->program, fields);
    pin(*side, input);
    settle(*side, input);
  }
  AuditReport report;
  report.engine = input.profile.engine;
  report.gpu = input.gpu;
  report.family = input.family;
  report.architecture = input.architecture;
  report.before = facts(before);
  report.after = facts(after);
  for (const GivenFlag& given : input.recipe.flags) {
    if (!input.recipe.resolved.empty() && before.schema.find(given.flag) == nullptr && after.schema.find(given.flag) == nullptr) continue;
    report.flags.push_back(judge_flag(given, before.schema, after.schema, input));
  }
  judge_environment(before, after, input, report);
  own_defaults(before, after, input, report);
  decided_defaults(before, after, input, report);
  effective(before, after, report, report);
  compare_dependencies(input, report);
  moved_parts(before, after, input, report);
  options(before, after, input, report);
  compare_endpoints(before, after, report);
  for (const Side* side : {&before, &after}) {
    if (side->schema.arguments.empty()) {
      report.uncertain.push_back(
          fmt::format("no argument was found in {}: the layout of its sources is not the one that data/upstream knows", side->tree.shown));
    }
    for (const std::string& problem : side->schema.problems) report.uncertain.push_back(fmt::format("{}: {}", side->tree.shown, problem));
  }
  if (report.family.empty()) report.uncertain.emplace_back("the GPU is not known (--gpu): conditions on its generation were not decided");
  if (report.architecture.empty() && !input.profile.architecture.empty()) {
    report.uncertain.emplace_back("the model's architecture is not known (--architecture): conditions on it were not decided");
  }
  return report;
}

}  // namespace pawl::upstream
