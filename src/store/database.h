#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::store {

class Database;

/// What brings a schema one version forward: SQL (several statements allowed), then code that sees the tables.
struct SchemaStep {
  std::string sql;
  std::function<Status(Database&)> code = {};

  SchemaStep(const char* text) : sql(text) {}                                                                           // NOLINT: implicit on purpose
  SchemaStep(std::string text) : sql(std::move(text)) {}                                                                // NOLINT
  SchemaStep(std::string text, std::function<Status(Database&)> then) : sql(std::move(text)), code(std::move(then)) {}  // NOLINT
};

/// One module's tables: named with its prefix, made and moved forward by numbered steps. Step i (from 1) brings the
/// schema from version i−1 to i; steps never change once released. They are written in SQLite's words; a PostgreSQL
/// database reads INTEGER as BIGINT, INTEGER PRIMARY KEY as an identity, REAL as DOUBLE PRECISION and drops STRICT.
struct Schema {
  std::string module;
  std::vector<SchemaStep> steps;
};

/// One row of a query, while it is current.
class Row {
 public:
  virtual ~Row() = default;
  [[nodiscard]] virtual bool is_null(int column) const = 0;
  [[nodiscard]] virtual std::int64_t whole(int column) const = 0;
  [[nodiscard]] virtual double number(int column) const = 0;
  [[nodiscard]] virtual std::string text(int column) const = 0;
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

/// What one engine does; see the files sqlite_driver.cc and postgres_driver.cc.
class Driver;

/// One connection to a database: a workspace's pawl.db (SQLite, the default) or a PostgreSQL server that a team shares.
/// Belongs to one thread at a time; every thread opens its own. Writers come one after the other on both engines (SQLite:
/// BEGIN IMMEDIATE with a busy timeout of 10 s, WAL, synchronous=FULL, foreign keys on; PostgreSQL: an advisory lock
/// for the length of the transaction), readers never wait for them.
/// Errors: kExhausted (exit 4) for a disk that is full or read-only, kInvalid (exit 3) for a file that is no database
/// or of a newer pawl, kTransient (exit 5) for a server that cannot be reached.
class Database {
 public:
  /// Opens or creates the file and moves the given schemas to their newest step.
  static Result<Database> open(const std::filesystem::path& file, const std::vector<Schema>& schemas);
  /// A database that lives as long as this object.
  static Result<Database> open_memory(const std::vector<Schema>& schemas);
  /// Connects to `postgresql://[user[:password]@]host[:port]/database[?…]` and moves the schemas. The URL may hold a
  /// password: no error repeats it.
  static Result<Database> open_server(const std::string& url, const std::vector<Schema>& schemas);
  /// A server when `place` is such a URL, else a file.
  static Result<Database> open_place(const std::string& place, const std::vector<Schema>& schemas);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  /// Statements without results. `values` bind to ?1, ?2, …
  Status execute(std::string_view sql, const std::vector<Value>& values = {});
  /// Calls `each` for every row; it may stop early by returning an error. On PostgreSQL the rows are all fetched first.
  Status query(std::string_view sql, const std::vector<Value>& values, const std::function<Status(const Row&)>& each);
  /// Runs `work` in one writer transaction: all of it or, when it returns an error or throws, nothing. May be nested:
  /// the outermost one commits.
  Status transaction(const std::function<Status()>& work);
  /// Runs `work` on one snapshot: everything that it reads is of the same instant. It must not write.
  Status snapshot(const std::function<Status()>& work);
  /// Id of the row inserted last by this connection.
  [[nodiscard]] std::int64_t last_id() const;
  /// Rows changed by the last `execute`.
  [[nodiscard]] std::int64_t changes() const;
  /// Whether a table is there.
  Result<bool> has_table(std::string_view name);
  /// Checks the file as the engine can: pages, indexes, foreign keys. One line a problem; empty when it is sound.
  Result<std::vector<std::string>> check();
  /// Copies everything into a fresh file while others go on working. SQLite only.
  Status backup_to(const std::filesystem::path& file);
  /// "sqlite" or "postgresql"
  [[nodiscard]] std::string_view engine() const;

 private:
  explicit Database(std::unique_ptr<Driver> driver);
  Status migrate(const std::vector<Schema>& schemas);
  Status within(bool writing, const std::function<Status()>& work);

  std::unique_ptr<Driver> driver_;
  int depth_ = 0;
};

}  // namespace pawl::store
