#include "store/database.h"

#include <fmt/format.h>

#include <utility>

#include "store/driver.h"

namespace pawl::store {

Database::Database(std::unique_ptr<Driver> driver) : driver_(std::move(driver)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<Database> Database::open(const std::filesystem::path& file, const std::vector<Schema>& schemas) {
  PAWL_ASSIGN(auto driver, open_sqlite(file));
  Database db(std::move(driver));
  PAWL_TRY(db.migrate(schemas));
  return db;
}

Result<Database> Database::open_memory(const std::vector<Schema>& schemas) { return open({}, schemas); }

Result<Database> Database::open_server(const std::string& url, const std::vector<Schema>& schemas) {
  PAWL_ASSIGN(auto driver, open_postgres(url));
  Database db(std::move(driver));
  PAWL_TRY(db.migrate(schemas));
  return db;
}

Result<Database> Database::open_place(const std::string& place, const std::vector<Schema>& schemas) {
  const bool server = place.starts_with("postgresql://") || place.starts_with("postgres://");
  return server ? open_server(place, schemas) : open(place, schemas);
}

Status Database::migrate(const std::vector<Schema>& schemas) {
  // Most opens find everything in place: they must not wait for a writer.
  const auto version_of = [&](const std::string& module) -> Result<std::int64_t> {
    std::int64_t version = 0;
    PAWL_TRY(query("SELECT version FROM store_schema WHERE module = ?1", {module}, [&](const Row& row) {
      version = row.whole(0);
      return Status();
    }));
    return version;
  };
  PAWL_ASSIGN(const bool known, has_table("store_schema"));
  bool current = known;
  for (const Schema& schema : schemas) {
    if (!current) break;
    PAWL_ASSIGN(const std::int64_t version, version_of(schema.module));
    current = version == static_cast<std::int64_t>(schema.steps.size());
  }
  if (current) return {};
  return transaction([&]() -> Status {
    PAWL_TRY(driver_->script("CREATE TABLE IF NOT EXISTS store_schema (module TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT"));
    for (const Schema& schema : schemas) {
      PAWL_ASSIGN(const std::int64_t version, version_of(schema.module));
      const auto newest = static_cast<std::int64_t>(schema.steps.size());
      if (version > newest) {
        return bad_input(
            fmt::format("the workspace was written by a newer pawl (tables of {}: version {}, this pawl knows {})", schema.module, version, newest),
            "use that newer pawl, or another workspace");
      }
      for (std::int64_t i = version; i < newest; ++i) {
        const SchemaStep& step = schema.steps[static_cast<std::size_t>(i)];
        Status moved = driver_->script(step.sql);
        if (moved && step.code) moved = step.code(*this);
        if (!moved) return std::move(moved).error().within(fmt::format("moving the tables of {} to version {}", schema.module, i + 1));
      }
      if (version < newest) {
        PAWL_TRY(execute("INSERT INTO store_schema VALUES (?1, ?2) ON CONFLICT (module) DO UPDATE SET version = excluded.version", {schema.module, newest}));
      }
    }
    return {};
  });
}

Status Database::query(std::string_view sql, const std::vector<Value>& values, const std::function<Status(const Row&)>& each) {
  return driver_->query(sql, values, each);
}

Status Database::execute(std::string_view sql, const std::vector<Value>& values) {
  return query(sql, values, [](const Row&) { return Status(); });
}

Status Database::within(bool writing, const std::function<Status()>& work) {
  if (depth_ > 0) return work();
  PAWL_TRY(driver_->begin(writing));
  ++depth_;
  Status status;
  try {
    status = work();
  } catch (...) {
    --depth_;
    driver_->rollback();
    throw;
  }
  --depth_;
  if (status) status = driver_->commit();
  if (!status) driver_->rollback();
  return status;
}

Status Database::transaction(const std::function<Status()>& work) { return within(true, work); }
Status Database::snapshot(const std::function<Status()>& work) { return within(false, work); }
std::int64_t Database::last_id() const { return driver_->last_id(); }
std::int64_t Database::changes() const { return driver_->changes(); }
Result<bool> Database::has_table(std::string_view name) { return driver_->has_table(name); }
Result<std::vector<std::string>> Database::check() { return driver_->check(); }
Status Database::backup_to(const std::filesystem::path& file) { return driver_->backup_to(file); }
std::string_view Database::engine() const { return driver_->engine(); }

}  // namespace pawl::store
