#include <fmt/format.h>
#include <sqlite3.h>

#include <map>
#include <utility>

#include "base/assert.h"
#include "store/driver.h"

namespace pawl::store {
namespace {

Error sql_error(sqlite3* handle, std::string_view doing) {
  const int code = sqlite3_errcode(handle);
  const std::string message = fmt::format("database: {}: {}", doing, sqlite3_errmsg(handle));
  switch (code & 0xFF) {
    case SQLITE_FULL:
      return machine_error(message, "free disk space, then run the same command again: the transaction was rolled back");
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return machine_error(message, "the workspace must be writable for the user that runs pawl; choose another with --workspace");
    case SQLITE_IOERR:
      return machine_error(message, "look at the disk and its mount");
    case SQLITE_BUSY:
      return machine_error(message, "another pawl holds the workspace; stop it or wait until it is done");
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return bad_input(message, "restore pawl.db from a backup, or start a fresh workspace");
    case SQLITE_CONSTRAINT:
      return {ErrorClass::kConflict, ExitStatus::kRunFailed, message, {}};
    default:
      return internal_error(message);
  }
}

/// Prepared statements that wait to be used again.
constexpr std::size_t kIdleStatementsMax = 64;
using Idle = std::map<std::string, sqlite3_stmt*, std::less<>>;

/// A prepared statement while it is used; afterwards it is kept for the next time.
class Statement {
 public:
  Statement(Idle& idle, Idle::node_type node) : idle_(idle), node_(std::move(node)) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() {
    sqlite3_stmt* const raw = node_.mapped();
    sqlite3_reset(raw);
    sqlite3_clear_bindings(raw);
    // Kept already: the same text was used inside of its own use.
    if (idle_.size() >= kIdleStatementsMax || !idle_.insert(std::move(node_)).inserted) sqlite3_finalize(raw);
  }

 private:
  Idle& idle_;
  Idle::node_type node_;
};

/// `values` outlive the use of the statement: nothing is copied.
void bind(sqlite3_stmt* statement, const std::vector<Value>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int at = static_cast<int>(i) + 1;
    const Value& v = values[i];
    switch (v.kind) {
      case Value::Kind::kNull:
        sqlite3_bind_null(statement, at);
        break;
      case Value::Kind::kWhole:
        sqlite3_bind_int64(statement, at, v.whole);
        break;
      case Value::Kind::kNumber:
        sqlite3_bind_double(statement, at, v.number);
        break;
      case Value::Kind::kText:
        sqlite3_bind_text64(statement, at, v.text.data(), v.text.size(), SQLITE_STATIC, SQLITE_UTF8);
        break;
    }
  }
}

class SqliteRow final : public Row {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
  [[nodiscard]] bool is_null(int column) const override { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  [[nodiscard]] std::int64_t whole(int column) const override { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] double number(int column) const override { return sqlite3_column_double(statement_, column); }
  [[nodiscard]] std::string text(int column) const override {
    const auto* bytes = sqlite3_column_text(statement_, column);
    if (bytes == nullptr) return {};
    return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_;
};

class SqliteDriver final : public Driver {
 public:
  explicit SqliteDriver(sqlite3* handle) : handle_(handle) {}
  ~SqliteDriver() override {
    for (const auto& [sql, statement] : idle_) sqlite3_finalize(statement);
    sqlite3_close(handle_);
  }

  Status query(std::string_view sql, const std::vector<Value>& values, const std::function<Status(const Row&)>& each) override {
    Idle::node_type node;
    if (const auto known = idle_.find(sql); known != idle_.end()) {
      node = idle_.extract(known);
    } else {
      sqlite3_stmt* prepared = nullptr;
      if (sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &prepared, nullptr) != SQLITE_OK) return sql_error(handle_, sql);
      Idle fresh;
      fresh.emplace(sql, prepared);
      node = fresh.extract(fresh.begin());
    }
    sqlite3_stmt* const raw = node.mapped();
    const Statement statement(idle_, std::move(node));
    PAWL_ASSERT(sqlite3_bind_parameter_count(raw) == static_cast<int>(values.size()));
    bind(raw, values);
    for (;;) {
      const int rc = sqlite3_step(raw);
      if (rc == SQLITE_DONE) return {};
      if (rc != SQLITE_ROW) return sql_error(handle_, sql);
      PAWL_TRY(each(SqliteRow(raw)));
    }
  }

  Status script(const std::string& sql) override {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return sql_error(handle_, "a schema step");
    return {};
  }
  // Through `query`, so that they too are prepared once.
  Status begin(bool writing) override {
    return query(writing ? "BEGIN IMMEDIATE" : "BEGIN", {}, [](const Row&) { return Status(); });
  }
  Status commit() override {
    return query("COMMIT", {}, [](const Row&) { return Status(); });
  }
  void rollback() override { sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr); }
  [[nodiscard]] std::int64_t last_id() override { return sqlite3_last_insert_rowid(handle_); }
  [[nodiscard]] std::int64_t changes() const override { return sqlite3_changes64(handle_); }
  [[nodiscard]] std::string_view engine() const override { return "sqlite"; }

  Result<bool> has_table(std::string_view name) override {
    bool found = false;
    PAWL_TRY(query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1", {name}, [&](const Row&) {
      found = true;
      return Status();
    }));
    return found;
  }

  Result<std::vector<std::string>> check() override {
    std::vector<std::string> problems;
    PAWL_TRY(query("PRAGMA integrity_check", {}, [&](const Row& row) {
      if (row.text(0) != "ok") problems.push_back(row.text(0));
      return Status();
    }));
    PAWL_TRY(query("PRAGMA foreign_key_check", {}, [&](const Row& row) {
      problems.push_back(fmt::format("table {}: row {} points to a row of {} that is not there", row.text(0), row.whole(1), row.text(2)));
      return Status();
    }));
    return problems;
  }

  Status backup_to(const std::filesystem::path& file) override {
    sqlite3* target = nullptr;
    const int rc = sqlite3_open_v2(file.c_str(), &target, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> owner(target, sqlite3_close);
    if (rc != SQLITE_OK) return sql_error(target, fmt::format("opening {}", file.string()));
    sqlite3_backup* copy = sqlite3_backup_init(target, "main", handle_, "main");
    if (copy == nullptr) return sql_error(target, "starting the backup");
    const int done = sqlite3_backup_step(copy, -1);
    sqlite3_backup_finish(copy);
    if (done != SQLITE_DONE) return sql_error(target, fmt::format("writing {}", file.string()));
    return {};
  }

 private:
  sqlite3* handle_;
  Idle idle_;
};

}  // namespace

Result<std::unique_ptr<Driver>> open_sqlite(const std::filesystem::path& file) {
  // Counting bytes of memory takes a lock at each allocation, and nobody asks for the number.
  static const int uncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  (void)uncounted;
  sqlite3* raw = nullptr;
  const std::string name = file.empty() ? ":memory:" : file.string();
  const int rc = sqlite3_open_v2(name.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  auto driver = std::make_unique<SqliteDriver>(raw);
  if (rc != SQLITE_OK) return sql_error(raw, fmt::format("opening {}", file.string()));
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, 10'000);
  for (const char* pragma : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON"}) {
    PAWL_TRY(driver->query(pragma, {}, [](const Row&) { return Status(); }));
  }
  return driver;
}

}  // namespace pawl::store
