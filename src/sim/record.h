#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/play.h"

namespace pawl::sim {

/// What many schedules came to: a file for each block of seeds, added up for the tables.
struct Record {
  std::string schema = "pawl.sim-record/1";
  std::string kind;  ///< "memory" or "file": where the database was
  std::int64_t first = 0, count = 0;
  std::int64_t broken = 0, lives = 0, steps = 0, calls = 0;
  double seconds = 0;  ///< of this machine
  std::map<std::string, std::int64_t> outcomes;
  std::vector<std::int64_t> rows;     ///< of the table, in its order: how often taken
  std::vector<std::int64_t> checked;  ///< invariant 1, 2, …: how often looked at

  void add(const Played& played);
  void add(const Record& other);  ///< of the same table
};
BOOST_DESCRIBE_STRUCT(Record, (), (schema, kind, first, count, broken, lives, steps, calls, seconds, outcomes, rows, checked))

[[nodiscard]] Result<Record> read_record(const std::filesystem::path& file);
Status write_record(const std::filesystem::path& file, const Record& record);

/// What an invariant says, in a few words.
[[nodiscard]] const char* invariant_name(int number);

/// The tables of docs/simulation.md, in Markdown: schedules of each kind, invariants, planted faults and swapped steps
/// (played now), a close in each state (played now), the transitions with their counts.
[[nodiscard]] std::string tables(const std::vector<Record>& records);

}  // namespace pawl::sim
