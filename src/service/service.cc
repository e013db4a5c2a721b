#include "service/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "codec/describe.h"
#include "http/target.h"
#include "results/ingest.h"
#include "results/overlay.h"
#include "results/result_store.h"
#include "results/tokens.h"
#include "service/openapi.h"
#include "service/pages.h"
#include "service/thread_reader.h"

namespace pawl::service {
namespace {

using codec::Json;
using http::Request;
using http::Response;

constexpr std::size_t kPageRunsMax = 50;
constexpr std::string_view kOwnPaths[] = {"/", "/healthz", "/metrics", "/api/openapi.json", "/api/unofficial-run", "/api/v1/invalidate", "/api/v1/ingest"};

Response finish(int status, const char* type, std::string body, const char* caching) {
  return {status,
          {{"Content-Type", type},
           {"Cache-Control", caching},
           {"X-Content-Type-Options", "nosniff"},
           {"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
           {"Referrer-Policy", "no-referrer"}},
          std::move(body)};
}

/// Errors are never cached.
Response error_response(int status, const std::string& text) {
  return finish(status, "application/json; charset=utf-8", codec::write_json(Json{{"error", text}}, codec::JsonForm::kCompactUtf8), "no-store");
}

Response html(int status, std::string body) { return finish(status, "text/html; charset=utf-8", std::move(body), "no-store"); }

/// "2026-11-30T16:03:27Z" as an HTTP date; empty for another text.
std::string http_date(const std::string& iso) {
  if (iso.size() != 20 || iso[10] != 'T' || !results::is_day(iso.substr(0, 10))) return {};
  const auto number = [&](std::size_t at, std::size_t digits) { return static_cast<int>(parse_int(std::string_view(iso).substr(at, digits)).value_or(0)); };
  const std::chrono::year_month_day day(std::chrono::year(number(0, 4)), std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(8, 2))));
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {} GMT", kDays[std::chrono::weekday(std::chrono::sys_days(day)).c_encoding()], number(8, 2), kMonths[number(5, 2) - 1],
                     number(0, 4), iso.substr(11, 8));
}

/// A request as the key of its answer.
std::string key_of(const results::ApiRequest& request) {
  std::string key = request.path + (request.columns ? " c" : " r");
  for (const auto& [name, value] : request.query) key += fmt::format("\x1f{}\x1e{}", name, value);
  return key;
}

bool names_etag(std::string_view field, std::string_view etag) {
  for (const std::string_view part : split(field, ',')) {
    std::string_view word = trim(part);
    if (word.starts_with("W/")) word.remove_prefix(2);
    if (word == etag || word == "*") return true;
  }
  return false;
}

}  // namespace

/// Connections to the database that no request uses right now.
class Service::Connections {
 public:
  Connections(std::string place, std::vector<store::Schema> schemas) : place_(std::move(place)), schemas_(std::move(schemas)) {}

  Result<Response> with(const std::function<Result<Response>(store::Database&)>& work) {
    std::optional<store::Database> mine;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        mine.emplace(std::move(idle_.back()));
        idle_.pop_back();
      }
    }
    if (!mine) {
      PAWL_ASSIGN(store::Database opened, store::Database::open_place(place_, schemas_));
      mine.emplace(std::move(opened));
    }
    Result<Response> response = work(*mine);
    // A connection that met trouble is not used again.
    if (response) {
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(*mine));
    }
    return response;
  }

 private:
  const std::string place_;
  const std::vector<store::Schema> schemas_;
  std::mutex mutex_;
  std::vector<store::Database> idle_;
};

