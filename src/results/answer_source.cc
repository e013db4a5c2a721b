#include "results/answer_source.h"

#include <fmt/format.h>

#include <optional>

#include "http/client.h"
#include "http/target.h"
#include "results/answer_import.h"
#include "results/result_store.h"

namespace pawl::results {
namespace {

using codec::Json;

Result<Json> parsed_answer(int status, const std::string& body, const std::string& what) {
  if (status != 200) {
    const auto error = codec::parse_json(body, "answer");
    const std::string text = error && error->is_object() ? text_of(*error, "error") : std::string();
    const std::string message = fmt::format("{}: status {}{}", what, status, text.empty() ? "" : ": " + text);
    if (status >= 500 || status == 408 || status == 429) return peer_error(message, "the server has trouble; try again later");
    return bad_input(message, status == 400 ? "the model's display name is case-sensitive; /api/openapi.json says what a route takes" : "look at the address");
  }
  return codec::parse_json(body, what);
}

class ServerAnswers final : public AnswerSource {
 public:
  ServerAnswers(std::string base, const io::Clock& clock, std::stop_token stop) : base_(std::move(base)), clock_(clock), stop_(std::move(stop)) {
    while (base_.ends_with('/')) base_.pop_back();
  }
  Result<Json> get(const std::string& path, const Query& query) override {
    std::string next = query_text(path, query);
    Json all;
    constexpr int kPagesMax = 1000;
    for (int page = 0; page < kPagesMax; ++page) {
      PAWL_ASSIGN(const http::Response response, fetch(next));
      PAWL_ASSIGN(Json answer, parsed_answer(response.status, response.body, base_ + next));
      if (page == 0) {
        all = std::move(answer);
      } else if (!answer.is_array() || !all.is_array()) {
        return bad_input(base_ + next + ": a page that is no list");
      } else {
        for (Json& row : answer) all.push_back(std::move(row));
      }
      const std::string link = http::find_field(response.fields, "Link").value_or("");
      const auto end = link.find(">; rel=\"next\"");
      if (!link.starts_with("<") || end == std::string::npos) return all;
      next = link.substr(1, end - 1);
      // A page of another server is not followed.
      if (!next.starts_with("/")) return bad_input(fmt::format("{}: the next page is elsewhere: {}", base_, next));
    }
    return bad_input(fmt::format("{}{}: more than {} pages", base_, path, kPagesMax));
  }
  [[nodiscard]] std::string shown() const override { return base_; }

 private:
  Result<http::Response> fetch(const std::string& target) {
    const Nanos pauses[] = {Millis{200}, Millis{1000}};
    for (std::size_t tried = 0;; ++tried) {
      http::ClientRequest request;
      request.url = base_ + target;
      request.fields = {{"Accept", "application/json"}, {"User-Agent", "pawl"}};
      request.answer_max = 512u << 20;
      request.timeout = Seconds{60};
      auto response = http::fetch(request, stop_);
      const bool again =
          response ? response->status == 408 || response->status == 429 || response->status >= 500 : response.error().cls == ErrorClass::kTransient;
      if (!again || tried == std::size(pauses)) return response;
      if (!clock_.sleep_for(pauses[tried], stop_)) return cancelled();
    }
  }

  std::string base_;
  const io::Clock& clock_;
  std::stop_token stop_;
};

class StoreAnswers final : public AnswerSource {
 public:
  StoreAnswers(store::Database& database, const ModelNames& names, std::string shown) : database_(database), api_(names), shown_(std::move(shown)) {}
  Result<Json> get(const std::string& path, const Query& query) override {
    PAWL_ASSIGN(const ApiAnswer answer, api_.answer(database_, {path, query, false}));
    return parsed_answer(answer.status, answer.body, shown_ + ": " + query_text(path, query));
  }
  [[nodiscard]] std::string shown() const override { return shown_; }

 private:
  store::Database& database_;
  ResultsApi api_;
  std::string shown_;
};

class FolderAnswers final : public AnswerSource {
 public:
  FolderAnswers(store::Database database, const ModelNames& names, std::string shown)
      : database_(std::move(database)), inner_(database_, names, std::move(shown)) {}
  Result<Json> get(const std::string& path, const Query& query) override { return inner_.get(path, query); }
  [[nodiscard]] std::string shown() const override { return inner_.shown(); }

 private:
  store::Database database_;
  StoreAnswers inner_;
};

}  // namespace

std::string query_text(const std::string& path, const Query& query) {
  std::string text = path;
  char separator = '?';
  for (const auto& [name, value] : query) {
    text += fmt::format("{}{}={}", separator, name, http::escape_component(value));
    separator = '&';
  }
  return text;
}

std::unique_ptr<AnswerSource> answers_of_server(std::string base_url, const io::Clock& clock, std::stop_token stop) {
  return std::make_unique<ServerAnswers>(std::move(base_url), clock, std::move(stop));
}

std::unique_ptr<AnswerSource> answers_of_store(store::Database& database, const ModelNames& names, std::string shown) {
  return std::make_unique<StoreAnswers>(database, names, std::move(shown));
}

Result<std::unique_ptr<AnswerSource>> answers_of_folder(const io::Files& files, const std::string& folder, const ModelNames& names, IngestCounts& counts) {
  PAWL_ASSIGN(ImportedAnswers answers, import_folder(files, folder, counts));
  PAWL_ASSIGN(store::Database database, store::Database::open_memory({results_schema()}));
  ResultStore store(database);
  PAWL_TRY(store.settle_attempts(answers.batches));
  PAWL_TRY(store.write(answers.batches, WriteMode::kMerge, {"", "import", folder}, counts));
  PAWL_TRY(store.write_availability(answers.availability));
  return std::make_unique<FolderAnswers>(std::move(database), names, folder);
}

}  // namespace pawl::results
