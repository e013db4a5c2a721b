#include "service/thread_reader.h"

namespace pawl::service {
namespace {

Result<bool> has_tables(store::Database& database) {
  for (const char* table : {"forge_change_request", "forge_comment", "forge_label"}) {
    PAWL_ASSIGN(const bool there, database.has_table(table));
    if (!there) return false;
  }
  return true;
}

Result<std::vector<Thread>> select(store::Database& database, const std::string& condition, const std::vector<store::Value>& values) {
  std::vector<Thread> all;
  PAWL_ASSIGN(const bool there, has_tables(database));
  if (!there) return all;
  PAWL_TRY(database.query(
      "SELECT number, title, body, author, branch, head, state, created, closed_by FROM forge_change_request " + condition, values, [&](const store::Row& row) {
        all.push_back({row.whole(0), row.text(1), row.text(2), row.text(3), row.text(4), row.text(5), row.text(6), row.text(7), row.text(8), {}, {}});
        return Status();
      }));
  for (Thread& thread : all) {
    PAWL_TRY(database.query("SELECT label FROM forge_label WHERE number = ?1 ORDER BY label", {thread.number}, [&](const store::Row& row) {
      thread.labels.push_back(row.text(0));
      return Status();
    }));
  }
  return all;
}

}  // namespace

Result<std::vector<Thread>> list_threads(store::Database& database) { return select(database, "ORDER BY number DESC", {}); }

Result<std::optional<Thread>> read_thread(store::Database& database, std::int64_t number) {
  PAWL_ASSIGN(std::vector<Thread> found, select(database, "WHERE number = ?1", {number}));
  if (found.empty()) return std::optional<Thread>();
  Thread thread = std::move(found.front());
  PAWL_TRY(database.query("SELECT author, body, created, edited FROM forge_comment WHERE number = ?1 ORDER BY id", {number}, [&](const store::Row& row) {
    thread.comments.push_back({row.text(0), row.text(1), row.text(2), row.text(3)});
    return Status();
  }));
  return std::optional<Thread>(std::move(thread));
}

}  // namespace pawl::service
