#include "evals/evaluation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <mutex>
#include <vector>

#include "codec/json.h"
#include "http/server.h"

namespace pawl::evals {
namespace {

Task task_of(int questions) {
  Task task;
  task.name = "t";
  task.definition = "d";
  task.prompt = "Q: {question}";
  task.until = {"</s>"};
  task.max_tokens = 8;
  task.strict = {"#### ([0-9]+)", -1};
  task.flexible = Filter{"[0-9]+", -1};
  task.threshold = 0.75;
  for (int i = 0; i < questions; ++i) task.questions.push_back({"number " + std::to_string(i), std::to_string(i)});
  return task;
}

/// An engine that answers as `answer` says: a text, or nothing for status 500.
class Engine {
 public:
  using Answer = std::function<std::optional<std::string>(int question)>;
  explicit Engine(Answer answer) {
    auto server = http::Server::start({}, [this, answer = std::move(answer)](const http::Request& request, const std::shared_ptr<http::Responder>& responder) {
      const codec::Json body = codec::Json::parse(request.body);
      const std::string prompt = body.at("prompt");
      const int question = std::stoi(prompt.substr(prompt.rfind(' ')));
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(body);
        paths_.push_back(request.method + " " + request.path);
      }
      const auto text = answer(question);
      if (!text) return responder->send({500, {}, "broken"});
      responder->send({200, {{"Content-Type", "application/json"}}, codec::Json{{"choices", {{{"index", 0}, {"text", *text}}}}}.dump()});
    });
    EXPECT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }
  ~Engine() { server_.reset(); }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }

  std::mutex mutex_;
  std::vector<codec::Json> requests_;
  std::vector<std::string> paths_;

 private:
  std::unique_ptr<http::Server> server_;
};

EvalOptions options_of(const std::string& url, std::int64_t concurrency, std::optional<std::int64_t> limit) {
  EvalOptions options;
  options.url = url;
  options.model = "m";
  options.concurrency = concurrency;
  options.limit = limit;
  options.retries = 0;
  return options;
}

Result<model::EvalResult> eval(const Task& task, const std::string& url, std::int64_t concurrency = 3, std::optional<std::int64_t> limit = {}) {
  io::NoProgress progress;
  return run_eval(task, options_of(url, concurrency, limit), progress, {});
}

TEST(Evaluation, RightAnswersPass) {
  Engine engine([](int q) { return "so it is\n#### " + std::to_string(q); });
  const auto result = eval(task_of(8), engine.url());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->passed);
  EXPECT_TRUE(result->infrastructure_success);
  EXPECT_EQ(result->em_strict, 1);
  EXPECT_EQ(result->em_flexible, 1);
  EXPECT_EQ(result->em_strict_se, 0);
  EXPECT_EQ(result->n_requested, 8);
  EXPECT_EQ(result->n_eff, 8);
  EXPECT_EQ(result->definition, "d");
  ASSERT_EQ(result->samples.size(), 8u);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(result->samples[static_cast<std::size_t>(i)].doc_id, i) << "in the order of the task";
    EXPECT_EQ(result->samples[static_cast<std::size_t>(i)].strict, std::to_string(i));
  }
}

TEST(Evaluation, AsksEachQuestionOnceWithTheStopStringsOfTheTask) {
  Engine engine([](int q) { return std::to_string(q); });
  ASSERT_TRUE(eval(task_of(5), engine.url()));
  ASSERT_EQ(engine.requests_.size(), 5u);
  for (const codec::Json& body : engine.requests_) {
    EXPECT_EQ(body.at("model"), "m");
    EXPECT_EQ(body.at("max_tokens"), 8);
    EXPECT_EQ(body.at("temperature"), 0);
    EXPECT_EQ(body.at("stop"), codec::Json::array({"</s>"}));
  }
  EXPECT_EQ(engine.paths_.front(), "POST /v1/completions");
}

TEST(Evaluation, BothScoresMustReachTheThreshold) {
  Engine engine([](int q) { return std::to_string(q); });  // right, but without the marker
  const auto result = eval(task_of(4), engine.url());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->em_strict, 0);
  EXPECT_EQ(result->em_flexible, 1);
  EXPECT_FALSE(result->passed);
}

