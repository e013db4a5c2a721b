#pragma once

#include <string>
#include <vector>

#include "results/result_store.h"
#include "service/thread_reader.h"

namespace pawl::service {

/// A published run with its rows.
struct RunView {
  results::RunRecord run;
  std::vector<results::StoredRow> rows, evals;
};

/// The start page: change requests, then published runs, newest first. Whole HTML documents without scripts.
[[nodiscard]] std::string index_page(const std::vector<Thread>& threads, const std::vector<RunView>& runs);
/// The thread of one change request.
[[nodiscard]] std::string thread_page(const Thread& thread);
/// What a reader sees who asked for a page that is not there.
[[nodiscard]] std::string missing_page(const std::string& what);

}  // namespace pawl::service