/// What /metrics tells.
class Service::Counters {
 public:
  void count(const std::string& route, int status) {
    const std::lock_guard lock(mutex_);
    ++requests_[{route, status}];
  }
  void hit(bool found) { ++(found ? hits_ : misses_); }
  std::string text(std::size_t cached_bytes, std::int64_t generation) {
    std::string out = "# HELP pawl_requests_total Requests answered, by route and status.\n# TYPE pawl_requests_total counter\n";
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [key, count] : requests_) out += fmt::format("pawl_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", key.first, key.second, count);
    }
    out += fmt::format(
        "# HELP pawl_answers_kept_total API answers taken from those kept ready, or made.\n# TYPE pawl_answers_kept_total "
        "counter\npawl_answers_kept_total{{kept=\"yes\"}} {}\n"
        "pawl_answers_kept_total{{kept=\"no\"}} {}\n",
        hits_.load(), misses_.load());
    out += fmt::format("# HELP pawl_answers_kept_bytes Size of the answers kept ready.\n# TYPE pawl_answers_kept_bytes gauge\npawl_answers_kept_bytes {}\n",
                       cached_bytes);
    out += fmt::format("# HELP pawl_store_generation Number of the store's newest write.\n# TYPE pawl_store_generation gauge\npawl_store_generation {}\n",
                       generation);
    return out;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;
  std::atomic<std::uint64_t> hits_{0}, misses_{0};
};

Service::Service(ServiceOptions options, std::unique_ptr<Connections> connections)
    : options_(std::move(options)),
      connections_(std::move(connections)),
      counters_(std::make_unique<Counters>()),
      api_(options_.names),
      cache_(options_.cache_bytes_max),
      openapi_(openapi_document(options_.version, options_.names)),
      events_(std::make_unique<EventStream>([this] { return store::Database::open_place(options_.database, options_.schemas); })) {}
Service::~Service() = default;

Result<std::unique_ptr<Service>> Service::create(ServiceOptions options) {
  auto connections = std::make_unique<Connections>(options.database, options.schemas);
  PAWL_TRY(connections->with([](store::Database&) -> Result<Response> { return Response(); }));
  return std::unique_ptr<Service>(new Service(std::move(options), std::move(connections)));
}

Result<Response> Service::route(const Request& request) {
  const std::string& path = request.path;
  if (path == "/healthz") {
    return connections_->with([&](store::Database& database) -> Result<Response> {
      PAWL_TRY(database.query("SELECT 1", {}, [](const store::Row&) { return Status(); }));
      return finish(200, "application/json; charset=utf-8",
                    codec::write_json(Json{{"status", "ok"}, {"version", options_.version}}, codec::JsonForm::kCompactUtf8), "no-store");
    });
  }
  if (path == "/metrics") {
    return connections_->with([&](store::Database& database) -> Result<Response> {
      PAWL_ASSIGN(const std::int64_t generation, results::ResultsApi::generation(database));
      return finish(200, "text/plain; version=0.0.4; charset=utf-8", counters_->text(cache_.bytes(), generation), "no-store");
    });
  }
  if (path == "/api/openapi.json")
    return finish(200, "application/json; charset=utf-8", openapi_, "public, max-age=0, s-maxage=3600, stale-while-revalidate=86400");
  if (path == "/api/unofficial-run") return unofficial_run(request);
  if (path.starts_with("/api/")) return api(request);
  if (path == "/") {
    return connections_->with([](store::Database& database) -> Result<Response> {
      PAWL_ASSIGN(const auto threads, list_threads(database));
      results::ResultStore store(database);
      PAWL_ASSIGN(auto runs, store.runs(kPageRunsMax));
      std::vector<RunView> views;
      for (const auto& run : runs) {
        PAWL_ASSIGN(auto rows, store.rows_of(run.run, run.attempt));
        PAWL_ASSIGN(auto evals, store.evals_of(run.run, run.attempt));
        views.push_back({run, std::move(rows), std::move(evals)});
      }
      return html(200, index_page(threads, views));
    });
  }
  if (path.starts_with("/cr/")) {
    const auto number = parse_int(std::string_view(path).substr(4));
    return connections_->with([&](store::Database& database) -> Result<Response> {
      std::optional<Thread> thread;
      if (number) {
        PAWL_ASSIGN(thread, read_thread(database, *number));
      }
      if (!thread) return html(404, missing_page("There is no change request " + path.substr(4) + "."));
      return html(200, thread_page(*thread));
    });
  }
  return error_response(404, "Not found");
}

