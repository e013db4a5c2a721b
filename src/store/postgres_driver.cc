#include <fmt/format.h>
#include <libpq-fe.h>

#include <cctype>
#include <charconv>
#include <map>
#include <string>

#include "base/text.h"
#include "store/driver.h"

namespace pawl::store {
namespace {

/// Held by every writer until its transaction ends: writers come one after the other, as they do with SQLite.
constexpr const char* kWriterLock = "SELECT pg_advisory_xact_lock(7023681245)";

using Answer = std::unique_ptr<PGresult, void (*)(PGresult*)>;

std::string first_line(const char* text) {
  const std::string all(text == nullptr ? "" : text);
  return all.substr(0, all.find('\n'));
}

Error sql_error(const PGresult* result, PGconn* connection, std::string_view doing) {
  const char* state = result != nullptr ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : nullptr;
  const char* primary = result != nullptr ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : nullptr;
  const std::string code(state == nullptr ? "" : state);
  const std::string message = fmt::format("database: {}: {}", doing, primary != nullptr ? first_line(primary) : first_line(PQerrorMessage(connection)));
  if (code.starts_with("23")) return {ErrorClass::kConflict, ExitStatus::kRunFailed, message, {}};
  if (code.starts_with("53")) return machine_error(message, "the PostgreSQL server is out of disk, memory or connections");
  if (code == "42501" || code == "25006") return machine_error(message, "the user of the URL needs the right to write this database");
  if (code.empty() || code.starts_with("08") || code.starts_with("57") || code == "40001" || code == "40P01") {
    return peer_error(message, "look whether the PostgreSQL server runs; the transaction was rolled back");
  }
  return internal_error(message);
}

class PostgresRow final : public Row {
 public:
  PostgresRow(const PGresult* result, int row) : result_(result), row_(row) {}
  [[nodiscard]] bool is_null(int column) const override { return PQgetisnull(result_, row_, column) != 0; }
  [[nodiscard]] std::int64_t whole(int column) const override {
    std::int64_t value = 0;
    const char* text = PQgetvalue(result_, row_, column);
    std::from_chars(text, text + PQgetlength(result_, row_, column), value);
    return value;
  }
  [[nodiscard]] double number(int column) const override {
    double value = 0;
    const char* text = PQgetvalue(result_, row_, column);
    std::from_chars(text, text + PQgetlength(result_, row_, column), value);
    return value;
  }
  [[nodiscard]] std::string text(int column) const override {
    return {PQgetvalue(result_, row_, column), static_cast<std::size_t>(PQgetlength(result_, row_, column))};
  }

 private:
  const PGresult* result_;
  int row_;
};

class PostgresDriver final : public Driver {
 public:
  explicit PostgresDriver(PGconn* connection) : connection_(connection) {}
  ~PostgresDriver() override { PQfinish(connection_); }

  Status query(std::string_view sql, const std::vector<Value>& values, const std::function<Status(const Row&)>& each) override {
    std::vector<std::string> texts(values.size());
    std::vector<const char*> pointers(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Value& v = values[i];
      switch (v.kind) {
        case Value::Kind::kNull:
          continue;
        case Value::Kind::kWhole:
          texts[i] = std::to_string(v.whole);
          break;
        case Value::Kind::kNumber:
          texts[i] = fmt::format("{}", v.number);
          break;
        case Value::Kind::kText:
          if (v.text.find('\0') != std::string::npos) return bad_input("database: PostgreSQL cannot hold a text with a NUL byte");
          texts[i] = v.text;
          break;
      }
      pointers[i] = texts[i].c_str();
    }
    PAWL_ASSIGN(const std::string name, prepared(sql, values.size()));
    const Answer answer(PQexecPrepared(connection_, name.c_str(), static_cast<int>(values.size()), pointers.data(), nullptr, nullptr, 0), PQclear);
    const ExecStatusType status = PQresultStatus(answer.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) return sql_error(answer.get(), connection_, sql);
    const std::string count = PQcmdTuples(answer.get());
    changes_ = parse_int(count).value_or(0);
    const int rows = PQntuples(answer.get());
    for (int row = 0; row < rows; ++row) PAWL_TRY(each(PostgresRow(answer.get(), row)));
    return {};
  }