TEST(Evaluation, AScoreAtTheThresholdPasses) {
  Engine engine([](int q) { return "#### " + std::to_string(q == 0 ? 999 : q); });
  const auto result = eval(task_of(4), engine.url());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->em_strict, 0.75);
  EXPECT_TRUE(result->passed);
}

TEST(Evaluation, AnUnansweredQuestionCannotPass) {
  Engine engine([](int q) { return q == 2 ? std::optional<std::string>() : "#### " + std::to_string(q); });
  const auto result = eval(task_of(8), engine.url());
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->infrastructure_success);
  EXPECT_FALSE(result->passed);
  EXPECT_EQ(result->n_eff, 7);
  EXPECT_EQ(result->samples.size(), 7u);
  EXPECT_TRUE(std::isnan(result->em_strict)) << "what was not answered is not known: that is no score";
  EXPECT_TRUE(std::isnan(result->em_flexible));
}

TEST(Evaluation, AnEngineThatDiesInTheMiddleGivesNoScore) {
  std::unique_ptr<Engine> engine;
  std::atomic<int> answered = 0;
  engine = std::make_unique<Engine>([&](int q) { return ++answered <= 6 ? std::optional<std::string>("#### " + std::to_string(q)) : std::nullopt; });
  const auto result = eval(task_of(10), engine->url(), 1);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->n_eff, 6);
  EXPECT_FALSE(result->infrastructure_success);
  EXPECT_FALSE(result->passed);
  EXPECT_TRUE(std::isnan(result->em_strict)) << "six right answers of ten are not 100 %, nor 60 %";
}

TEST(Evaluation, AQuestionWithoutAnAnswerIsAskedAgainWhileOthersAreAnswered) {
  std::atomic<int> refused = 0;
  Engine engine([&](int q) { return q == 1 && refused++ == 0 ? std::optional<std::string>() : "#### " + std::to_string(q); });
  EvalOptions options = options_of(engine.url(), 1, {});
  options.retries = 1;
  io::NoProgress progress;
  const auto result = run_eval(task_of(3), options, progress, {});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->infrastructure_success);
  EXPECT_EQ(engine.requests_.size(), 4u);
}

TEST(Evaluation, AnEmptyAnswerIsAnAnswer) {
  Engine engine([](int q) { return q == 0 ? std::string() : "#### " + std::to_string(q); });
  const auto result = eval(task_of(4), engine.url());
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->infrastructure_success);
  EXPECT_EQ(result->em_strict, 0.75);
  ASSERT_TRUE(result->diagnostics);
  EXPECT_EQ(result->diagnostics->empty, 0.25);
}

