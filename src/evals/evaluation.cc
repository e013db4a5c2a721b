#include "evals/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "codec/json.h"
#include "evals/scorer.h"
#include "http/client.h"

namespace pawl::evals {
namespace {

// The limit of the reference harness for one answer: a slow engine is no wrong engine.
constexpr Seconds kAnswerLimit{1800};
constexpr std::size_t kAnswerMax = 16u << 20;

/// The text that the engine gives for one prompt.
Result<std::string> ask(const Task& task, const Question& question, const std::string& url, const std::string& model, std::stop_token stop) {
  codec::Json body{{"model", model}, {"prompt", task.prompt_of(question)}, {"max_tokens", task.max_tokens}, {"temperature", 0}, {"stream", false}};
  if (!task.until.empty()) body["stop"] = task.until;
  http::ClientRequest request;
  request.method = "POST";
  request.url = url + "/v1/completions";
  request.fields = {{"Content-Type", "application/json"}};
  request.body = codec::write_json(body, codec::JsonForm::kCompactUtf8);
  request.timeout = kAnswerLimit;
  request.answer_max = kAnswerMax;
  PAWL_ASSIGN(const http::Response response, http::fetch(request, stop));
  if (response.status != 200) return peer_error(fmt::format("the engine answered {}: {}", response.status, response.body.substr(0, 200)));
  PAWL_ASSIGN(const codec::Json answer, codec::parse_json(response.body, "answer of the engine", kAnswerMax));
  const codec::Json::json_pointer where("/choices/0/text");
  if (!answer.is_object() || !answer.contains(where) || !answer.at(where).is_string()) {
    return peer_error("the answer of the engine has no choices[0].text: " + response.body.substr(0, 200));
  }
  return answer.at(where).get<std::string>();
}

}  // namespace

Result<model::EvalResult> run_eval(const Task& task, const std::string& url, const std::string& model, std::int64_t concurrency,
                                   std::optional<std::int64_t> limit, io::Progress& progress, std::stop_token stop) {
  if (concurrency < 1) return bad_input(fmt::format("eval {}: concurrency {} is below 1", task.name, concurrency));
  if (limit && *limit < 1) return bad_input(fmt::format("eval {}: limit {} is below 1", task.name, *limit));
  PAWL_ASSIGN(const Extractor strict, Extractor::compile(task.strict));
  PAWL_ASSIGN(const Extractor flexible, Extractor::compile(task.flexible));

  const std::size_t count = limit ? std::min(task.questions.size(), static_cast<std::size_t>(*limit)) : task.questions.size();
  std::vector<std::optional<model::EvalSample>> samples(count);
  std::atomic<std::size_t> next = 0, done = 0;
  std::mutex mutex;
  std::optional<Error> first_failure;  // guarded by mutex
  const auto work = [&] {
    for (;;) {
      const std::size_t i = next.fetch_add(1);
      if (i >= count || stop.stop_requested()) return;
      const Question& question = task.questions[i];
      auto response = ask(task, question, url, model, stop);
      const auto finished = static_cast<std::int64_t>(done.fetch_add(1) + 1);
      if (!response) {
        const std::lock_guard lock(mutex);
        if (!first_failure && response.error().cls != ErrorClass::kCancelled) {
          first_failure = response.error();
          progress.report({"eval", fmt::format("question {} has no answer: {}", i, response.error().message), finished, static_cast<std::int64_t>(count)});
        }
        continue;
      }
      model::EvalSample sample;
      sample.doc_id = static_cast<std::int64_t>(i);
      sample.question = question.question;
      sample.target = question.answer;
      sample.strict = strict.extract(*response);
      sample.flexible = flexible.extract(*response);
      sample.passed_strict = exact_match(sample.strict, question.answer);
      sample.passed_flexible = exact_match(sample.flexible, question.answer);
      sample.response = std::move(*response);
      samples[i] = std::move(sample);  // each index belongs to one worker
      // Ten lines a task, however many questions it has.
      const auto total = static_cast<std::int64_t>(count);
      if (finished * 10 / total != (finished - 1) * 10 / total) {
        progress.report({"eval", fmt::format("{} of {} questions of {}", finished, count, task.name), finished, total});
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    const std::size_t width = std::min(count, static_cast<std::size_t>(concurrency));
    for (std::size_t w = 0; w < width; ++w) workers.emplace_back(work);
  }
  if (stop.stop_requested()) return cancelled();

  model::EvalResult result;
  result.task = task.name;
  result.definition = task.definition;
  result.threshold = task.threshold;
  result.n_requested = static_cast<std::int64_t>(count);
  std::int64_t passed_strict = 0, passed_flexible = 0;
  for (auto& sample : samples) {
    if (!sample) continue;
    passed_strict += sample->passed_strict ? 1 : 0;
    passed_flexible += sample->passed_flexible ? 1 : 0;
    result.samples.push_back(std::move(*sample));
  }
  result.n_eff = static_cast<std::int64_t>(result.samples.size());
  result.infrastructure_success = count > 0 && result.n_eff == result.n_requested;
  const Score strict_score = score(passed_strict, result.n_requested);
  const Score flexible_score = score(passed_flexible, result.n_requested);
  result.em_strict = strict_score.value;
  result.em_strict_se = strict_score.standard_error;
  result.em_flexible = flexible_score.value;
  result.em_flexible_se = flexible_score.standard_error;
  // Every comparison with NaN is false, so an unknown score or threshold cannot pass.
  result.passed = result.infrastructure_success && result.em_strict >= result.threshold && result.em_flexible >= result.threshold;
  return result;
}

}  // namespace pawl::evals
