#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "http/server.h"
#include "results/api.h"
#include "results/model_names.h"
#include "results/records.h"
#include "results/vocabulary.h"
#include "service/answer_cache.h"
#include "service/event_stream.h"
#include "store/database.h"

namespace pawl::service {

struct ServiceOptions {
  std::string database;                ///< file, or postgresql://…
  std::vector<store::Schema> schemas;  ///< of everything that is read: results, and forge when it is linked
  results::ModelNames names;
  std::string version;                       ///< of pawl, for /healthz
  std::size_t cache_bytes_max = 256u << 20;  ///< of answers kept ready
  /// What takes artifacts that are sent; null: none are taken.
  std::shared_ptr<const results::Vocabulary> vocabulary = {};
  /// A run that is not in the store, read from its artifacts; nothing when there are none. Empty: no run is.
  std::function<Result<std::optional<results::RunBatch>>(std::int64_t run)> unofficial_run = {};
  std::function<std::string()> now = [] { return std::string(); };  ///< ISO 8601, UTC
};

/// The public API and the pages of one store. Thread-safe: every request in progress has a database connection of its
/// own; idle ones are kept. Answers of the API are of one state of the store, kept ready until the next write, with a
/// strong ETag, in gzip or zstd where the client takes them.
///
///   GET /api/v1/…              the route table of results::ResultsApi
///   GET /api/openapi.json      its OpenAPI 3.1 document
///   GET /api/v1/events         server-sent events: writes to the store, jobs of sweeps
///   GET /api/unofficial-run    rows of runs that are not in the store, from their artifacts; never cached
///   POST /api/v1/ingest        takes an archive of a run's artifacts; needs a token with the scope `ingest`
///   POST /api/v1/invalidate    drops the kept answers; needs a token with the scope `admin`
///   GET /healthz, /metrics     {"status":"ok","version":…}; Prometheus text
///   GET /                      change requests and published runs
///   GET /cr/N                  the thread of a change request
///
/// Every write by a token is in the audit log (results_audit). Errors under /api are {"error": "…"} with the texts of api-dashboard 1.0. Limits: 64 parameters,
/// 8 KiB of them (414).
class Service {
 public:
  /// Opens the database once, so that a bad one is told before anything listens.
  static Result<std::unique_ptr<Service>> create(ServiceOptions options);
  ~Service();

  /// The answer to one request. Never fails: trouble inside is a 500 without details.
  [[nodiscard]] http::Response answer(const http::Request& request);
  /// For http::Server. Must not outlive the service.
  [[nodiscard]] http::Handler handler();
  /// Ends the event streams, so that the server can drain.
  void stop_streams();

 private:
  class Connections;
  class Counters;
  Service(ServiceOptions options, std::unique_ptr<Connections> connections);

  Result<http::Response> route(const http::Request& request);
  Result<http::Response> api(const http::Request& request);
  Result<http::Response> invalidate(const http::Request& request);
  Result<http::Response> ingest(const http::Request& request);
  Result<http::Response> unofficial_run(const http::Request& request);
  [[nodiscard]] http::Response checked(const http::Request& request);

  ServiceOptions options_;
  std::unique_ptr<Connections> connections_;
  std::unique_ptr<Counters> counters_;
  results::ResultsApi api_;
  AnswerCache cache_;
  std::string openapi_;
  std::unique_ptr<EventStream> events_;
  std::mutex artifacts_mutex_;  ///< held while artifacts are read
};

}  // namespace pawl::service
