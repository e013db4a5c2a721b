#include "evals/engine_claims.h"

#include <gtest/gtest.h>

namespace pawl::evals {
namespace {

using codec::Json;

const Json kRow{{"tp", 4}, {"ep", 1}, {"dp-attn", false}, {"spec-decoding", "none"}, {"model", "m"}};
const Json kModels{{"data", {{{"id", "served"}}}}};

TEST(EngineClaims, ThatAgreeContradictNothing) {
  const Json info{{"tp_size", 4}, {"ep_size", 1}, {"enable_dp_attention", false}, {"speculative_algorithm", nullptr}};
  EXPECT_TRUE(contradictions(kRow, "served", read_claims(info, kModels)).empty());
  EXPECT_TRUE(contradictions(kRow, "served", read_claims(nullptr, nullptr)).empty()) << "an engine that says nothing contradicts nothing";
  EXPECT_TRUE(contradictions(Json{{"tp", 4}, {"ep", 0}}, "", read_claims(info, nullptr)).empty()) << "no expert parallelism is 0 or 1";
}

TEST(EngineClaims, OfAnotherDeploymentAreNamed) {
  const Json info{{"tp_size", 2}, {"ep_size", 8}, {"enable_dp_attention", true}, {"speculative_algorithm", "EAGLE"}};
  const auto found = contradictions(kRow, "other", read_claims(info, kModels));
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0], "tp: the row says 4, the engine 2");
  EXPECT_EQ(found[1], "ep: the row says 1, the engine 8");
  EXPECT_EQ(found[2], "dp-attn: the row says false, the engine true");
  EXPECT_EQ(found[3], "spec-decoding: the row says none, the engine EAGLE");
  EXPECT_EQ(found[4], "model: the row says other, the engine [\"served\"]");
}

TEST(EngineClaims, AContradictionInvalidatesTheResult) {
  model::EvalResult result;
  result.passed = true;
  invalidate(result, {});
  EXPECT_TRUE(result.passed);
  invalidate(result, {"tp: the row says 4, the engine 2"});
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.contradictions->size(), 1u);
}

TEST(EngineClaims, AnEngineThatTakesAnyNameIsNotAskedForOne) {
  EXPECT_TRUE(contradictions(kRow, "served", read_claims(nullptr, Json{{"data", {{{"id", "/models/x.gguf"}}}}})).empty());
}

}  // namespace
}  // namespace pawl::evals
