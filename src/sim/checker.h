#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "sim/outside.h"
#include "steward/world.h"

namespace pawl::sim {

/// An invariant of upgrade-loop 29 that does not hold. `number` 1 … 25; 26: the order of branch maintenance (section 15).
struct Violation {
  int number = 0;
  std::string text;
};

/// Looks at every mutation before it takes effect, at every event after it was taken in, and at the whole world between
/// steps. The first violation is kept.
class Checker {
 public:
  Checker(Outside& outside, store::Database& database) : outside_(outside), database_(&database) {}
  void use(store::Database& database) { database_ = &database; }

  void mutation(const Mutation& mutation);
  void taken(const steward::Taken& taken);
  /// Between two steps, and when a life has ended.
  void between();
  /// When nothing is left to do. `record`: of the candidate, as the database has it.
  void at_the_end(const std::string& record);

  [[nodiscard]] const std::optional<Violation>& violation() const { return violation_; }
  [[nodiscard]] const std::map<int, std::int64_t>& rows() const { return rows_; }  ///< row of the table → how often taken
  /// As it was last decided; absent before the first event.
  [[nodiscard]] const std::optional<control::Candidate>& last() const { return last_; }
  /// Looked at once per number: how often each invariant was checked.
  [[nodiscard]] const std::map<int, std::int64_t>& checked() const { return checked_; }

 private:
  void demand(int number, bool holds, const std::string& text);
  void check_comment(const Mutation& mutation);

  Outside& outside_;
  store::Database* database_;
  std::optional<Violation> violation_;
  std::optional<control::Candidate> last_;
  std::map<int, std::int64_t> rows_, checked_;
  std::string frozen_body_;
  std::set<std::string> keys_;
  std::int64_t repairs_seen_ = 0, session_seen_ = 0, capacity_taken_at_ = 0;
  std::string proven_head_;
  std::int64_t proven_at_ = 0, late_mutations_ = 0;
  std::size_t intents_ = 0;
  bool frozen_ = false;
};

}  // namespace pawl::sim