TEST(Evaluation, GoesOnWithWhatIsMissing) {
  Engine engine([](int q) { return "#### " + std::to_string(q); });
  std::vector<model::EvalSample> kept;
  EvalOptions options = options_of(engine.url(), 2, 3);
  options.keep = [&](const model::EvalSample& sample) -> Status {
    kept.push_back(sample);
    return {};
  };
  io::NoProgress progress;
  ASSERT_TRUE(run_eval(task_of(8), options, progress, {}));
  ASSERT_EQ(kept.size(), 3u);
  options.limit.reset();
  options.earlier = kept;
  const auto result = run_eval(task_of(8), options, progress, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(engine.requests_.size(), 8u) << "each question was asked once";
  EXPECT_EQ(result->n_eff, 8);
  EXPECT_EQ(result->em_strict, 1);
  EXPECT_EQ(kept.size(), 8u);
}

TEST(Evaluation, WhatCannotBeKeptEndsIt) {
  Engine engine([](int q) { return std::to_string(q); });
  EvalOptions options = options_of(engine.url(), 1, {});
  options.keep = [](const model::EvalSample&) -> Status { return machine_error("the disk is full"); };
  io::NoProgress progress;
  const auto result = run_eval(task_of(3), options, progress, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the disk is full");
}

TEST(Evaluation, DiagnosticsChangeNoScore) {
  Engine engine([](int q) {
    switch (q) {
      case 0:
        return std::string("#### $0.00");
      case 1:
        return std::string("#### 1\n\nQuestion: and then?\n#### 7");
      default:
        return std::string("it is ") + std::to_string(q) + ".00";
    }
  });
  Task task = task_of(3);
  task.strict = {"#### ([$0-9.,]+)", 0};
  task.flexible = Filter{"(-?[$0-9.,]{2,})|(-?[0-9]+)", -1};
  const auto result = eval(task, engine.url());
  ASSERT_TRUE(result);
  ASSERT_EQ(result->samples.size(), 3u);
  EXPECT_FALSE(result->samples[0].passed_strict);
  EXPECT_TRUE(*result->samples[0].numeric_strict);
  EXPECT_TRUE(result->samples[1].passed_strict);
  EXPECT_TRUE(*result->samples[1].run_on);
  EXPECT_FALSE(result->samples[2].passed_flexible);
  EXPECT_TRUE(*result->samples[2].numeric_flexible);
  EXPECT_NEAR(result->em_strict, 1.0 / 3, 1e-15);
}

TEST(Evaluation, TheThresholdOfAModelGoesBeforeThatOfTheTask) {
  Task task = task_of(1);
  task.threshold = 0.5;
  task.thresholds = {{"dear", 0.97}};
  EXPECT_EQ(summarise(task, "dear", {}, 1).threshold, 0.97);
  EXPECT_EQ(summarise(task, "other", {}, 1).threshold, 0.5);
  EXPECT_FALSE(summarise(task, "other", {}, 0).passed) << "nothing was checked";
}

TEST(Evaluation, AChatCarriesThePromptAsOneMessage) {
  Task task = task_of(2);
  auto server = http::Server::start({}, [](const http::Request& request, const std::shared_ptr<http::Responder>& responder) {
    const codec::Json body = codec::Json::parse(request.body);
    const std::string content = body.at("messages").at(0).at("content");
    responder->send(
        {200,
         {{"Content-Type", "application/json"}},
         codec::Json{
             {"choices",
              {{{"index", 0}, {"finish_reason", "stop"}, {"message", {{"role", "assistant"}, {"content", "#### " + content.substr(content.rfind(' ') + 1)}}}}}}}
             .dump()});
  });
  ASSERT_TRUE(server);
  EvalOptions options = options_of("http://127.0.0.1:" + std::to_string((*server)->port()), 1, {});
  options.chat = true;
  io::NoProgress progress;
  const auto result = run_eval(task, options, progress, {});
  server->reset();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->em_strict, 1);
  EXPECT_EQ(result->samples[0].finish_reason, "stop");
}

TEST(Evaluation, WithoutAnEngineNothingIsAnswered) {
  const auto result = eval(task_of(2), "http://127.0.0.1:1");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->n_eff, 0);
  EXPECT_FALSE(result->infrastructure_success);
  EXPECT_FALSE(result->passed);
}

TEST(Evaluation, AnUnknownThresholdFails) {
  Engine engine([](int q) { return "#### " + std::to_string(q); });
  Task task = task_of(3);
  task.threshold = std::nan("");
  const auto result = eval(task, engine.url());
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->passed);
}

TEST(Evaluation, ALimitAsksTheFirstQuestions) {
  Engine engine([](int q) { return "#### " + std::to_string(q); });
  const auto result = eval(task_of(8), engine.url(), 2, 3);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->n_requested, 3);
  EXPECT_EQ(result->samples.back().doc_id, 2);
}

TEST(Evaluation, AStopEndsIt) {
  std::stop_source source;
  Engine engine([&](int q) {
    source.request_stop();
    return std::to_string(q);
  });
  io::NoProgress progress;
  const auto result = run_eval(task_of(8), options_of(engine.url(), 1, {}), progress, source.get_token());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().cls, ErrorClass::kCancelled);
  EXPECT_LT(engine.requests_.size(), 8u);
}

}  // namespace
}  // namespace pawl::evals
