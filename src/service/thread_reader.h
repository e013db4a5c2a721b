#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace pawl::service {

struct ThreadComment {
  std::string author, body, created, edited;
};

/// A change request as the pages show it.
struct Thread {
  std::int64_t number = 0;
  std::string title, body, author, branch, head, state, created, closed_by;
  std::vector<std::string> labels;
  std::vector<ThreadComment> comments;  ///< only of a thread that was asked for by number
};

/// Reads the change requests of the local forge from its tables (forge_change_request, forge_comment, forge_label),
/// which the service may not link. A database without them has no threads.
[[nodiscard]] Result<std::vector<Thread>> list_threads(store::Database& database);
[[nodiscard]] Result<std::optional<Thread>> read_thread(store::Database& database, std::int64_t number);

}  // namespace pawl::service
