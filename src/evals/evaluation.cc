#include "evals/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "codec/json.h"
#include "evals/likelihood.h"
#include "loadgen/load.h"
#include "workload/workload.h"

namespace pawl::evals {
namespace {

/// The questions that are still to be asked, as the load generator takes prompts.
class QuestionWorkload final : public workload::Workload {
 public:
  QuestionWorkload(const Task& task, std::vector<std::int64_t> documents, bool chat) : task_(task), documents_(std::move(documents)), chat_(chat) {}

  [[nodiscard]] workload::Prompt prompt(std::int64_t index) const override {
    const Question& question = task_.questions[static_cast<std::size_t>(documents_[static_cast<std::size_t>(index)])];
    workload::Prompt prompt;
    std::string text = task_.prompt_of(question);
    prompt.isl = std::max<std::int64_t>(1, static_cast<std::int64_t>(text.size() / 4));
    prompt.asked_isl = prompt.isl;
    if (chat_)
      prompt.messages.push_back({"user", std::move(text)});
    else
      prompt.text = std::move(text);
    prompt.osl = task_.max_tokens;
    prompt.session = index;
    return prompt;
  }
  [[nodiscard]] workload::Prompt warmup(std::int64_t index) const override { return prompt(index); }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return static_cast<std::int64_t>(documents_.size()); }
  [[nodiscard]] workload::Description describe() const override {
    workload::Description out;
    out.dataset = "questions";
    return out;
  }
  [[nodiscard]] std::int64_t document(std::int64_t index) const { return documents_[static_cast<std::size_t>(index)]; }

 private:
  const Task& task_;
  const std::vector<std::int64_t> documents_;
  const bool chat_;
};

/// Gathers the samples of an eval, whoever asks.
class Gathering {
 public:
  Gathering(const Task& task, const EvalOptions& options, std::size_t count, io::Progress& progress)
      : task_(task), options_(options), progress_(progress), samples_(count) {}

  /// Answers of an earlier eval that still hold.
  void take_earlier() {
    for (const model::EvalSample& sample : options_.earlier) {
      const auto index = static_cast<std::size_t>(sample.doc_id);
      if (sample.doc_id < 0 || index >= samples_.size() || samples_[index]) continue;
      samples_[index] = sample;
      ++answered_;
    }
  }

  void answer(model::EvalSample sample) {
    const std::lock_guard lock(mutex_);
    auto& place = samples_[static_cast<std::size_t>(sample.doc_id)];
    if (place) return;
    if (options_.keep && !broken_) {
      if (auto kept = options_.keep(sample); !kept) broken_ = std::move(kept).error();
    }
    place = std::move(sample);
    ++answered_;
    const auto total = static_cast<std::int64_t>(samples_.size());
    // Ten lines a task, however many questions it has.
    if (answered_ * 10 / total != (answered_ - 1) * 10 / total) {
      progress_.report({"eval", fmt::format("{} of {} questions of {}", answered_, total, task_.name), answered_, total});
    }
  }

  void miss(std::int64_t document, const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (told_) return;
    told_ = true;
    progress_.report({"eval", fmt::format("question {} has no answer: {}", document, why), answered_, static_cast<std::int64_t>(samples_.size())});
  }

  void fail(Error error) {
    const std::lock_guard lock(mutex_);
    if (!broken_) broken_ = std::move(error);
  }

  [[nodiscard]] std::vector<std::int64_t> missing() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (!samples_[i]) out.push_back(static_cast<std::int64_t>(i));
    }
    return out;
  }
  [[nodiscard]] std::optional<Error> broken() const {
    const std::lock_guard lock(mutex_);
    return broken_;
  }
  [[nodiscard]] std::vector<model::EvalSample> samples() && {
    std::vector<model::EvalSample> out;
    for (auto& sample : samples_) {
      if (sample) out.push_back(std::move(*sample));
    }
    return out;
  }

 private:
  const Task& task_;
  const EvalOptions& options_;
  io::Progress& progress_;
  mutable std::mutex mutex_;
  std::vector<std::optional<model::EvalSample>> samples_;  // all guarded by mutex_
  std::int64_t answered_ = 0;
  bool told_ = false;
  std::optional<Error> broken_;
};

/// Judges each answer as its request ends.
class AnswerObserver final : public measure::RunObserver {
 public:
  AnswerObserver(const Task& task, const QuestionWorkload& workload, const Judge& judge, Gathering& gathering)
      : task_(task), workload_(workload), judge_(judge), gathering_(gathering) {}
  void begin(MonoTime /*origin*/, WallTime /*wall*/) override {}
  void first_request(std::string_view /*head*/, std::string_view /*body*/) override {}
  void take(const measure::RequestRecord& record) override {
    if (record.phase == measure::Phase::kWarmup) return;
    const std::int64_t document = workload_.document(record.index);
    // An answer without a word is an answer.
    const bool answered = record.outcome == measure::Outcome::kOk || (record.status == 200 && record.failure == "empty_output");
    if (!answered) {
      const std::string status = record.status == 0 || record.status == 200 ? "" : fmt::format(" ({})", record.status);
      gathering_.miss(
          document, record.failure.empty() ? "it was not asked" : record.failure + status + (record.detail.empty() ? "" : ": " + record.detail.substr(0, 200)));
      return;
    }
    // Reasoning engines may put everything there.
    std::string text = record.text.empty() ? record.reasoning_text : record.text;
    gathering_.answer(judge_.judge(document, task_.questions[static_cast<std::size_t>(document)], std::move(text), record.finish_reason));
  }

