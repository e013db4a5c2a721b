#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "http/server.h"
#include "results/model_names.h"
#include "store/database.h"

namespace pawl::service {

struct ServiceOptions {
  std::filesystem::path database;
  std::vector<store::Schema> schemas;  ///< of everything that is read: results, and forge when it is linked
  results::ModelNames names;
  std::string version;  ///< of pawl, for /healthz
};

/// The public API and the pages of one workspace. Reads only. Thread-safe: every request in progress has a database
/// connection of its own; idle ones are kept.
///
///   GET /healthz               {"status":"ok","version":…}
///   GET /api/v1/benchmarks     model (display name), date, exact=true, runId with exactRun=true, powerValid=strictV2
///   GET /api/v1/evaluations    all optional: model, date, exact=true
///   GET /                      change requests and published runs
///   GET /cr/N                  the thread of a change request
///
/// Errors under /api are {"error": "…"} with the texts of api-dashboard 1.0.
class Service {
 public:
  /// Opens the database once, so that a bad one is told before anything listens.
  static Result<std::unique_ptr<Service>> create(ServiceOptions options);
  ~Service();

  /// The answer to one request. Never fails: trouble inside is a 500 without details.
  [[nodiscard]] http::Response answer(const http::Request& request);
  /// For http::Server. Must not outlive the service.
  [[nodiscard]] http::Handler handler();

 private:
  class Connections;
  Service(ServiceOptions options, std::unique_ptr<Connections> connections);

  Result<http::Response> route(const http::Request& request);

  ServiceOptions options_;
  std::unique_ptr<Connections> connections_;
};

}  // namespace pawl::service
