#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/checker.h"
#include "sim/scenario.h"
#include "steward/catalogue_cache.h"

namespace pawl::sim {

struct PlayOptions {
  /// A database file for each life to open again; empty: one in memory that outlives the lives.
  std::filesystem::path file;
  Planted planted;
  const std::vector<control::Transition>* table = nullptr;      ///< another machine, planted by a test
  std::optional<std::int64_t> repairs, infrastructure_retries;  ///< budgets planted past what a policy may say
  bool lose_outbox = false;                                     ///< a crash loses the pending commands, as if they were kept in memory
  bool forget_repairs = false;                                  ///< a crash sets the repairs back
  bool capacity_never_stale = false;
  std::int64_t steps_max = 1500;
  std::string policy_text;  ///< instead of the profile's file; empty: the shipped one
  bool keep_world = false;  ///< `Played` gets what the world looks like at the end; so it does with a policy text
  /// Told what happens, a line each: events, errors, faults, the ends of lives. Empty: nobody listens.
  std::function<void(const std::string&)> trace;
};

struct Played {
  std::optional<Violation> violation;
  std::optional<control::Candidate> candidate;  ///< absent: it never came to be
  std::int64_t steps = 0, lives = 0, points = 0, seconds = 0;
  std::uint64_t hash = 0;
  std::map<int, std::int64_t> rows, checked;
  // What the world looks like at the end.
  std::map<std::string, std::string> comments;  ///< by key
  std::string body;                             ///< of the request
  std::vector<Run> runs;
  std::set<std::string> branches;
  std::vector<std::pair<std::string, std::string>> mutations;  ///< kind, key
  std::int64_t capacity_bound = 0, capacity_checks = 0;
};

/// Plays scenarios one after the other, on one thread. What does not depend on the scenario is kept between them.
class Player {
 public:
  Player();
  Played play(const Scenario& scenario, const PlayOptions& options = {});
  /// Called in `play` after every step, with the outside and the candidate. May strike.
  std::function<void(Outside&, const control::Candidate&)> on_step;

 private:
  Result<store::Database*> database(const PlayOptions& options, bool first);

  std::optional<store::Database> memory_, file_;
  std::filesystem::path file_name_;
  steward::CatalogueCache catalogues_;
};

struct Crowd {
  std::int64_t candidates = 0, validated = 0, steps = 0;
  double seconds = 0;           ///< of this machine
  std::int64_t memory_kib = 0;  ///< resident at the end
  std::int64_t database_kib = 0;
};

/// That many candidates at once in one database, each in a world of its own without trouble, one step each in turn.
[[nodiscard]] Crowd crowd(std::int64_t candidates);

/// Fewer faults and less trouble, as long as the same invariant breaks.
[[nodiscard]] Scenario shrink(Player& player, Scenario scenario, const PlayOptions& options, int invariant);

}  // namespace pawl::sim