 private:
  const Task& task_;
  const QuestionWorkload& workload_;
  const Judge& judge_;
  Gathering& gathering_;
};

Status ask_all(const Task& task, const EvalOptions& options, const Judge& judge, std::vector<std::int64_t> documents, Gathering& gathering,
               std::stop_token stop) {
  const auto workload = std::make_shared<QuestionWorkload>(task, std::move(documents), options.chat);
  AnswerObserver observer(task, *workload, judge, gathering);
  loadgen::LoadRequest load;
  load.url = options.url;
  load.backend = options.chat ? "openai-chat" : "openai";
  load.model = options.model;
  load.workload = workload;
  load.osl = task.max_tokens;
  load.requests = *workload->size();
  load.concurrency = std::min(options.concurrency, load.requests);
  load.ignore_eos = false;
  load.keep_text = true;
  load.extra = codec::Json{{"temperature", 0}};
  if (!task.until.empty()) load.extra["stop"] = task.until;
  load.request_timeout_s = options.answer_limit_s;
  load.headers = options.headers;
  load.tls = options.tls;
  load.bearer = options.bearer;
  load.observer = &observer;
  io::NoProgress quiet;  // the eval tells its own
  auto run = loadgen::run_load(load, quiet, stop);
  if (run || run.error().cls == ErrorClass::kCancelled) return {};
  if (run.error().cls == ErrorClass::kInvalid) return std::move(run).error();
  gathering.miss(workload->document(0), run.error().message);
  return {};
}

/// The most likely choice of each question; several questions at once.
Status rank_all(const Task& task, const EvalOptions& options, const std::vector<std::int64_t>& documents, Gathering& gathering, std::stop_token stop) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (;;) {
      const std::size_t i = next.fetch_add(1);
      if (i >= documents.size() || stop.stop_requested() || gathering.broken()) return;
      const Question& question = task.questions[static_cast<std::size_t>(documents[i])];
      std::vector<std::string> continuations;
      for (const std::string& choice : question.choices) continuations.push_back(task.delimiter + choice);
      auto likely = log_likelihoods(options, task.prompt_of(question), continuations, stop);
      if (!likely) {
        if (likely.error().cls == ErrorClass::kInvalid) gathering.fail(likely.error());
        if (likely.error().cls != ErrorClass::kCancelled) gathering.miss(documents[i], likely.error().message);
        continue;
      }
      const auto best = static_cast<std::size_t>(std::ranges::max_element(*likely) - likely->begin());
      model::EvalSample sample;
      sample.doc_id = documents[i];
      sample.question = question.question;
      sample.target = question.answer;
      sample.response = question.choices[best];
      sample.strict = sample.flexible = sample.response;
      sample.passed_strict = sample.passed_flexible = sample.response == question.answer;
      sample.log_likelihoods = std::move(*likely);
      gathering.answer(std::move(sample));
    }
  };
  std::vector<std::jthread> workers;
  const std::size_t width = std::min(documents.size(), static_cast<std::size_t>(options.concurrency));
  for (std::size_t w = 0; w < width; ++w) workers.emplace_back(work);
  workers.clear();
  return {};
}

/// False: stopped.
bool pause(double seconds, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; });
  return !stop.stop_requested();
}

bool has_marker(const std::string& text) { return text.find("####") != std::string::npos; }

}  // namespace

Result<Judge> Judge::make(const Task& task) {
  PAWL_ASSIGN(Extractor strict, Extractor::compile(task.strict));
  std::optional<Extractor> flexible;
  if (task.flexible) {
    PAWL_ASSIGN(flexible, Extractor::compile(*task.flexible));
  }
  PAWL_ASSIGN(Matcher matcher, Matcher::compile(task.match));
  return Judge(std::move(strict), std::move(flexible), std::move(matcher));
}

