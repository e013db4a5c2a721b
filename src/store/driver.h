#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/database.h"

namespace pawl::store {

/// One connection of one engine, under `Database`. SQL comes with SQLite's placeholders ?1, ?2, …
class Driver {
 public:
  virtual ~Driver() = default;
  virtual Status query(std::string_view sql, const std::vector<Value>& values, const std::function<Status(const Row&)>& each) = 0;
  /// Statements of a schema step, in SQLite's words.
  virtual Status script(const std::string& sql) = 0;
  virtual Status begin(bool writing) = 0;
  virtual Status commit() = 0;
  virtual void rollback() = 0;
  [[nodiscard]] virtual std::int64_t last_id() = 0;
  [[nodiscard]] virtual std::int64_t changes() const = 0;
  virtual Result<bool> has_table(std::string_view name) = 0;
  virtual Result<std::vector<std::string>> check() = 0;
  virtual Status backup_to(const std::filesystem::path& file) = 0;
  [[nodiscard]] virtual std::string_view engine() const = 0;
};

/// `file` empty: in memory.
[[nodiscard]] Result<std::unique_ptr<Driver>> open_sqlite(const std::filesystem::path& file);
[[nodiscard]] Result<std::unique_ptr<Driver>> open_postgres(const std::string& url);

/// A schema step in PostgreSQL's words, and `?1` as `$1`.
[[nodiscard]] std::string postgres_schema(std::string_view sqlite);
[[nodiscard]] std::string postgres_placeholders(std::string_view sql);

}  // namespace pawl::store
