#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "results/api.h"

// Shared by the handlers of the API's routes.
namespace pawl::results {

/// `text` as a JSON string.
void append_text(std::string& out, std::string_view text);
/// "" as null.
void append_text_or_null(std::string& out, std::string_view text);
/// `text` as a member: ,"key":"text" (with the comma).
void append_member(std::string& out, std::string_view key, std::string_view text);
void append_number_member(std::string& out, std::string_view key, std::int64_t value);
void append_bool_member(std::string& out, std::string_view key, bool value);
/// null below 0: lengths of agentic rows.
void append_length_member(std::string& out, std::string_view key, std::int64_t value);

/// The page of a run's attempt; empty when the run has no page.
[[nodiscard]] std::string attempt_url(const RunRecord& run);
/// "2026-09-01T17:04:07Z" as PostgreSQL prints it: "2026-09-01 17:04:07+00".
[[nodiscard]] std::string postgres_time(const std::string& iso);

/// What a row holds beside what the index knows; texts of its columns.
struct RowBody {
  std::string metrics, workers, power_invalid_reasons, power_audit, raw, accepted, measured_at;
};
/// Bodies of these rows, by id.
Result<std::map<std::int64_t, RowBody>> read_bodies(const ApiContext& context, const std::vector<Selected>& rows);

/// One row of `/api/v1/benchmarks` (api-dashboard 1.2.2), then our member `pawl` when there is something to say.
void append_benchmark_row(std::string& out, const ApiContext& context, const Selected& selected, const RowBody& body, std::string_view metrics);

/// Handlers, each in the file of its family.
Result<ApiAnswer> answer_benchmarks(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_history(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_availability(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_workflow_info(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_evaluations(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_reliability(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_submissions(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_latest_images(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_siblings(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_pareto(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_tco_feed(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_server_log(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_server_log_files(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_server_log_search(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_log_availability(const ApiContext&, const ApiRequest&);
Result<ApiAnswer> answer_eval_samples(const ApiContext&, const ApiRequest&);
/// Traces of requests are not kept yet: nothing is known of any id.
Result<ApiAnswer> answer_no_traces(const ApiContext&, const ApiRequest&);

/// Reads `limit` and `offset`; an answer instead when one of them is wrong. Without `limit` everything is one page.
struct Page {
  std::size_t offset = 0, limit = 0;  ///< limit 0: no limit
};
[[nodiscard]] std::optional<ApiAnswer> read_page(const ApiRequest& request, Page& page);
/// Cuts `rows` to the page and says in `answer` what there is beside it.
template <class Row>
void cut(std::vector<Row>& rows, const Page& page, ApiAnswer& answer) {
  if (page.limit == 0 && page.offset == 0) return;
  answer.total = rows.size();
  const std::size_t begin = std::min(page.offset, rows.size());
  const std::size_t end = page.limit == 0 ? rows.size() : std::min(begin + page.limit, rows.size());
  if (end < rows.size()) answer.next = end;
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(end), rows.end());
  rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(begin));
}

/// The display name of `model`; an answer instead when no model of the table or of the store has it.
[[nodiscard]] std::optional<ApiAnswer> read_model(const ApiContext& context, const ApiRequest& request, std::string& display);
[[nodiscard]] std::optional<ApiAnswer> read_date(const ApiRequest& request, const char* name, std::optional<std::string>& date);

/// Lengths of "1k/1k", "1k/8k", "8k/1k", "agentic-traces" (−1, −1); nothing for another text.
[[nodiscard]] std::optional<std::pair<std::int32_t, std::int32_t>> lengths_of_sequence(std::string_view sequence);

}  // namespace pawl::results