Result<Response> Service::api(const Request& request) {
  results::ApiRequest wanted{request.path, request.query, false};
  if (results::ResultsApi::find(request.path) == nullptr) return error_response(404, "Not found");
  if (const auto accept = http::find_field(request.fields, "Accept")) wanted.columns = accept->find("application/vnd.pawl.columns+json") != std::string::npos;
  return connections_->with([&](store::Database& database) -> Result<Response> {
    const std::string key = key_of(wanted);
    PAWL_ASSIGN(const std::int64_t generation, results::ResultsApi::generation(database));
    std::shared_ptr<CachedAnswer> cached = cache_.find(key, generation);
    counters_->hit(cached != nullptr);
    if (cached == nullptr) {
      cached = std::make_shared<CachedAnswer>();
      PAWL_ASSIGN(cached->answer, api_.answer(database, wanted));
      cached->etag = "\"" + sha256_hex(cached->answer.body).substr(0, 32) + "\"";
      PAWL_TRY(database.query("SELECT at FROM results_ingest WHERE at <> '' ORDER BY id DESC LIMIT 1", {}, [&](const store::Row& row) {
        cached->modified = http_date(row.text(0));
        return Status();
      }));
      // A write in between makes the answer newer than its number: it is then made once more, never served late.
      if (cached->answer.status == 200) cache_.put(key, generation, cached);
    }
    const results::ApiAnswer& answer = cached->answer;
    const bool kept = answer.status == 200 && answer.caching == results::Caching::kNewestWrite;
    Response response = finish(answer.status, answer.type.c_str(), {}, kept ? "public, max-age=0, s-maxage=86400" : "no-store");
    response.fields.emplace_back("Access-Control-Allow-Origin", "*");
    response.fields.emplace_back("Vary", "Accept, Accept-Encoding");
    if (!answer.attachment.empty()) response.fields.emplace_back("Content-Disposition", fmt::format("attachment; filename=\"{}\"", answer.attachment));
    if (!kept) {
      response.body = answer.body;
      return response;
    }
    response.fields.emplace_back("Access-Control-Expose-Headers", "ETag, Link, X-Total-Count");
    response.fields.emplace_back("Vercel-Cache-Tag", "db");
    constexpr std::size_t kWorthCompressing = 512;
    const Encoding encoding =
        answer.body.size() < kWorthCompressing ? Encoding::kIdentity : encoding_for(http::find_field(request.fields, "Accept-Encoding").value_or(""));
    // Another encoding is another representation: its strong tag must differ.
    const std::string etag =
        encoding == Encoding::kIdentity ? cached->etag : cached->etag.substr(0, cached->etag.size() - 1) + "-" + encoding_name(encoding) + "\"";
    response.fields.emplace_back("ETag", etag);
    if (!cached->modified.empty()) response.fields.emplace_back("Last-Modified", cached->modified);
    if (answer.total) response.fields.emplace_back("X-Total-Count", std::to_string(*answer.total));
    if (answer.next) {
      std::string link = request.path + "?";
      for (const auto& [name, value] : request.query) {
        if (name != "offset") link += fmt::format("{}={}&", http::escape_component(name), http::escape_component(value));
      }
      response.fields.emplace_back("Link", fmt::format("<{}offset={}>; rel=\"next\"", link, *answer.next));
    }
    const auto none_match = http::find_field(request.fields, "If-None-Match");
    const auto since = http::find_field(request.fields, "If-Modified-Since");
    if (none_match ? names_etag(*none_match, etag) : since && !cached->modified.empty() && *since == cached->modified) {
      response.status = 304;
      return response;
    }
    if (encoding != Encoding::kIdentity) response.fields.emplace_back("Content-Encoding", encoding_name(encoding));
    response.body = cached->form(encoding);
    return response;
  });
}

namespace {

std::string bearer_of(const Request& request) {
  const std::string field = http::find_field(request.fields, "Authorization").value_or("");
  constexpr std::string_view kBearer = "Bearer ";
  return field.starts_with(kBearer) ? field.substr(kBearer.size()) : std::string();
}

Response busy() {
  Response response = error_response(503, "artifacts of another run are being read; try again in a moment");
  response.fields.emplace_back("Retry-After", "1");
  return response;
}

Response unauthorized() { return finish(401, "text/plain; charset=utf-8", "Unauthorized", "no-store"); }
Response json_response(const Json& json) {
  return finish(200, "application/json; charset=utf-8", codec::write_json(json, codec::JsonForm::kCompactUtf8), "no-store");
}

bool is_digits(std::string_view text) { return !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == std::string_view::npos; }

}  // namespace