  Status script(const std::string& sql) override { return run(postgres_schema(sql), "a schema step"); }
  Status begin(bool writing) override {
    if (!writing) return run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "BEGIN");
    PAWL_TRY(run("BEGIN", "BEGIN"));
    Status locked = run(kWriterLock, "waiting for other writers");
    if (!locked) rollback();
    return locked;
  }
  Status commit() override { return run("COMMIT", "COMMIT"); }
  void rollback() override { static_cast<void>(run("ROLLBACK", "ROLLBACK")); }
  [[nodiscard]] std::int64_t last_id() override {
    std::int64_t id = 0;
    static_cast<void>(query("SELECT lastval()", {}, [&](const Row& row) {
      id = row.whole(0);
      return Status();
    }));
    return id;
  }
  [[nodiscard]] std::int64_t changes() const override { return changes_; }
  [[nodiscard]] std::string_view engine() const override { return "postgresql"; }
  Result<bool> has_table(std::string_view name) override {
    bool found = false;
    PAWL_TRY(query("SELECT to_regclass(?1) IS NOT NULL", {name}, [&](const Row& row) {
      found = row.text(0) == "t";
      return Status();
    }));
    return found;
  }
  Result<std::vector<std::string>> check() override {
    // The server checks its constraints as it goes; a constraint that was added without being checked is the one thing
    // that can be wrong in what we may see.
    std::vector<std::string> problems;
    PAWL_TRY(query("SELECT conname FROM pg_constraint WHERE NOT convalidated", {}, [&](const Row& row) {
      problems.push_back(fmt::format("constraint {} was never checked", row.text(0)));
      return Status();
    }));
    return problems;
  }
  Status backup_to(const std::filesystem::path&) override {
    return usage_error("a PostgreSQL database is backed up with pg_dump", "or copy it into a file: pawl store copy URL FILE");
  }

 private:
  Status run(const std::string& sql, std::string_view doing) {
    const Answer answer(PQexec(connection_, sql.c_str()), PQclear);
    const ExecStatusType status = PQresultStatus(answer.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) return sql_error(answer.get(), connection_, doing);
    return {};
  }
  /// The name of the prepared statement of this text; made on first use.
  Result<std::string> prepared(std::string_view sql, std::size_t parameters) {
    const auto known = statements_.find(sql);
    if (known != statements_.end()) return known->second;
    const std::string name = fmt::format("p{}", ++prepared_);
    const Answer answer(PQprepare(connection_, name.c_str(), postgres_placeholders(sql).c_str(), static_cast<int>(parameters), nullptr), PQclear);
    if (PQresultStatus(answer.get()) != PGRES_COMMAND_OK) return sql_error(answer.get(), connection_, sql);
    if (statements_.size() >= kStatementsMax) {
      PAWL_TRY(run("DEALLOCATE " + statements_.begin()->second, "DEALLOCATE"));
      statements_.erase(statements_.begin());
    }
    statements_.emplace(sql, name);
    return name;
  }

  static constexpr std::size_t kStatementsMax = 128;
  PGconn* connection_;
  std::map<std::string, std::string, std::less<>> statements_;
  std::int64_t prepared_ = 0, changes_ = 0;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string postgres_placeholders(std::string_view sql) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < sql.size(); ++i) {
    if (sql[i] == '\'') quoted = !quoted;
    const bool parameter = !quoted && sql[i] == '?' && i + 1 < sql.size() && std::isdigit(static_cast<unsigned char>(sql[i + 1])) != 0;
    out += parameter ? '$' : sql[i];
  }
  return out;
}

std::string postgres_schema(std::string_view sqlite) {
  std::string out;
  for (std::size_t i = 0; i < sqlite.size();) {
    if (!is_word(sqlite[i])) {
      out += sqlite[i++];
      continue;
    }
    std::size_t end = i;
    while (end < sqlite.size() && is_word(sqlite[end])) ++end;
    const std::string_view word = sqlite.substr(i, end - i);
    constexpr std::string_view kKey = "INTEGER PRIMARY KEY";
    if (sqlite.substr(i).starts_with(kKey)) {
      out += "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY";
      end = i + kKey.size();
    } else if (word == "INTEGER") {
      out += "BIGINT";
    } else if (word == "REAL") {
      out += "DOUBLE PRECISION";
    } else if (word != "STRICT") {
      out += word;
    }
    i = end;
  }
  return out;
}

Result<std::unique_ptr<Driver>> open_postgres(const std::string& url) {
  PGconn* raw = PQconnectdb(url.c_str());
  auto driver = std::make_unique<PostgresDriver>(raw);
  if (PQstatus(raw) != CONNECTION_OK) {
    const char* host = PQhost(raw);
    const char* port = PQport(raw);
    // The server's own words may name the user; the password never stands in them.
    return peer_error(
        fmt::format("database: PostgreSQL at {}:{}: {}", host == nullptr ? "?" : host, port == nullptr ? "?" : port, first_line(PQerrorMessage(raw))),
        "check host, port, user and database of the URL, and that the server runs");
  }
  PQsetNoticeProcessor(
      raw, [](void*, const char*) {}, nullptr);
  PQsetClientEncoding(raw, "UTF8");
  return driver;
}

}  // namespace pawl::store
