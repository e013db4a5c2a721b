#include "evals/likelihood.h"

#include <gtest/gtest.h>

#include <cmath>

#include "codec/json.h"
#include "http/server.h"

namespace pawl::evals {
namespace {

using codec::Json;

std::string answer(const Json& values, const Json& offsets) {
  return Json{{"choices", {{{"text", "x"}, {"logprobs", {{"token_logprobs", values}, {"text_offset", offsets}}}}}}}.dump();
}

TEST(Likelihood, IsTheSumOverTheContinuation) {
  // "Q: A" + " yes": five tokens, and one that the engine wrote itself.
  const auto sum = continuation_log_likelihood(answer({nullptr, -1.0, -2.0, -0.5, -0.25, -9.0}, {0, 1, 3, 4, 6, 8}), 4, 8);
  ASSERT_TRUE(sum) << sum.error().message;
  EXPECT_DOUBLE_EQ(*sum, -0.75);
}

TEST(Likelihood, AnEngineThatDoesNotTellItIsNamed) {
  for (const std::string& text : {Json{{"choices", {{{"text", "x"}}}}}.dump(), answer({-1.0}, {0, 1}), answer({-1.0}, {9}),
                                  answer(Json::array(), Json::array()), answer({nullptr, nullptr}, {0, 4}), std::string("[]")}) {
    SCOPED_TRACE(text);
    const auto sum = continuation_log_likelihood(text, 4, 8);
    ASSERT_FALSE(sum);
    EXPECT_EQ(sum.error().cls, ErrorClass::kInvalid);
  }
}

/// An engine that finds a continuation the likelier the shorter it is; tokens are characters.
std::unique_ptr<http::Server> engine(bool tells) {
  auto server = http::Server::start({}, [tells](const http::Request& request, const std::shared_ptr<http::Responder>& responder) {
    const Json body = Json::parse(request.body);
    const std::string prompt = body.at("prompt");
    EXPECT_EQ(body.at("echo"), true);
    if (!tells) return responder->send({400, {}, "echo is not supported"});
    Json values = Json::array({nullptr}), offsets = Json::array({0});
    for (std::size_t i = 1; i < prompt.size(); ++i) {
      values.push_back(-1.0);
      offsets.push_back(i);
    }
    responder->send({200, {{"Content-Type", "application/json"}}, answer(values, offsets)});
  });
  EXPECT_TRUE(server) << server.error().message;
  return std::move(*server);
}

Task task_of() {
  Task task;
  task.name = "t";
  task.kind = TaskKind::kChoices;
  task.prompt = "{question}:";
  task.delimiter = " ";
  task.strict = {".*", 0};
  task.threshold = 0.5;
  task.questions = {{"a", "no", {"perhaps", "no"}}, {"b", "perhaps", {"perhaps", "no"}}};
  return task;
}

TEST(Likelihood, TheLikeliestChoiceIsTheAnswer) {
  const auto server = engine(true);
  EvalOptions options;
  options.url = "http://127.0.0.1:" + std::to_string(server->port());
  options.model = "m";
  options.concurrency = 2;
  io::NoProgress progress;
  const auto result = run_eval(task_of(), options, progress, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->accuracy, 0.5);
  EXPECT_DOUBLE_EQ(result->accuracy_se, std::sqrt(0.5 * 0.5 / 1));
  EXPECT_TRUE(result->passed);
  EXPECT_TRUE(std::isnan(result->em_strict));
  ASSERT_EQ(result->samples.size(), 2u);
  EXPECT_EQ(result->samples[1].response, "no");
  EXPECT_EQ(*result->samples[0].log_likelihoods, (std::vector<double>{-8, -3}));
}

TEST(Likelihood, WithoutLikelihoodsThereIsNoEval) {
  const auto server = engine(false);
  EvalOptions options;
  options.url = "http://127.0.0.1:" + std::to_string(server->port());
  options.model = "m";
  io::NoProgress progress;
  const auto result = run_eval(task_of(), options, progress, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().cls, ErrorClass::kInvalid);
  EXPECT_NE(result.error().message.find("echo is not supported"), std::string::npos);
}

}  // namespace
}  // namespace pawl::evals