Result<Response> Service::invalidate(const Request& request) {
  return connections_->with([&](store::Database& database) -> Result<Response> {
    PAWL_ASSIGN(const auto who, results::Tokens(database).check(bearer_of(request), "admin"));
    if (!who) return unauthorized();
    if (request.parameter("scope")) return error_response(400, "Unknown scope");
    const std::size_t dropped = cache_.clear();
    PAWL_TRY(results::Tokens(database).audit(options_.now(), *who, "invalidate", fmt::format("{} answers", dropped)));
    return json_response(Json{{"invalidated", true}, {"blobsDeleted", dropped}});
  });
}

Result<Response> Service::ingest(const Request& request) {
  return connections_->with([&](store::Database& database) -> Result<Response> {
    // First of all: whoever has no token learns nothing, and costs nothing.
    PAWL_ASSIGN(const auto who, results::Tokens(database).check(bearer_of(request), "ingest"));
    if (!who) return unauthorized();
    if (options_.vocabulary == nullptr) return error_response(404, "Not found");
    // One at a time: it takes memory, and writers would wait for each other anyway, each on a thread that answers nobody.
    const std::unique_lock alone(artifacts_mutex_, std::try_to_lock);
    if (!alone) return busy();
    results::RunHints hints;
    for (const auto& [name, into] : {std::pair("run", &hints.run), {"attempt", &hints.attempt}}) {
      const auto text = request.parameter(name);
      if (!text) continue;
      if (!is_digits(*text)) return error_response(400, fmt::format("{} must be digits", name));
      *into = *parse_int(*text);
    }
    hints.date = request.parameter("date").value_or("");
    if (!hints.date.empty() && !results::is_day(hints.date)) return error_response(400, "Invalid date format (YYYY-MM-DD required)");
    hints.name = request.parameter("name").value_or("");
    const auto artifacts = results::read_artifact_archive(request.body, "the body");
    if (!artifacts) return error_response(400, artifacts.error().message);
    results::IngestCounts counts;
    const auto batch = results::batch_of_artifacts(*artifacts, hints, results::RowMapper(*options_.vocabulary), counts);
    if (!batch) return error_response(400, batch.error().message);
    if (batch->rows.empty() && batch->evals.empty() && batch->stats.empty() && batch->changelog.empty()) {
      return error_response(400, "nothing to store in the archive: " + codec::write_json(codec::to_json(counts), codec::JsonForm::kCompactUtf8));
    }
    const std::string at = options_.now();
    results::RunBatch stamped = *batch;
    stamped.run.published_at = at;
    const std::string what = fmt::format("run {} attempt {}", stamped.run.run, stamped.run.attempt);
    PAWL_ASSIGN(const results::WriteReport report,
                results::ResultStore(database).write({std::move(stamped)}, results::WriteMode::kUpsert, {at, "ingest", what}, counts));
    PAWL_TRY(results::Tokens(database).audit(at, *who, "ingest", fmt::format("{}: {} rows, {} evals", what, counts.rows, counts.evals)));
    return json_response(Json{{"ingested", true},
                              {"run", std::to_string(batch->run.run)},
                              {"attempt", batch->run.attempt},
                              {"counts", codec::to_json(counts)},
                              {"inserted", report.inserted},
                              {"updated", report.updated},
                              {"generation", report.generation}});
  });
}

