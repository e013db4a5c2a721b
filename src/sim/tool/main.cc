#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "codec/describe.h"
#include "sim/play.h"
#include "sim/record.h"

// pawl-sim: many schedules in one process. Built for the long jobs and for replaying what they found; not shipped.
namespace {

using namespace pawl;

constexpr std::int64_t kBrokenMax = 20;  ///< a block that breaks so often is not played to its end

int usage() {
  std::cerr << "pawl-sim run FIRST COUNT [DATABASE [RECORD.json]]   plays the scenarios of these seeds; DATABASE: a file instead of memory\n"
               "                                  (\"\": memory); RECORD.json: what was counted, for the tables\n"
               "pawl-sim replay SCENARIO.json [--trace|--thread]   plays one scenario and says what it came to; --trace: every event;\n"
               "                                  --thread: the request and its comments\n"
               "pawl-sim tables PAGE.md RECORD.json…   puts the tables of docs/simulation.md between its marks\n"
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

int run(std::int64_t first, std::int64_t count, const std::string& file, const std::string& record_file) {
  sim::Player player;
  sim::PlayOptions options;
  options.file = file;
  sim::Record record{.kind = file.empty() ? "memory" : "file", .first = first};
  const auto began = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(); };
  for (std::int64_t seed = first; seed < first + count && record.broken < kBrokenMax; ++seed) {
    const sim::Scenario scenario = sim::scenario_of(seed);
    const sim::Played played = player.play(scenario, options);
    record.add(played);
    if (played.violation) {
      fmt::print("seed {}: invariant {}: {}\n", seed, played.violation->number, played.violation->text);
      const std::string name = fmt::format("scenario-{}.json", seed);
      std::ofstream(name) << sim::write_scenario(sim::shrink(player, scenario, options, played.violation->number)) << "\n";
      fmt::print("  shrunk into {}; pawl-sim replay {}\n", name, name);
    }
    if (record.count % 10'000 == 0) {
      fmt::print("{} schedules, next seed {}, {:.0f}/s\n", record.count, seed + 1, static_cast<double>(record.count) / seconds());
      std::fflush(stdout);
    }
  }
  record.seconds = seconds();
  fmt::print("{} schedules in {:.1f} s ({:.0f}/s), {} lives, {} steps, {} broken\n", record.count, record.seconds,
             static_cast<double>(record.count) / record.seconds, record.lives, record.steps, record.broken);
  if (!record_file.empty()) {
    if (const Status written = sim::write_record(record_file, record); !written) {
      std::cerr << written.error().message << "\n";
      return 4;
    }
  } else {
    for (const auto& [name, n] : record.outcomes) fmt::print("  outcome {:<18} {}\n", name, n);
    const auto& table = control::transition_table();
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (record.rows[i] != 0) continue;
      const auto& t = table[i];
      fmt::print("  never: {:<10} {:<18} {:<20} {}\n", t.rule, codec::enum_text(t.from), codec::enum_text(t.on),
                 t.guard == control::Guard::kAlways ? "" : codec::enum_text(t.guard));
    }
    fmt::print("{} of {} rows taken\n", std::ranges::count_if(record.rows, [](std::int64_t n) { return n > 0; }), table.size());
  }
  return record.broken == 0 ? 0 : 1;
}

/// Puts the tables between the two marks of a page.
int tables(const std::string& page, const std::vector<std::string>& files) {
  std::vector<sim::Record> records;
  for (const std::string& file : files) {
    auto record = sim::read_record(file);
    if (!record) {
      std::cerr << record.error().message << "\n";
      return 3;
    }
    records.push_back(std::move(*record));
  }
  std::ifstream in(page);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::string begin = "<!-- tables: begin -->\n", end = "<!-- tables: end -->";
  const auto from = text.find(begin), to = text.find(end);
  if (from == std::string::npos || to == std::string::npos) {
    std::cerr << page << ": no marks " << begin << " and " << end << "\n";
    return 3;
  }
  std::ofstream(page) << text.substr(0, from + begin.size()) << "\n" << sim::tables(records) << "\n" << text.substr(to);
  return 0;
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
  // Worlds come and go by the thousand: their memory is kept instead of given back each time.
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "run" && argc >= 4) return run(std::atoll(argv[2]), std::atoll(argv[3]), argc > 4 ? argv[4] : "", argc > 5 ? argv[5] : "");
  if (command == "tables" && argc >= 4) return tables(argv[2], {argv + 3, argv + argc});
  if (command == "replay" && argc >= 3) return replay(argv[2], argc > 3 && std::string(argv[3]) == "--trace", argc > 3 && std::string(argv[3]) == "--thread");
  if (command == "crowd" && argc == 3) {
    const sim::Crowd c = sim::crowd(std::atoll(argv[2]));
    fmt::print("{} candidates: {} validated, {} steps in {:.2f} s, {:.0f} steps/s, {} MiB resident, database {} KiB\n", c.candidates, c.validated, c.steps,
               c.seconds, static_cast<double>(c.steps) / c.seconds, c.memory_kib / 1024, c.database_kib);
    return c.validated == c.candidates ? 0 : 1;
  }
  return usage();
}
