#include "twin/predict.h"

#include <gtest/gtest.h>

#include "posix/embedded_assets.h"

namespace pawl::twin {
namespace {

using codec::Json;

Json row(std::int64_t conc, std::int64_t isl = 1024, std::int64_t osl = 64) {
  return {{"image", "lmsysorg/sglang:v0.5.14-cu130"},
          {"model", "Qwen/Qwen3.5"},
          {"model-prefix", "qwen3.5"},
          {"precision", "fp4"},
          {"framework", "sglang"},
          {"runner", "b200"},
          {"exp-name", "qwen3.5_1k1k"},
          {"isl", isl},
          {"osl", osl},
          {"tp", 2},
          {"ep", 1},
          {"dp-attn", false},
          {"conc", conc},
          {"max-model-len", 4096},
          {"spec-decoding", "none"},
          {"disagg", false},
          {"run-eval", false}};
}

constexpr PredictOptions kShort = {.requests_per_slot = 4, .warmups_per_slot = 1, .range_ratio = 1, .start_s = 300};

TEST(Predict, PointsAreFoundWhereverTheyLieInTheMatrix) {
  const posix::EmbeddedAssets assets;
  std::vector<std::size_t> told;
  const auto points = predict(assets, {{"single_node", {{"1k1k", Json::array({row(4), row(8)})}}}}, kShort, [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, 2u);
    told.push_back(done);
    return true;
  });
  ASSERT_TRUE(points) << points.error().message;
  ASSERT_EQ(points->size(), 2u);
  EXPECT_EQ(told, (std::vector<std::size_t>{1, 2}));
  const PredictedPoint& a = points->at(0);
  const PredictedPoint& b = points->at(1);
  EXPECT_EQ(a.profile, "sglang-v0.5.14-qwen35-fp4-b200");
  EXPECT_TRUE(a.fitted && a.skipped.empty()) << a.skipped;
  EXPECT_GT(b.output_tok_s_gpu, a.output_tok_s_gpu) << "more at once, more tokens";
  EXPECT_GT(b.tpot_ms, a.tpot_ms);
  EXPECT_NEAR(a.total_tok_s_gpu / a.output_tok_s_gpu, (1024.0 + 64) / 64, 1e-9);
  EXPECT_NEAR(a.gpu_hours, (a.start_s + a.warmup_s + a.bench_s) * 2 / 3600, 1e-12);
  EXPECT_NEAR(a.warmup_s, a.bench_s / 4, 1e-12);
}

TEST(Predict, SeveralConcurrenciesOfARowArePointsAndEqualOnesAgree) {
  const posix::EmbeddedAssets assets;
  Json wide = row(4);
  wide["conc"] = {4, 8, 4};
  const auto points = predict(assets, Json::array({wide}), kShort, [](std::size_t, std::size_t) { return true; });
  ASSERT_TRUE(points) << points.error().message;
  ASSERT_EQ(points->size(), 3u);
  EXPECT_EQ(points->at(0).tpot_ms, points->at(2).tpot_ms);
  EXPECT_NE(points->at(0).tpot_ms, points->at(1).tpot_ms);
}

TEST(Predict, WhatCannotBeSimulatedSaysWhy) {
  const posix::EmbeddedAssets assets;
  const auto points =
      predict(assets, Json::array({row(4, 1'000'000'000, 64), row(1'000'000, 1024, 1024)}), kShort, [](std::size_t, std::size_t) { return true; });
  ASSERT_TRUE(points) << points.error().message;
  EXPECT_NE(points->at(0).skipped.find("does not fit the KV cache"), std::string::npos) << points->at(0).skipped;
  EXPECT_EQ(points->at(1).skipped, "too large to simulate");
  EXPECT_EQ(points->at(0).gpu_hours, 0);
  EXPECT_FALSE(predict(assets, Json::array(), kShort, [](std::size_t, std::size_t) { return true; }));
  const auto stopped = predict(assets, Json::array({row(4)}), kShort, [](std::size_t, std::size_t) { return false; });
  EXPECT_FALSE(stopped);
}

}  // namespace
}  // namespace pawl::twin