Result<Response> Service::unofficial_run(const Request& request) {
  const std::string list = request.parameter("runId").value_or("");
  if (list.empty()) return error_response(400, "runId must be provided");
  std::vector<std::int64_t> wanted;
  constexpr std::size_t kRunsMax = 8;
  for (const std::string_view part : split(list, ',')) {
    if (!is_digits(trim(part))) return error_response(400, "runId must be a comma-separated list of numeric values");
    const std::int64_t run = *parse_int(trim(part));
    if (std::ranges::find(wanted, run) == wanted.end()) wanted.push_back(run);
  }
  if (wanted.size() > kRunsMax) return error_response(400, fmt::format("too many runs (max {})", kRunsMax));
  const std::unique_lock alone(artifacts_mutex_, std::try_to_lock);
  if (!alone) return busy();
  std::vector<results::RunBatch> runs;
  for (const std::int64_t run : wanted) {
    if (!options_.unofficial_run) break;
    auto found = options_.unofficial_run(run);
    // Artifacts that are broken are the peer's trouble, not ours.
    if (!found) return error_response(502, fmt::format("run {}: {}", run, found.error().message));
    if (*found) runs.push_back(std::move(**found));
  }
  if (std::ranges::all_of(runs, [](const results::RunBatch& b) { return b.rows.empty() && b.evals.empty(); })) return error_response(404, "Not found");
  Response response = finish(200, "application/json; charset=utf-8", results::overlay_answer(runs), "no-store");
  response.fields.emplace_back("Access-Control-Allow-Origin", "*");
  return response;
}

Response Service::answer(const Request& request) {
  Response response = checked(request);
  const bool named = results::ResultsApi::find(request.path) != nullptr || std::ranges::find(kOwnPaths, request.path) != std::end(kOwnPaths);
  counters_->count(named ? request.path : request.path.starts_with("/cr/") ? "/cr" : "other", response.status);
  return response;
}

Response Service::checked(const Request& request) {
  const bool writes = request.path == "/api/v1/invalidate" || request.path == "/api/v1/ingest";
  if (request.method == "OPTIONS" && request.path.starts_with("/api/")) {
    Response response = finish(204, "text/plain", {}, "no-store");
    response.fields.emplace_back("Access-Control-Allow-Origin", "*");
    response.fields.emplace_back("Access-Control-Allow-Methods", writes ? "POST, OPTIONS" : "GET, HEAD, OPTIONS");
    response.fields.emplace_back("Access-Control-Allow-Headers", "Accept, If-None-Match, X-InferenceX-Traffic");
    response.fields.emplace_back("Access-Control-Max-Age", "86400");
    return response;
  }
  if (writes ? request.method != "POST" : request.method != "GET" && request.method != "HEAD") {
    Response response = error_response(405, "Method not allowed");
    response.fields.emplace_back("Allow", writes ? "POST, OPTIONS" : "GET, HEAD, OPTIONS");
    return response;
  }
  constexpr std::size_t kParametersMax = 64, kParameterBytesMax = 8u << 10;
  std::size_t bytes = 0;
  for (const auto& [name, value] : request.query) {
    bytes += name.size() + value.size();
    if (!is_utf8(name) || !is_utf8(value)) return error_response(400, "a parameter is not UTF-8");
  }
  if (request.query.size() > kParametersMax || bytes > kParameterBytesMax) {
    return error_response(414, fmt::format("the parameters are more than {} or longer than {} bytes", kParametersMax, kParameterBytesMax));
  }
  Result<Response> response;
  try {
    response = request.path == "/api/v1/ingest" ? ingest(request) : writes ? invalidate(request) : route(request);
  } catch (const std::exception& e) {
    response = internal_error(e.what());
  }
  if (response) return std::move(*response);
  fmt::print(stderr, "pawl: {} {}: {}\n", request.method, request.path, response.error().message);
  return error_response(500, "Internal server error");
}

http::Handler Service::handler() {
  return [this](Request request, std::shared_ptr<http::Responder> responder) {
    if (request.path == "/api/v1/events" && request.method == "GET") {
      const auto last = http::find_field(request.fields, "Last-Event-ID");
      counters_->count(request.path, 200);
      // A listener too many is told when to come back.
      if (!events_->add(responder, last ? parse_int(*last) : std::nullopt)) responder->send(error_response(503, "too many listeners"));
      return;
    }
    responder->send(answer(request));
  };
}

void Service::stop_streams() { events_->stop(); }

}  // namespace pawl::service
