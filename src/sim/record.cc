#include "sim/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "codec/describe.h"
#include "sim/closing.h"
#include "sim/planted.h"

namespace pawl::sim {
namespace {

constexpr int kInvariants = 26;
constexpr std::int64_t kSeedsToTry = 20'000;

std::string thousands(std::int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string schedules_table(const std::vector<Record>& kinds) {
  std::string text = "| database | seeds | schedules | lives | steps | calls | broken |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n";
  for (const Record& r : kinds) {
    text += fmt::format("| {} | {} to {} | {} | {} | {} | {} | {} |\n", r.kind, thousands(r.first), thousands(r.first + r.count - 1), thousands(r.count),
                        thousands(r.lives), thousands(r.steps), thousands(r.calls), r.broken);
  }
  return text;
}

/// One defect after the other is looked for, seed by seed.
std::string faults_table(Player& player, const std::vector<PlantedFault>& faults) {
  std::string text = "| defect | invariant that catches it | first seed | what it says |\n| --- | ---: | ---: | --- |\n";
  for (const PlantedFault& fault : faults) {
    std::string found = "| not caught | | |\n";
    for (std::int64_t seed = 1; seed <= kSeedsToTry; ++seed) {
      const Played played = player.play(scenario_of(seed), fault.options);
      if (!played.violation) continue;
      found = fmt::format("| {} | {} | {} |\n", played.violation->number, seed, played.violation->text);
      break;
    }
    text += fmt::format("| {} {}", fault.name, found);
  }
  return text;
}

std::string close_table(Player& player) {
  std::string text = "| closed in | reaction (s) | live runs | branch | receipt |\n| --- | ---: | ---: | --- | --- |\n";
  for (const CloseCase& where : close_cases()) {
    const Closed closed = close_in(player, where);
    text += fmt::format("| {} | {} | {} | {} | {} |\n", where.name(), closed.reaction_s, closed.live_runs, closed.branch_gone ? "gone" : "there",
                        closed.receipts == 1 ? "one, *stopped*" : fmt::format("{}", closed.receipts));
  }
  return text;
}

std::string coverage_table(const std::vector<std::int64_t>& rows) {
  const auto& table = control::transition_table();
  std::string text = fmt::format("{:<10} {:<18} {:<20} {:<18} {:>12}\n", "RULE", "FROM", "EVENT", "GUARD", "TAKEN");
  for (std::size_t i = 0; i < table.size() && i < rows.size(); ++i) {
    const control::Transition& t = table[i];
    text += fmt::format("{:<10} {:<18} {:<20} {:<18} {:>12}\n", t.rule, codec::enum_text(t.from), codec::enum_text(t.on),
                        t.guard == control::Guard::kAlways ? "" : codec::enum_text(t.guard), thousands(rows[i]));
  }
  return text;
}

void sum(std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from) {
  to.resize(std::max(to.size(), from.size()));
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

}  // namespace

void Record::add(const Played& played) {
  ++count;
  broken += played.violation ? 1 : 0;
  lives += played.lives;
  steps += played.steps;
  calls += played.points;
  ++outcomes[played.candidate && played.candidate->outcome ? codec::enum_text(*played.candidate->outcome) : "none"];
  rows.resize(control::transition_table().size());
  checked.resize(kInvariants);
  for (const auto& [row, n] : played.rows) rows.at(static_cast<std::size_t>(row)) += n;
  for (const auto& [number, n] : played.checked) checked.at(static_cast<std::size_t>(number) - 1) += n;
}

void Record::add(const Record& other) {
  first = count == 0 ? other.first : std::min(first, other.first);
  count += other.count;
  broken += other.broken;
  lives += other.lives;
  steps += other.steps;
  calls += other.calls;
  seconds += other.seconds;
  for (const auto& [name, n] : other.outcomes) outcomes[name] += n;
  sum(rows, other.rows);
  sum(checked, other.checked);
}

Result<Record> read_record(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) return not_found("no record " + file.string(), "tests/long/crash-schedules.sh makes them");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  PAWL_ASSIGN(const codec::Json json, codec::parse_json(text, file.string()));
  PAWL_ASSIGN(Record record, codec::from_json<Record>(json, file.string()));
  if (record.rows.size() != control::transition_table().size()) {
    return bad_input(fmt::format("{}: {} rows, and the table has {}", file.string(), record.rows.size(), control::transition_table().size()),
                     "it was made with another table: play its seeds again");
  }
  return record;
}

Status write_record(const std::filesystem::path& file, const Record& record) {
  std::ofstream out(file);
  out << codec::write_json_pretty(codec::to_json(record));
  out.flush();
  if (!out) return machine_error("cannot write " + file.string(), "look at the disk");
  return {};
}

const char* invariant_name(int number) {
  static constexpr const char* kNames[kInvariants] = {"one live candidate of a family, one live session",
                                                      "no dispatch without frozen baseline, fresh capacity, stored intent",
                                                      "no two active runs of one purpose",
                                                      "the baseline in the body never changes",
                                                      "repairs: at most five, rising, as in the ledger",
                                                      "at most two retries of an attempt, on its head",
                                                      "a draft until verified",
                                                      "at most one sweep label, none while pushing",
                                                      "passed only after success",
                                                      "validated: a successful run at the head, complete",
                                                      "ended: every run is terminal",
                                                      "closed: no label, no branch of ours",
                                                      "closed by a person: nothing new, all cancelled",
                                                      "handed off: no mutation",
                                                      "a fresh look before every mutation",
                                                      "every effect once",
                                                      "every comment in both languages",
                                                      "printed deltas are those of the stored values",
                                                      "no mention, no foreign text in a comment",
                                                      "main's changelog is a prefix of the head's",
                                                      "the final sweep has every frozen point",
                                                      "no dead claim",
                                                      "unknown is never zero",
                                                      "the receipt lists every run found",
                                                      "every state ends",
                                                      "label off, main's bytes, proofs, capacity, label on, in this order (section 15)"};
  return number >= 1 && number <= kInvariants ? kNames[number - 1] : "?";
}

std::string tables(const std::vector<Record>& records) {
  std::vector<Record> kinds;
  Record all;
  for (const Record& record : records) {
    auto kind = std::ranges::find(kinds, record.kind, &Record::kind);
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), Record{.kind = record.kind});
    kind->add(record);
    all.add(record);
  }
  Player player;
  std::string text = "## Schedules\n\n" + schedules_table(kinds);
  text += "\n| outcome | schedules |\n| --- | ---: |\n";
  for (const auto& [name, n] : all.outcomes) text += fmt::format("| {} | {} |\n", name == "none" ? "refused at the start" : name, thousands(n));
  text += "\n## Invariants\n\n| | invariant | looked at |\n| ---: | --- | ---: |\n";
  for (int number = 1; number <= kInvariants; ++number) {
    text += fmt::format("| {} | {} | {} |\n", number, invariant_name(number),
                        thousands(all.checked.empty() ? 0 : all.checked[static_cast<std::size_t>(number) - 1]));
  }
  text += "\n## Planted defects\n\n" + faults_table(player, planted_faults());
  text += "\nTwo neighbouring steps of taking main's bytes in the wrong order:\n\n" + faults_table(player, swapped_maintenance());
  text +=
      "\n## A person closes the request\n\nRuns go on by themselves. While the candidate is parked no process is there; `pawl upgrade watch` looks every 30 "
      "s.\n\n" +
      close_table(player);
  const auto taken = std::ranges::count_if(all.rows, [](std::int64_t n) { return n > 0; });
  text += fmt::format("\n## Transitions\n\n{} of {} rows of the table were taken.\n\n```text\n{}```\n", taken, control::transition_table().size(),
                      coverage_table(all.rows));
  return text;
}

}  // namespace pawl::sim
