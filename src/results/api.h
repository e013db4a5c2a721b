#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "results/result_index.h"
#include "results/vocabulary.h"
#include "store/database.h"

namespace pawl::results {

/// A request to the results API, decoded.
struct ApiRequest {
  std::string path;                                        ///< "/api/v1/benchmarks"
  std::vector<std::pair<std::string, std::string>> query;  ///< in order, repeated names kept
  bool columns = false;                                    ///< the compact columnar form is wanted

  /// The first value of a parameter.
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
};

/// How long an answer may be kept, and by whom.
enum class Caching {
  kNewestWrite,  ///< until the store is written again: public, max-age=0, s-maxage=86400
  kNone,         ///< no-store
};

struct ApiAnswer {
  int status = 200;
  std::string body;  ///< JSON unless `type` says otherwise
  std::string type = "application/json; charset=utf-8";
  std::string attachment;  ///< file name under which a browser should save it; empty: it is shown
  Caching caching = Caching::kNewestWrite;
  std::optional<std::size_t> total, next;  ///< of a paged answer: rows in all; offset of the page behind this one
};

/// {"error": text}; errors are never cached.
[[nodiscard]] ApiAnswer api_error(int status, const std::string& text);

/// What a handler reads from: one state of the store.
struct ApiContext {
  store::Database& db;
  const ResultIndex& index;
  const ModelNames& names;
};

struct ApiParameter {
  const char* name;
  bool required;
  const char* what;
  const char* schema;  ///< JSON Schema of the value, as text
};

/// One route: what answers it and what its documentation says. The OpenAPI document is made from these.
struct ApiRoute {
  const char* path;
  const char* stability;  ///< stable, beta, page-owned
  const char* summary;
  std::vector<ApiParameter> parameters;
  const char* answer;  ///< JSON Schema of the 200 answer, as text
  Result<ApiAnswer> (*handler)(const ApiContext&, const ApiRequest&);
  const char* other_type = nullptr;  ///< media type of an answer that is no JSON; null: there is none
};

/// The routes of api-dashboard 1.1 that read the store. Thread-safe: one object serves every thread, each with its own
/// database connection of the same store. Every answer is of one state of the store, never between two writes.
class ResultsApi {
 public:
  /// `names` is not copied.
  explicit ResultsApi(const ModelNames& names);
  ~ResultsApi();

  [[nodiscard]] static const std::vector<ApiRoute>& routes();
  /// The route of a path, or null.
  [[nodiscard]] static const ApiRoute* find(std::string_view path);

  /// The answer to a request. Status 404 for a path that is no route. An Error is trouble of the store.
  Result<ApiAnswer> answer(store::Database& db, const ApiRequest& request);
  /// Runs `work` on one state of the store.
  Status with_state(store::Database& db, const std::function<Status(const ApiContext&)>& work);
  /// Number of the store's newest write: answers of one number and request are equal.
  static Result<std::int64_t> generation(store::Database& db);

 private:
  const ModelNames* names_;
  std::shared_mutex mutex_;
  ResultIndex index_;
};

}  // namespace pawl::results
