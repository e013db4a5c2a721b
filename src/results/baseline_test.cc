#include "results/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "posix/embedded_assets.h"

namespace pawl::results {
namespace {

using codec::Json;
using testing::HasSubstr;

/// Answers as they are written down, and remembers what it was asked.
class Written final : public AnswerSource {
 public:
  std::map<std::string, Json> answers;
  std::vector<std::string> asked;
  Result<Json> get(const std::string& path, const Query& query) override {
    asked.push_back(query_text(path, query));
    const auto found = answers.find(path.substr(path.rfind('/') + 1));
    return found == answers.end() ? Json::array() : found->second;
  }
  [[nodiscard]] std::string shown() const override { return "here"; }
};

Json row(int conc, const char* id, double tput = 100, const char* date = "2026-06-01") {
  return {{"id", id},
          {"hardware", "b200"},
          {"framework", "sglang"},
          {"model", "dsr1"},
          {"precision", "fp8"},
          {"spec_method", "none"},
          {"disagg", false},
          {"is_multinode", false},
          {"prefill_tp", 8},
          {"prefill_ep", 1},
          {"decode_tp", 8},
          {"decode_ep", 1},
          {"num_prefill_gpu", 8},
          {"num_decode_gpu", 8},
          {"isl", 1024},
          {"osl", 1024},
          {"conc", conc},
          {"image", "i:1"},
          {"date", date},
          {"metrics", {{"tput_per_gpu", tput}}},
          {"run_url", "https://ci/runs/7/attempts/2"}};
}

Json eval(const char* id, int conc, bool disagg, int run = 7) {
  Json e = row(conc, id);
  e["disagg"] = disagg, e["task"] = "gsm8k", e["metrics"] = Json{{"em_strict", 0.9}}, e["run_url"] = "https://ci/runs/" + std::to_string(run);
  return e;
}

class BaselineTest : public testing::Test {
 protected:
  BaselineTest() {
    const ModelNames names = ModelNames::load(posix::EmbeddedAssets()).value();
    request.recipe = "r", request.display = "DeepSeek-R1-0528", request.image = "i:1", request.date = "2026-06-01";
    for (const int conc : {4, 8}) {
      const Json matrix{{"image", "i:1"},
                        {"model", "deepseek-ai/DeepSeek-R1"},
                        {"model-prefix", "dsr1"},
                        {"precision", "fp8"},
                        {"framework", "sglang"},
                        {"runner", "cluster:b200-nv"},
                        {"isl", 1024},
                        {"osl", 1024},
                        {"tp", 8},
                        {"pp", 1},
                        {"dcp-size", 1},
                        {"pcp-size", 1},
                        {"conc", conc},
                        {"ep", 1},
                        {"dp-attn", false},
                        {"spec-decoding", "none"},
                        {"exp-name", "dsr1_1k1k"},
                        {"disagg", false}};
      const auto point = wanted_point(matrix, names);
      EXPECT_TRUE(point) << point.error().message;
      request.points.push_back(*point);
    }
    source.answers["workflow-info"] = Json{{"runs", Json::array()}, {"changelogs", Json::array()}, {"runConfigs", Json::array()}};
  }
  Written source;
  BaselineRequest request;
};

TEST_F(BaselineTest, PointsComeInTheOrderThatWasAskedFor) {
  source.answers["benchmarks"] = Json::array({row(8, "12"), row(4, "11"), row(16, "13")});
  const auto b = freeze_baseline(source, request);
  ASSERT_TRUE(b) << b.error().message;
  ASSERT_EQ(b->points.size(), 2U);
  EXPECT_EQ(b->points[0].result_id, "11");
  EXPECT_EQ(b->producers.at(0).run, 7);
  EXPECT_EQ(b->producers.at(0).attempt, 2);
  EXPECT_THAT(b->eval_note, HasSubstr("N/A"));
  EXPECT_EQ(b->sources.size(), 3U);
}

TEST_F(BaselineTest, ARepeatedRowIsANoteAndTwoDifferentOnesAreRefused) {
  source.answers["benchmarks"] = Json::array({row(4, "11"), row(4, "11"), row(8, "12")});
  const auto same = freeze_baseline(source, request);
  ASSERT_TRUE(same);
  EXPECT_THAT(same->notes, testing::Contains(HasSubstr("2 times")));
  source.answers["benchmarks"] = Json::array({row(4, "11"), row(4, "14", 200), row(8, "12")});
  const auto two = freeze_baseline(source, request);
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().cls, ErrorClass::kConflict);
  Json nobody = row(4, "11");
  nobody["run_url"] = nullptr;
  source.answers["benchmarks"] = Json::array({nobody});
  EXPECT_THAT(freeze_baseline(source, request).error().message, HasSubstr("names no run"));
}

TEST_F(BaselineTest, ContradictionsOfTheFeedAreNotes) {
  Json wrong = row(4, "11");
  wrong["num_decode_gpu"] = 64;
  source.answers["benchmarks"] = Json::array({wrong, row(8, "12")});
  source.answers["evaluations"] = Json::array({eval("3", 64, true), eval("2", 32, false), eval("4", 64, false, 8), eval("5", 32, false)});
  const auto b = freeze_baseline(source, request);
  ASSERT_TRUE(b);
  ASSERT_EQ(b->evals.size(), 2U);
  EXPECT_EQ(b->evals[0]["id"], "2");
  EXPECT_THAT(b->notes, testing::Contains(HasSubstr("tells 8 prefill and 64 decode GPUs")));
  EXPECT_THAT(b->notes, testing::Contains(HasSubstr("labelled disagg: true")));
  EXPECT_THAT(b->notes, testing::Contains(HasSubstr("of another run (8)")));
  EXPECT_THAT(b->notes, testing::Contains(HasSubstr("repeats another")));
}

TEST_F(BaselineTest, WithoutADayTheNewestOfTheImageIsTaken) {
  request.date.reset();
  source.answers["benchmarks"] = Json::array({row(4, "11", 1, "2026-05-30"), row(8, "12", 1, "2026-06-02")});
  const auto b = freeze_baseline(source, request);
  ASSERT_TRUE(b);
  EXPECT_EQ(b->date, "2026-06-02");
  request.image = "i:2";
  EXPECT_EQ(freeze_baseline(source, request).error().cls, ErrorClass::kNotFound);
}

TEST_F(BaselineTest, TheUpgradeLoopGetsResultRowsOrNothing) {
  source.answers["benchmarks"] = Json::array({row(8, "12", 80), row(4, "11", 40)});
  AnswerBaselines baselines(source, [&](const std::string&) -> Result<BaselineRequest> { return request; });
  const std::vector<std::string> keys{request.points[1].point_key, request.points[0].point_key};
  const auto found = baselines.newest("r", "i:1", keys);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((**found).rows[0]["tput_per_gpu"], 80);
  EXPECT_EQ((**found).rows[1]["pawl"]["point_key"], keys[1]);
  EXPECT_EQ((**found).run, 7);
  source.answers["benchmarks"] = Json::array({row(8, "12", 80)});
  EXPECT_FALSE(baselines.newest("r", "i:1", keys)->has_value());
  EXPECT_FALSE(baselines.newest("r", "i:9", keys)->has_value());
  EXPECT_FALSE(baselines.newest("r", "i:1", {"unknown"}));
}

}  // namespace
}  // namespace pawl::results
