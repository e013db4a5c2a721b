#include "results/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/text.h"
#include "results/api_text.h"
#include "results/result_store.h"

namespace pawl::results {

std::optional<std::string> ApiRequest::parameter(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

ApiAnswer api_error(int status, const std::string& text) {
  ApiAnswer answer;
  answer.status = status;
  answer.body = "{\"error\":";
  append_text(answer.body, text);
  answer.body += '}';
  answer.caching = Caching::kNone;
  return answer;
}

ResultsApi::ResultsApi(const ModelNames& names) : names_(&names), index_(names) {}
ResultsApi::~ResultsApi() = default;

const ApiRoute* ResultsApi::find(std::string_view path) {
  const auto& all = routes();
  const auto found = std::ranges::find_if(all, [&](const ApiRoute& route) { return path == route.path; });
  return found == all.end() ? nullptr : &*found;
}

Result<std::int64_t> ResultsApi::generation(store::Database& db) { return ResultStore(db).generation(); }

Status ResultsApi::with_state(store::Database& db, const std::function<Status(const ApiContext&)>& work) {
  for (;;) {
    {
      const std::shared_lock lock(mutex_);
      bool current = false;
      PAWL_TRY(db.snapshot([&]() -> Status {
        PAWL_ASSIGN(const std::int64_t now, generation(db));
        current = now == index_.generation();
        if (!current) return {};
        return work({db, index_, *names_});
      }));
      if (current) return {};
    }
    const std::unique_lock lock(mutex_);
    PAWL_TRY(db.snapshot([&] { return index_.refresh(db); }));
  }
}

Result<ApiAnswer> ResultsApi::answer(store::Database& db, const ApiRequest& request) {
  const ApiRoute* route = find(request.path);
  if (route == nullptr) return api_error(404, "Not found");
  ApiAnswer answer;
  PAWL_TRY(with_state(db, [&](const ApiContext& context) -> Status {
    PAWL_ASSIGN(answer, route->handler(context, request));
    return {};
  }));
  return answer;
}

std::optional<ApiAnswer> read_page(const ApiRequest& request, Page& page) {
  for (const auto& [name, into] : {std::pair("limit", &page.limit), {"offset", &page.offset}}) {
    const auto text = request.parameter(name);
    if (!text) continue;
    const auto number = parse_int(*text);
    if (!number || *number < 0 || *number > 10'000'000 || (into == &page.limit && *number == 0)) {
      return api_error(400, fmt::format("{} must be a whole number {}", name, into == &page.limit ? "above 0" : "from 0"));
    }
    *into = static_cast<std::size_t>(*number);
  }
  return std::nullopt;
}

std::optional<ApiAnswer> read_model(const ApiContext& context, const ApiRequest& request, std::string& display) {
  const auto model = request.parameter("model");
  if (!model || !(context.names.knows_display(*model) || context.index.has_display(*model))) return api_error(400, "Unknown model");
  display = *model;
  return std::nullopt;
}

std::optional<ApiAnswer> read_date(const ApiRequest& request, const char* name, std::optional<std::string>& date) {
  date = request.parameter(name);
  if (date && !is_day(*date)) return api_error(400, "Invalid date format (YYYY-MM-DD required)");
  return std::nullopt;
}

std::optional<std::pair<std::int32_t, std::int32_t>> lengths_of_sequence(std::string_view sequence) {
  if (sequence == "1k/1k") return std::pair(1024, 1024);
  if (sequence == "1k/8k") return std::pair(1024, 8192);
  if (sequence == "8k/1k") return std::pair(8192, 1024);
  if (sequence == "agentic-traces") return std::pair(-1, -1);
  return std::nullopt;
}

void append_text(std::string& out, std::string_view text) { out += codec::write_json(codec::Json(std::string(text)), codec::JsonForm::kCompactUtf8); }
void append_text_or_null(std::string& out, std::string_view text) { text.empty() ? void(out += "null") : append_text(out, text); }
void append_member(std::string& out, std::string_view key, std::string_view text) {
  out.append(",\"").append(key).append("\":");
  append_text(out, text);
}
void append_number_member(std::string& out, std::string_view key, std::int64_t value) {
  out.append(",\"").append(key).append("\":").append(std::to_string(value));
}
void append_bool_member(std::string& out, std::string_view key, bool value) { out.append(",\"").append(key).append(value ? "\":true" : "\":false"); }
void append_length_member(std::string& out, std::string_view key, std::int64_t value) {
  out.append(",\"").append(key).append("\":").append(value < 0 ? "null" : std::to_string(value));
}

std::string attempt_url(const RunRecord& run) { return run.html_url.empty() ? std::string() : fmt::format("{}/attempts/{}", run.html_url, run.attempt); }

std::string postgres_time(const std::string& iso) {
  if (iso.size() < 20 || iso[10] != 'T' || iso.back() != 'Z') return iso;
  return iso.substr(0, 10) + " " + iso.substr(11, iso.size() - 12) + "+00";
}

}  // namespace pawl::results