model::EvalSample Judge::judge(std::int64_t doc_id, const Question& question, std::string response, const std::string& finish_reason) const {
  model::EvalSample sample;
  sample.doc_id = doc_id;
  sample.question = question.question;
  sample.target = question.answer;
  sample.strict = strict_.extract(response);
  sample.passed_strict = matcher_.equal(sample.strict, question.answer);
  sample.numeric_strict = numeric_equal(sample.strict, question.answer);
  sample.flexible = flexible_ ? flexible_->extract(response) : sample.strict;
  sample.passed_flexible = matcher_.equal(sample.flexible, question.answer);
  sample.numeric_flexible = numeric_equal(sample.flexible, question.answer);
  sample.empty = response.find_first_not_of(" \t\r\n") == std::string::npos;
  const std::size_t marker = response.find("####");
  const std::string_view behind = marker == std::string::npos ? std::string_view() : std::string_view(response).substr(marker + 4);
  sample.run_on =
      behind.find("####") != std::string_view::npos || behind.find("Question:") != std::string_view::npos || behind.find("Problem:") != std::string_view::npos;
  sample.cut_by_stop = finish_reason == "stop" && !has_marker(response) && !*sample.empty;
  if (!finish_reason.empty()) sample.finish_reason = finish_reason;
  sample.response = std::move(response);
  return sample;
}

model::EvalResult summarise(const Task& task, const std::string& model_prefix, std::vector<model::EvalSample> samples, std::int64_t n_requested) {
  model::EvalResult result;
  result.task = task.reported_name();
  if (task.reported_name() != task.name) result.definition_name = task.name;
  result.definition = task.definition;
  result.threshold = task.threshold_for(model_prefix);
  result.n_requested = n_requested;
  result.n_eff = static_cast<std::int64_t>(samples.size());
  result.infrastructure_success = n_requested > 0 && result.n_eff == n_requested;
  std::int64_t strict = 0, flexible = 0;
  std::map<std::string, std::int64_t> odd;
  for (const model::EvalSample& sample : samples) {
    strict += sample.passed_strict ? 1 : 0;
    flexible += sample.passed_flexible ? 1 : 0;
    odd["numeric_strict"] += sample.numeric_strict.value_or(false) ? 1 : 0;
    odd["numeric_flexible"] += sample.numeric_flexible.value_or(false) ? 1 : 0;
    odd["empty"] += sample.empty.value_or(false) ? 1 : 0;
    odd["run_on"] += sample.run_on.value_or(false) ? 1 : 0;
    odd["cut_by_stop"] += sample.cut_by_stop.value_or(false) ? 1 : 0;
  }
  if (task.kind == TaskKind::kGenerate && result.n_eff > 0) {
    const auto share = [&](const char* name) { return static_cast<double>(odd[name]) / static_cast<double>(result.n_eff); };
    result.diagnostics = model::EvalDiagnostics{share("numeric_strict"), share("numeric_flexible"), share("empty"), share("run_on"), share("cut_by_stop")};
  }
  std::vector<double> gated;
  if (result.infrastructure_success) {
    const Score strict_score = score(strict, n_requested), flexible_score = score(flexible, n_requested);
    if (task.kind == TaskKind::kChoices) {
      result.accuracy = strict_score.value;
      result.accuracy_se = strict_score.standard_error;
      gated = {result.accuracy};
    } else {
      result.em_strict = strict_score.value;
      result.em_strict_se = strict_score.standard_error;
      gated = {result.em_strict};
      if (task.flexible) {
        result.em_flexible = flexible_score.value;
        result.em_flexible_se = flexible_score.standard_error;
        gated.push_back(result.em_flexible);
      }
    }
  }
  // Every comparison with NaN is false, so an unknown score or threshold cannot pass.
  result.passed = result.infrastructure_success && !gated.empty() && std::ranges::all_of(gated, [&](double value) { return value >= result.threshold; });
  result.samples = std::move(samples);
  return result;
}

Result<model::EvalResult> run_eval(const Task& task, const EvalOptions& options, io::Progress& progress, std::stop_token stop) {
  if (options.concurrency < 1) return bad_input(fmt::format("eval {}: concurrency {} is below 1", task.name, options.concurrency));
  if (options.limit && *options.limit < 1) return bad_input(fmt::format("eval {}: limit {} is below 1", task.name, *options.limit));
  PAWL_ASSIGN(const Judge judge, Judge::make(task));
  const std::size_t count = options.limit ? std::min(task.questions.size(), static_cast<std::size_t>(*options.limit)) : task.questions.size();
  Gathering gathering(task, options, count, progress);
  gathering.take_earlier();
  std::vector<std::int64_t> missing = gathering.missing();
  for (std::int64_t round = 0; round <= options.retries && !missing.empty(); ++round) {
    if (round > 0 && !pause(static_cast<double>(std::int64_t{1} << std::min<std::int64_t>(round - 1, 5)), stop)) break;
    const std::size_t before = missing.size();
    if (task.kind == TaskKind::kChoices)
      PAWL_TRY(rank_all(task, options, missing, gathering, stop));
    else
      PAWL_TRY(ask_all(task, options, judge, missing, gathering, stop));
    if (auto broken = gathering.broken()) return *broken;
    if (stop.stop_requested()) return cancelled();
    missing = gathering.missing();
    if (missing.size() == before) break;  // nothing was answered: it is dead, not busy
  }
  return summarise(task, options.model_prefix, std::move(gathering).samples(), static_cast<std::int64_t>(count));
}

}  // namespace pawl::evals
