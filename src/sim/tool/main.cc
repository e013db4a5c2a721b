#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "codec/describe.h"
#include "sim/play.h"

// pawl-sim: many schedules in one process. Built for the long jobs and for replaying what they found; not shipped.
namespace {

using namespace pawl;

int usage() {
  std::cerr << "pawl-sim run FIRST COUNT [FILE]   plays the scenarios of these seeds; FILE: a database on disk instead of in memory\n"
               "pawl-sim replay SCENARIO.json [--trace|--thread]   plays one scenario and says what it came to; --trace: every event;\n"
               "                                  --thread: the request and its comments\n"
               "pawl-sim crowd N                  N candidates at once in one database\n";
  return 2;
}

std::string describe(const sim::Played& played) {
  std::string text = fmt::format("{} steps, {} lives, {} calls, hash {:016x}", played.steps, played.lives, played.points, played.hash);
  if (played.candidate) {
    text += fmt::format("; {} {} ({}) {}", codec::enum_text(played.candidate->state),
                        played.candidate->outcome ? codec::enum_text(*played.candidate->outcome) : "-", played.candidate->reason, played.candidate->detail);
  }
  return text;
}

int run(std::int64_t first, std::int64_t count, const std::string& file) {
  sim::Player player;
  sim::PlayOptions options;
  options.file = file;
  std::map<int, std::int64_t> rows, checked;
  std::map<std::string, std::int64_t> outcomes;
  std::int64_t broken = 0, lives = 0, steps = 0;
  const auto began = std::chrono::steady_clock::now();
  for (std::int64_t seed = first; seed < first + count; ++seed) {
    const sim::Scenario scenario = sim::scenario_of(seed);
    const sim::Played played = player.play(scenario, options);
    for (const auto& [row, n] : played.rows) rows[row] += n;
    for (const auto& [number, n] : played.checked) checked[number] += n;
    lives += played.lives;
    steps += played.steps;
    outcomes[played.candidate && played.candidate->outcome ? codec::enum_text(*played.candidate->outcome) : "none"] += 1;
    if (played.violation) {
      ++broken;
      fmt::print("seed {}: invariant {}: {}\n", seed, played.violation->number, played.violation->text);
      const std::string name = fmt::format("scenario-{}.json", seed);
      std::ofstream(name) << sim::write_scenario(sim::shrink(player, scenario, options, played.violation->number)) << "\n";
      fmt::print("  shrunk into {}; pawl-sim replay {}\n", name, name);
      if (broken >= 20) break;
    }
    const std::int64_t done = seed - first + 1;
    if (done % 10'000 == 0) {
      const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      fmt::print("{} schedules, next seed {}, {:.0f}/s\n", done, seed + 1, static_cast<double>(done) / s);
      std::fflush(stdout);
    }
  }
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  fmt::print("{} schedules in {:.1f} s ({:.0f}/s), {} lives, {} steps, {} broken\n", count, s, static_cast<double>(count) / s, lives, steps, broken);
  for (const auto& [name, n] : outcomes) fmt::print("  outcome {:<18} {}\n", name, n);
  for (int number = 1; number <= 26; ++number) fmt::print("  invariant {:>2} checked {} times\n", number, checked[number]);
  const auto& table = control::transition_table();
  std::int64_t taken = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::int64_t n = rows[static_cast<int>(i)];
    taken += n > 0 ? 1 : 0;
    const auto& t = table[i];
    fmt::print("  row {:<10} {:<18} {:<20} {:<18} {:>10}{}\n", t.rule, codec::enum_text(t.from), codec::enum_text(t.on),
               t.guard == control::Guard::kAlways ? "" : codec::enum_text(t.guard), n, n == 0 ? "  never" : "");
  }
  fmt::print("{} of {} rows taken\n", taken, table.size());
  return broken == 0 ? 0 : 1;
}

int replay(const std::string& name, bool trace, bool thread) {
  std::ifstream in(name);
  std::stringstream text;
  text << in.rdbuf();
  const auto scenario = sim::read_scenario(text.str(), name);
  if (!scenario) {
    std::cerr << scenario.error().message << "\n";
    return 3;
  }
  sim::Player player;
  sim::PlayOptions options;
  options.keep_world = thread;
  if (trace) options.trace = [](const std::string& line) { fmt::print("{}\n", line); };
  const sim::Played played = player.play(*scenario, options);
  if (thread) {
    fmt::print("{}\n", played.body);
    for (const auto& [key, body] : played.comments) fmt::print("──── {}\n{}\n", key, body);
  }
  fmt::print("{}\n", describe(played));
  if (!played.violation) return 0;
  fmt::print("invariant {}: {}\n", played.violation->number, played.violation->text);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "run" && argc >= 4) return run(std::atoll(argv[2]), std::atoll(argv[3]), argc > 4 ? argv[4] : "");
  if (command == "replay" && argc >= 3) return replay(argv[2], argc > 3 && std::string(argv[3]) == "--trace", argc > 3 && std::string(argv[3]) == "--thread");
  if (command == "crowd" && argc == 3) {
    const sim::Crowd c = sim::crowd(std::atoll(argv[2]));
    fmt::print("{} candidates: {} validated, {} steps in {:.2f} s, {:.0f} steps/s, {} MiB resident, database {} KiB\n", c.candidates, c.validated, c.steps,
               c.seconds, static_cast<double>(c.steps) / c.seconds, c.memory_kib / 1024, c.database_kib);
    return c.validated == c.candidates ? 0 : 1;
  }
  return usage();
}
