#include "service/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "base/text.h"
#include "results/result_store.h"
#include "service/api_rows.h"
#include "service/pages.h"
#include "service/thread_reader.h"

namespace pawl::service {
namespace {

using codec::Json;
using http::Request;
using http::Response;

constexpr std::size_t kPageRunsMax = 50;

Response finish(int status, const char* type, std::string body, const char* caching) {
  return {status,
          {{"Content-Type", type},
           {"Cache-Control", caching},
           {"X-Content-Type-Options", "nosniff"},
           {"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
           {"Referrer-Policy", "no-referrer"}},
          std::move(body)};
}

Response api(const Json& document) {
  Response response =
      finish(200, "application/json; charset=utf-8", codec::write_json(document, codec::JsonForm::kCompactUtf8), "public, max-age=0, s-maxage=86400");
  response.fields.emplace_back("Vercel-Cache-Tag", "db");
  return response;
}

/// Errors are never cached.
Response api_error(int status, const std::string& text) {
  return finish(status, "application/json; charset=utf-8", codec::write_json(Json{{"error", text}}, codec::JsonForm::kCompactUtf8), "no-store");
}

Response html(int status, std::string body) { return finish(status, "text/html; charset=utf-8", std::move(body), "no-store"); }

/// Reads model, date and exact; an answer instead when one of them is wrong.
std::optional<Response> read_query(const Request& request, const results::ModelNames& names, bool model_needed, results::RowQuery& query) {
  query.model = request.parameter("model");
  if (model_needed ? !query.model || !names.knows_display(*query.model) : query.model && !names.knows_display(*query.model)) {
    return api_error(400, "Unknown model");
  }
  query.date = request.parameter("date");
  if (query.date && !results::is_day(*query.date)) return api_error(400, "Invalid date format (YYYY-MM-DD required)");
  query.exact = query.date && request.parameter("exact") == "true";
  return std::nullopt;
}

}  // namespace

/// Connections to the database that no request uses right now.
class Service::Connections {
 public:
  Connections(std::filesystem::path file, std::vector<store::Schema> schemas) : file_(std::move(file)), schemas_(std::move(schemas)) {}

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
      PAWL_ASSIGN(store::Database opened, store::Database::open(file_, schemas_));
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
  const std::filesystem::path file_;
  const std::vector<store::Schema> schemas_;
  std::mutex mutex_;
  std::vector<store::Database> idle_;
};

Service::Service(ServiceOptions options, std::unique_ptr<Connections> connections) : options_(std::move(options)), connections_(std::move(connections)) {}
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
  if (path == "/api/v1/benchmarks") {
    results::RowQuery query;
    if (auto wrong = read_query(request, options_.names, true, query)) return *std::move(wrong);
    const auto power = request.parameter("powerValid");
    if (power && *power != "strictV2") return api_error(400, "Unknown powerValid filter");
    // Anything but digits is ignored, as in the reference.
    const auto run = request.parameter("runId");
    if (run && request.parameter("exactRun") == "true" && !run->empty() && run->find_first_not_of("0123456789") == std::string::npos)
      query.run = parse_int(*run);
    return connections_->with([&](store::Database& database) -> Result<Response> {
      PAWL_ASSIGN(const auto rows, results::ResultStore(database).benchmarks(query, options_.names));
      Json all = Json::array();
      for (const auto& stored : rows) {
        Json row = benchmark_row(stored, options_.names);
        const Json& metrics = row["metrics"];
        if (power && !(metrics.value("power_valid", Json()) == 1 && metrics.value("power_metric_schema_version", Json()) == 2)) continue;
        all.push_back(std::move(row));
      }
      return api(all);
    });
  }
  if (path == "/api/v1/evaluations") {
    results::RowQuery query;
    if (auto wrong = read_query(request, options_.names, false, query)) return *std::move(wrong);
    return connections_->with([&](store::Database& database) -> Result<Response> {
      PAWL_ASSIGN(const auto rows, results::ResultStore(database).evaluations(query, options_.names));
      Json all = Json::array();
      for (const auto& stored : rows) all.push_back(evaluation_row(stored, options_.names));
      return api(all);
    });
  }
  if (path == "/") {
    return connections_->with([](store::Database& database) -> Result<Response> {
      PAWL_ASSIGN(const auto threads, list_threads(database));
      results::ResultStore store(database);
      PAWL_ASSIGN(auto runs, store.runs());
      if (runs.size() > kPageRunsMax) runs.resize(kPageRunsMax);
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
  return api_error(404, "Not found");
}

Response Service::answer(const Request& request) {
  if (request.method != "GET" && request.method != "HEAD") {
    Response response = api_error(405, "Method not allowed");
    response.fields.emplace_back("Allow", "GET, HEAD");
    return response;
  }
  Result<Response> response;
  try {
    response = route(request);
  } catch (const std::exception& e) {
    response = internal_error(e.what());
  }
  if (response) return std::move(*response);
  fmt::print(stderr, "pawl: {} {}: {}\n", request.method, request.path, response.error().message);
  return api_error(500, "Internal server error");
}

http::Handler Service::handler() {
  return [this](Request request, std::shared_ptr<http::Responder> responder) { responder->send(answer(request)); };
}

}  // namespace pawl::service
