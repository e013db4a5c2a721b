#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace pawl::store {

/// One module's tables: named with its prefix, made and moved forward by numbered steps. Step i (from 1) brings the
/// schema from version i−1 to i; steps never change once released.
struct Schema {
  std::string module;
  std::vector<std::string> steps;  ///< SQL, several statements allowed
};

/// One row of a query, while it is current.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t whole(int column) const;
  [[nodiscard]] double number(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  sqlite3_stmt* statement_;
};

/// A value to bind: null, integer, number or text.
struct Value {
  enum class Kind { kNull, kWhole, kNumber, kText } kind = Kind::kNull;
  std::int64_t whole = 0;
  double number = 0;
  std::string text;

  Value() = default;
  Value(std::nullopt_t) {}                                         // NOLINT: implicit on purpose
  Value(std::int64_t v) : kind(Kind::kWhole), whole(v) {}          // NOLINT
  Value(int v) : kind(Kind::kWhole), whole(v) {}                   // NOLINT
  Value(bool v) : kind(Kind::kWhole), whole(v ? 1 : 0) {}          // NOLINT
  Value(double v) : kind(Kind::kNumber), number(v) {}              // NOLINT
  Value(std::string v) : kind(Kind::kText), text(std::move(v)) {}  // NOLINT
  Value(std::string_view v) : kind(Kind::kText), text(v) {}        // NOLINT
  Value(const char* v) : kind(Kind::kText), text(v) {}             // NOLINT
};

/// One connection to a workspace's pawl.db. Belongs to one thread at a time; every thread that needs the file opens
/// its own. WAL, synchronous=FULL, foreign keys on, busy timeout 10 s; every writer transaction is BEGIN IMMEDIATE.
/// Errors: kExhausted (exit 4) for a disk that is full or read-only, kInvalid (exit 3) for a file that is no database
/// or of a newer pawl.
class Database {
 public:
  /// Opens or creates the file and moves the given schemas to their newest step.
  static Result<Database> open(const std::filesystem::path& file, const std::vector<Schema>& schemas);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  /// Statements without results. `values` bind to ?1, ?2, …
  Status execute(std::string_view sql, const std::vector<Value>& values = {});
  /// Calls `each` for every row; it may stop early by returning an error.
  Status query(std::string_view sql, const std::vector<Value>& values, const std::function<Status(const Row&)>& each);
  /// Runs `work` in one writer transaction: all of it or, when it returns an error or throws, nothing. May be nested:
  /// the outermost one commits.
  Status transaction(const std::function<Status()>& work);
  [[nodiscard]] std::int64_t last_id() const;
  /// Rows changed by the last `execute`.
  [[nodiscard]] std::int64_t changes() const;

 private:
  explicit Database(sqlite3* handle) : handle_(handle) {}
  Status migrate(const std::vector<Schema>& schemas);

  sqlite3* handle_ = nullptr;
  int depth_ = 0;
  std::map<std::string, sqlite3_stmt*, std::less<>> idle_;  ///< prepared before, by their text
};

}  // namespace pawl::store
