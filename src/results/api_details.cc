#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "results/api_text.h"
#include "results/stored_columns.h"

// The routes about one row or a few: logs, samples, and which details there are (api-dashboard 1.2.6, 1.4).
namespace pawl::results {
namespace {

using codec::Json;

std::string compact(const Json& json) { return codec::write_json(json, codec::JsonForm::kCompactUtf8); }

/// Characters, not bytes, and never a half of one.
std::string_view characters(std::string_view text, std::size_t skip, std::size_t most) {
  const auto begins = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80; };
  const auto advance = [&](std::size_t at, std::size_t count) {
    while (at < text.size() && count > 0) {
      ++at;
      while (at < text.size() && !begins(at)) ++at;
      --count;
    }
    return at;
  };
  const std::size_t begin = advance(0, skip);
  return text.substr(begin, advance(begin, most) - begin);
}

/// The ids of a list: whatever is no id is dropped; each once, ascending.
std::optional<ApiAnswer> read_ids(const ApiRequest& request, std::size_t most, std::vector<std::int64_t>& ids) {
  const auto text = request.parameter("ids");
  if (!text || text->empty()) return api_error(400, "ids query param is required");
  std::set<std::int64_t> all;
  for (const std::string_view part : split(*text, ',')) {
    if (const auto id = parse_int(trim(part)); id && *id > 0) all.insert(*id);
  }
  if (all.empty()) return api_error(400, "no valid ids provided");
  if (all.size() > most) return api_error(400, fmt::format("too many ids (max {})", most));
  ids.assign(all.begin(), all.end());
  return std::nullopt;
}

/// Where a row's logs lie.
struct LogKey {
  std::int64_t run = 0, attempt = 0;
  std::string name;
};
Result<std::optional<LogKey>> log_of(const ApiContext& context, std::int64_t id) {
  std::optional<LogKey> key;
  if (!context.index.find(id)) return key;
  PAWL_TRY(context.db.query("SELECT run, attempt, log FROM results_benchmark WHERE id = ?1 AND log <> ''", {id}, [&](const store::Row& row) {
    key = LogKey{row.whole(0), row.whole(1), row.text(2)};
    return Status();
  }));
  return key;
}

/// Names of a job's logs, the one that says most first.
Result<std::vector<std::string>> log_files(const ApiContext& context, const LogKey& key) {
  std::vector<std::string> files;
  PAWL_TRY(context.db.query("SELECT DISTINCT file FROM results_log_piece WHERE run = ?1 AND attempt = ?2 AND name = ?3 ORDER BY file",
                            {key.run, key.attempt, key.name}, [&](const store::Row& row) {
                              files.push_back(row.text(0));
                              return Status();
                            }));
  const auto rank = [](const std::string& file) {
    return file == "server.log" ? 0 : file.ends_with("server.log") ? 1 : file.find("server") != std::string::npos ? 2 : 3;
  };
  std::ranges::stable_sort(files, {}, rank);
  return files;
}

/// The id of the request and its log; an answer instead when there is none.
Result<std::optional<ApiAnswer>> read_log(const ApiContext& context, const ApiRequest& request, std::int64_t& id, LogKey& key,
                                          std::vector<std::string>& files) {
  const auto number = parse_int(request.parameter("id").value_or(""));
  if (!number || *number <= 0) return std::optional(api_error(400, "id is required (benchmark_result_id)"));
  id = *number;
  PAWL_ASSIGN(const auto found, log_of(context, id));
  if (!found) return std::optional(api_error(404, "Not found"));
  key = *found;
  PAWL_ASSIGN(files, log_files(context, key));
  if (files.empty()) return std::optional(api_error(404, "Not found"));
  return std::optional<ApiAnswer>();
}

Status each_piece(const ApiContext& context, const LogKey& key, const std::string& file, std::int64_t from, const std::function<Status(std::string)>& take) {
  return context.db.query("SELECT text FROM results_log_piece WHERE run = ?1 AND attempt = ?2 AND name = ?3 AND file = ?4 AND piece >= ?5 ORDER BY piece",
                          {key.run, key.attempt, key.name, file, from}, [&](const store::Row& row) { return take(row.text(0)); });
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t character_count(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

Result<ApiAnswer> answer_log_availability(const ApiContext& context, const ApiRequest& request) {
  std::vector<std::int64_t> ids;
  if (auto wrong = read_ids(request, 500, ids)) return *std::move(wrong);
  Json all = Json::object();
  for (const std::int64_t id : ids) {
    PAWL_ASSIGN(const auto key, log_of(context, id));
    if (!key) continue;
    PAWL_ASSIGN(const auto files, log_files(context, *key));
    if (!files.empty()) all[std::to_string(id)] = true;
  }
  ApiAnswer answer;
  answer.body = compact(all);
  return answer;
}

Result<ApiAnswer> answer_no_traces(const ApiContext&, const ApiRequest& request) {
  std::vector<std::int64_t> ids;
  if (auto wrong = read_ids(request, request.path.ends_with("availability") ? 500 : 200, ids)) return *std::move(wrong);
  ApiAnswer answer;
  answer.body = "{}";
  return answer;
}

Result<ApiAnswer> answer_server_log(const ApiContext& context, const ApiRequest& request) {
  std::int64_t id = 0;
  LogKey key;
  std::vector<std::string> files;
  PAWL_ASSIGN(auto wrong, read_log(context, request, id, key, files));
  if (wrong) return *std::move(wrong);
  std::string file = files.front();
  if (const auto wanted = request.parameter("file")) {
    if (std::ranges::find(files, *wanted) == files.end()) return api_error(404, "Not found");
    file = *wanted;
  }
  const bool part = request.parameter("offset") || request.parameter("limit"), download = request.parameter("download") == "1";
  if (part && download) return api_error(400, "download may not be combined with offset or limit");
  constexpr std::size_t kLimitDefault = 65'536, kLimitMax = 262'144;
  Page page{0, kLimitDefault};
  if (auto bad = read_page(request, page)) return *std::move(bad);
  if (page.limit > kLimitMax) return api_error(400, fmt::format("limit must be at most {}", kLimitMax));
  ApiAnswer answer;
  std::string text;
  if (!part) {
    PAWL_TRY(each_piece(context, key, file, 0, [&](const std::string& piece) {
      text += piece;
      return Status();
    }));
    if (download) {
      answer.type = "text/plain; charset=utf-8";
      answer.body = std::move(text);
      std::string name = file.substr(file.rfind('/') + 1);
      std::erase_if(name, [](char c) { return !(std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_'); });
      answer.attachment = fmt::format("{}-{}", id, name);
      return answer;
    }
    answer.body = compact(Json{{"id", id}, {"serverLog", text}});
    return answer;
  }
  const auto first = static_cast<std::int64_t>(page.offset / kLogPiece);
  std::size_t have = 0;
  const std::size_t skip = page.offset % kLogPiece, wanted = skip + page.limit + 1;
  PAWL_TRY(each_piece(context, key, file, first, [&](const std::string& piece) {
    if (have >= wanted) return Status();
    have += character_count(piece);
    text += piece;
    return Status();
  }));
  const std::string_view chosen = characters(text, skip, page.limit);
  const bool more = have > skip + page.limit;
  answer.body = compact(Json{{"id", id},
                             {"fileName", file},
                             {"serverLog", std::string(chosen)},
                             {"offset", page.offset},
                             {"nextOffset", more ? Json(page.offset + page.limit) : Json(nullptr)}});
  return answer;
}

Result<ApiAnswer> answer_server_log_files(const ApiContext& context, const ApiRequest& request) {
  std::int64_t id = 0;
  LogKey key;
  std::vector<std::string> files;
  PAWL_ASSIGN(auto wrong, read_log(context, request, id, key, files));
  if (wrong) return *std::move(wrong);
  ApiAnswer answer;
  answer.body = compact(Json(files));
  return answer;
}

Result<ApiAnswer> answer_server_log_search(const ApiContext& context, const ApiRequest& request) {
  constexpr std::size_t kQueryMax = 256, kMatchesMax = 100, kMatchesDefault = 50, kAround = 120;
  const std::string query = request.parameter("q").value_or("");
  if (query.empty()) return api_error(400, "q is required");
  if (character_count(query) > kQueryMax) return api_error(400, "search too long");
  Page page{0, kMatchesDefault};
  if (auto bad = read_page(request, page)) return *std::move(bad);
  page.limit = std::min(page.limit, kMatchesMax);
  std::int64_t id = 0;
  LogKey key;
  std::vector<std::string> files;
  PAWL_ASSIGN(auto wrong, read_log(context, request, id, key, files));
  if (wrong) return *std::move(wrong);
  Json matches = Json::array();
  bool truncated = false;
  for (const std::string& file : files) {
    std::string text;
    PAWL_TRY(each_piece(context, key, file, 0, [&](const std::string& piece) {
      text += piece;
      return Status();
    }));
    std::size_t counted_bytes = 0, counted = 0;
    for (auto at = text.begin(); !truncated;) {
      at = std::search(at, text.end(), query.begin(), query.end(), [](char a, char b) { return lower(a) == lower(b); });
      if (at == text.end()) break;
      if (matches.size() == page.limit) {
        truncated = true;
        break;
      }
      const auto begin = static_cast<std::size_t>(at - text.begin()), end = begin + query.size();
      counted += character_count(std::string_view(text).substr(counted_bytes, begin - counted_bytes));
      counted_bytes = begin;
      // Around the match, within its line.
      std::size_t from = text.rfind('\n', begin == 0 ? 0 : begin - 1);
      from = begin == 0 || from == std::string::npos ? 0 : from + 1;
      if (begin - from > kAround) from = begin - kAround;
      while (from < begin && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
      const std::string_view rest = std::string_view(text).substr(end, std::min(text.find('\n', end), text.size()) - end);
      matches.push_back({{"fileName", file},
                         {"offset", counted},
                         {"before", text.substr(from, begin - from)},
                         {"match", text.substr(begin, query.size())},
                         {"after", std::string(characters(rest, 0, kAround))}});
      at += static_cast<std::ptrdiff_t>(query.size());
    }
    if (truncated) break;
  }
  ApiAnswer answer;
  answer.body = compact(Json{{"id", id}, {"query", query}, {"matches", matches}, {"truncated", truncated}});
  return answer;
}

Result<ApiAnswer> answer_eval_samples(const ApiContext& context, const ApiRequest& request) {
  const auto id = parse_int(request.parameter("eval_result_id").value_or(""));
  if (!id || *id <= 0) return api_error(400, "eval_result_id is required and must be a positive integer");
  std::string filter = request.parameter("filter").value_or("all");
  if (filter != "all" && filter != "passed" && filter != "failed") return api_error(400, "filter must be all, passed or failed");
  constexpr std::size_t kLimitDefault = 200, kLimitMax = 500;
  Page page{0, kLimitDefault};
  if (auto bad = read_page(request, page)) return *std::move(bad);
  if (page.limit > kLimitMax) return api_error(400, fmt::format("limit must be at most {}", kLimitMax));
  std::int64_t passed = 0, failed = 0;
  PAWL_TRY(context.db.query("SELECT passed, count(*) FROM results_sample WHERE eval_id = ?1 GROUP BY passed", {*id}, [&](const store::Row& row) {
    (row.whole(0) != 0 ? passed : failed) = row.whole(1);
    return Status();
  }));
  if (const auto wanted = request.parameter("doc_id")) {
    const auto doc = parse_int(*wanted);
    if (!doc || *doc < 0) return api_error(400, "doc_id must be a whole number from 0");
    std::optional<std::int64_t> before;
    PAWL_TRY(context.db.query(
        "SELECT (SELECT count(*) FROM results_sample o WHERE o.eval_id = s.eval_id AND o.doc_id < s.doc_id) FROM results_sample s WHERE s.eval_id = ?1 AND "
        "s.doc_id = ?2",
        {*id, *doc}, [&](const store::Row& row) {
          before = row.whole(0);
          return Status();
        }));
    if (!before) return api_error(404, "Sample not found");
    filter = "all";
    page.offset = static_cast<std::size_t>(*before) / page.limit * page.limit;
  }
  const std::string condition = filter == "passed" ? " AND passed = 1" : filter == "failed" ? " AND passed = 0" : "";
  Json samples = Json::array();
  PAWL_TRY(context.db.query("SELECT doc_id, prompt, target, response, raw_response, passed, score, metrics FROM results_sample WHERE eval_id = ?1" + condition +
                                " ORDER BY doc_id LIMIT ?2 OFFSET ?3",
                            {*id, static_cast<std::int64_t>(page.limit), static_cast<std::int64_t>(page.offset)}, [&](const store::Row& row) -> Status {
                              PAWL_ASSIGN(const Json metrics, codec::parse_json(row.text(7), "a stored sample"));
                              samples.push_back({{"docId", row.whole(0)},
                                                 {"prompt", row.text(1)},
                                                 {"target", row.text(2)},
                                                 {"response", row.text(3)},
                                                 {"rawResponse", row.text(4)},
                                                 {"demonstrations", Json::array()},
                                                 {"passed", row.whole(5) != 0},
                                                 {"score", row.is_null(6) ? Json(nullptr) : Json(row.number(6))},
                                                 {"metrics", metrics}});
                              return {};
                            }));
  ApiAnswer answer;
  const std::int64_t total = filter == "passed" ? passed : filter == "failed" ? failed : passed + failed;
  answer.body =
      compact(Json{{"samples", samples}, {"total", total}, {"passedTotal", passed}, {"failedTotal", failed}, {"source", "db"}, {"offset", page.offset}});
  return answer;
}

}  // namespace pawl::results
