#include "control/table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"
#include "codec/describe.h"
#include "control/decide.h"

namespace pawl::control {
namespace {

std::string guard_text(Guard guard) { return guard == Guard::kAlways ? std::string() : codec::enum_text(guard); }

std::string commands_text(const Transition& t) {
  std::vector<std::string> all;
  for (const Step& step : t.commands) {
    all.push_back(codec::enum_text(step.kind) + (step.delay == Delay::kNone ? "" : " after " + codec::enum_text(step.delay)));
  }
  return join(all, ", ");
}

std::string line(const std::string& rule, const std::string& from, const std::string& event, const std::string& guard, const std::string& to,
                 const std::string& commands) {
  const std::string text = fmt::format("{:<10} {:<18} {:<20} {:<17} {:<18} {}", rule, from, event, guard, to, commands);
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

std::string table_text() {
  std::string text = line("RULE", "FROM", "EVENT", "GUARD", "TO", "COMMANDS");
  struct Group {
    std::vector<std::string> from;
    const Transition* row = nullptr;
  };
  std::vector<std::pair<std::string, Group>> groups;
  for (const Transition& t : transition_table()) {
    if (!t.any_state) {
      text += line(t.rule, codec::enum_text(t.from), codec::enum_text(t.on), guard_text(t.guard), codec::enum_text(t.to), commands_text(t));
      continue;
    }
    const std::string key = fmt::format("{}/{}/{}/{}", t.rule, codec::enum_text(t.on), t.overlay ? "same" : codec::enum_text(t.to), commands_text(t));
    auto group = std::ranges::find(groups, key, &std::pair<std::string, Group>::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {key, Group{{}, &t}});
    group->second.from.push_back(codec::enum_text(t.from));
  }
  std::vector<std::vector<std::string>> sets;
  for (const auto& [key, group] : groups) {
    std::string from = join(group.from, "|");
    if (group.from.size() > 1) {
      auto known = std::ranges::find(sets, group.from);
      if (known == sets.end()) known = sets.insert(sets.end(), group.from);
      from = fmt::format("({})", known - sets.begin() + 1);
    }
    text += line(group.row->rule, from, codec::enum_text(group.row->on), guard_text(group.row->guard),
                 group.row->overlay ? "the same" : codec::enum_text(group.row->to), commands_text(*group.row));
  }
  text += "\n";
  for (std::size_t i = 0; i < sets.size(); ++i) text += fmt::format("({}) {}\n", i + 1, join(sets[i], ", "));
  return text;
}

codec::Json table_json() {
  codec::Json rows = codec::Json::array();
  for (const Transition& t : transition_table()) {
    codec::Json commands = codec::Json::array();
    for (const Step& step : t.commands) commands.push_back({{"command", codec::enum_text(step.kind)}, {"delay", codec::enum_text(step.delay)}});
    rows.push_back({{"rule", t.rule},
                    {"from", codec::enum_text(t.from)},
                    {"event", codec::enum_text(t.on)},
                    {"guard", guard_text(t.guard)},
                    {"to", codec::enum_text(t.to)},
                    {"commands", commands},
                    {"any_state", t.any_state},
                    {"overlay", t.overlay}});
  }
  return rows;
}

std::string diagram_text() {
  // A state's name holds hyphens, which the language of the diagram does not take.
  const auto name = [](State state) {
    std::string text = codec::enum_text(state);
    std::ranges::replace(text, '-', '_');
    return text;
  };
  std::map<std::pair<State, State>, std::vector<std::string>> arrows;
  for (const Transition& t : transition_table()) {
    if (t.any_state || t.from == t.to) continue;
    auto& events = arrows[{t.from, t.to}];
    const std::string event = codec::enum_text(t.on);
    if (std::ranges::find(events, event) == events.end()) events.push_back(event);
  }
  std::string text = "stateDiagram-v2\n  [*] --> discovered\n";
  for (const auto& [ends, events] : arrows) text += fmt::format("  {} --> {}: {}\n", name(ends.first), name(ends.second), join(events, ", "));
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<State>>([&](auto d) {
    if (terminal(d.value)) text += fmt::format("  {} --> [*]\n", name(d.value));
  });
  return text;
}

}  // namespace pawl::control
