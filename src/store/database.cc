#include "store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"

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

}  // namespace

bool Row::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
std::int64_t Row::whole(int column) const { return sqlite3_column_int64(statement_, column); }
double Row::number(int column) const { return sqlite3_column_double(statement_, column); }
std::string Row::text(int column) const {
  const auto* bytes = sqlite3_column_text(statement_, column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Database::Database(Database&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), depth_(other.depth_), idle_(std::exchange(other.idle_, {})) {}
Database& Database::operator=(Database&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(depth_, other.depth_);
  std::swap(idle_, other.idle_);
  return *this;
}
Database::~Database() {
  for (const auto& [sql, statement] : idle_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

Result<Database> Database::open(const std::filesystem::path& file, const std::vector<Schema>& schemas) {
  // Counting bytes of memory takes a lock at each allocation, and nobody asks for the number.
  static const int uncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  (void)uncounted;
  sqlite3* raw = nullptr;
  const int rc = sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database db(raw);
  if (rc != SQLITE_OK) return sql_error(raw, fmt::format("opening {}", file.string()));
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, 10'000);
  for (const char* pragma : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON"}) {
    PAWL_TRY(db.query(pragma, {}, [](const Row&) { return Status(); }));
  }
  PAWL_TRY(db.migrate(schemas));
  return db;
}

Status Database::migrate(const std::vector<Schema>& schemas) {
  // Most opens find everything in place: they must not wait for a writer.
  bool known = false, current = true;
  PAWL_TRY(query("SELECT 1 FROM sqlite_schema WHERE name = 'store_schema'", {}, [&](const Row&) {
    known = true;
    return Status();
  }));
  for (const Schema& schema : schemas) {
    if (!known) break;
    std::int64_t version = 0;
    PAWL_TRY(query("SELECT version FROM store_schema WHERE module = ?1", {schema.module}, [&](const Row& row) {
      version = row.whole(0);
      return Status();
    }));
    current = current && version == static_cast<std::int64_t>(schema.steps.size());
  }
  if (known && current) return {};
  return transaction([&]() -> Status {
    PAWL_TRY(execute("CREATE TABLE IF NOT EXISTS store_schema (module TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT"));
    for (const Schema& schema : schemas) {
      std::int64_t version = 0;
      PAWL_TRY(query("SELECT version FROM store_schema WHERE module = ?1", {schema.module}, [&](const Row& row) {
        version = row.whole(0);
        return Status();
      }));
      const auto newest = static_cast<std::int64_t>(schema.steps.size());
      if (version > newest) {
        return bad_input(
            fmt::format("the workspace was written by a newer pawl (tables of {}: version {}, this pawl knows {})", schema.module, version, newest),
            "use that newer pawl, or another workspace");
      }
      for (std::int64_t step = version; step < newest; ++step) {
        char* message = nullptr;
        if (sqlite3_exec(handle_, schema.steps[static_cast<std::size_t>(step)].c_str(), nullptr, nullptr, &message) != SQLITE_OK) {
          sqlite3_free(message);
          return sql_error(handle_, fmt::format("moving the tables of {} to version {}", schema.module, step + 1));
        }
      }
      if (version < newest) {
        PAWL_TRY(execute("INSERT INTO store_schema VALUES (?1, ?2) ON CONFLICT (module) DO UPDATE SET version = excluded.version", {schema.module, newest}));
      }
    }
    return {};
  });
}

Status Database::query(std::string_view sql, const std::vector<Value>& values, const std::function<Status(const Row&)>& each) {
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
    PAWL_TRY(each(Row(raw)));
  }
}

Status Database::execute(std::string_view sql, const std::vector<Value>& values) {
  return query(sql, values, [](const Row&) { return Status(); });
}

Status Database::transaction(const std::function<Status()>& work) {
  if (depth_ > 0) return work();
  PAWL_TRY(execute("BEGIN IMMEDIATE"));
  ++depth_;
  Status status;
  try {
    status = work();
  } catch (...) {
    --depth_;
    sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
  --depth_;
  if (status) status = execute("COMMIT");
  if (!status) sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

std::int64_t Database::last_id() const { return sqlite3_last_insert_rowid(handle_); }
std::int64_t Database::changes() const { return sqlite3_changes64(handle_); }

}  // namespace pawl::store
