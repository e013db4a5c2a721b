#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/clock.h"
#include "io/files.h"
#include "results/api.h"
#include "results/ingest_counts.h"
#include "store/database.h"

namespace pawl::results {

using Query = std::vector<std::pair<std::string, std::string>>;

/// "/api/v1/benchmarks?model=…": what is asked, as a reader could repeat it. Values are percent-encoded.
[[nodiscard]] std::string query_text(const std::string& path, const Query& query);

/// Where answers of the results API come from: a server, a store, a folder with a dump. The answers to equal questions
/// are equal, up to what a source does not hold.
class AnswerSource {
 public:
  virtual ~AnswerSource() = default;
  /// The parsed answer. Errors: kTransient (exit 5) when the source cannot be reached; kInvalid (exit 3) when it refuses
  /// the question or answers with what is no JSON (NaN and Infinity are none).
  virtual Result<codec::Json> get(const std::string& path, const Query& query) = 0;
  /// Where that is, for people.
  [[nodiscard]] virtual std::string shown() const = 0;
};

/// Any server of this API. A request is repeated twice, after 0.2 and 1 s, when the connection fails or the status is 408,
/// 429 or 5xx; nothing else is repeated. An answer in pages (`Link: …; rel="next"`) is read whole, at most 1,000 of them.
/// Neither argument of the second line is copied.
[[nodiscard]] std::unique_ptr<AnswerSource> answers_of_server(std::string base_url, const io::Clock& clock, std::stop_token stop);
/// Our own store. `database` and `names` are not copied.
[[nodiscard]] std::unique_ptr<AnswerSource> answers_of_store(store::Database& database, const ModelNames& names, std::string shown);
/// A folder with a dump or saved answers (`import_folder`), read once into memory. `names` is not copied.
[[nodiscard]] Result<std::unique_ptr<AnswerSource>> answers_of_folder(const io::Files& files, const std::string& folder, const ModelNames& names,
                                                                      IngestCounts& counts);

}  // namespace pawl::results
