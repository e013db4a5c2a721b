#include "report/thread.h"

#include <gtest/gtest.h>

namespace pawl::report {
namespace {

using codec::Json;

Style september() { return {.profile = "2026-09"}; }
Style october() {
  return {.profile = "2026-10", .old_value_in_cell = false, .unicode_minus = false, .trim_zeros = true, .fold_chinese = true, .head_digits = 12};
}

control::Candidate candidate() {
  control::Candidate c;
  c.recipe = "qwen3.5-fp4-b200-sglang";
  c.engine = "SGLang";
  c.image_old = "lmsysorg/sglang:v0.5.14-cu130";
  c.image_new = "lmsysorg/sglang:v0.5.19-cu130";
  c.head = std::string(40, 'a');
  return c;
}

Json row(double tput, double ttft) {
  return {{"tp", 2},
          {"ep", 1},
          {"conc", 4},
          {"tput_per_gpu", tput},
          {"output_tput_per_gpu", tput / 9},
          {"mean_tpot", 0.00666},
          {"mean_ttft", ttft},
          {"pawl", {{"point_key", "k"}, {"verdict", "VALID"}, {"scale", "1/32"}, {"simulated", true}}}};
}

TEST(Numbers, BothProfilesWriteThemAsTheirThreadsDo) {
  EXPECT_EQ(number(september(), 1385.5, 1), "1385.5");
  EXPECT_EQ(number(october(), 5174.09, 2), "5,174.09");
  EXPECT_EQ(number(october(), 37.2, 2), "37.2");
  EXPECT_EQ(number(october(), 1234567, 0), "1,234,567");
  EXPECT_EQ(number(september(), model::kUnknown, 1), "N/A");
  EXPECT_EQ(delta(september(), 23.58), "+23.6%");
  EXPECT_EQ(delta(september(), -57.3), "−57.3%");
  EXPECT_EQ(delta(october(), 10), "+10%");
  EXPECT_EQ(delta(october(), -0.01), "+0%");
  EXPECT_EQ(delta(september(), model::kUnknown), "");
}

TEST(Numbers, ForeignTextIsHarmless) {
  EXPECT_EQ(neutral("@someone <b>|`x`\nnext"), "＠someone ‹b›¦'x' next");
  EXPECT_LE(neutral(std::string(2000, 'x')).size(), 710u);
}

TEST(Thread, TitleIsInBothLanguages) {
  EXPECT_EQ(request_title(candidate()),
            "[pawl] Update qwen3.5-fp4-b200-sglang SGLang image to v0.5.19-cu130 / 将 qwen3.5-fp4-b200-sglang 的 SGLang 镜像更新至 v0.5.19-cu130");
}

TEST(Thread, BodyShowsTheFrozenBaselineAndHowToStop) {
  model::Baseline baseline{.date = "2026-08-10",
                           .image = "lmsysorg/sglang:v0.5.14-cu130",
                           .digest = "",
                           .run = 3,
                           .attempt = 1,
                           .head = "",
                           .scale = "1/32",
                           .rows = {row(2491.3, 0.3764)},
                           .evals = {},
                           .sources = {"/api/v1/benchmarks?model=M"}};
  const std::string body = request_body(september(), candidate(), baseline);
  for (const char* part : {"| TP2/EP1 conc 4 | 2491.3 | 276.8 | 6.66 | 376.4 |", "close this change request", "请关闭此变更请求", "run 3 / attempt 1",
                           "Published eval: N/A", "simulated", "1/32", "GET /api/v1/benchmarks?model=M"}) {
    EXPECT_NE(body.find(part), std::string::npos) << part << "\n" << body;
  }
}

TEST(Thread, AttemptShowsOldNewAndDeltaAndWhatComesNext) {
  control::Attempt attempt{.kind = control::AttemptKind::kFinal,
                           .status = control::AttemptStatus::kPassed,
                           .run = 9,
                           .head = std::string(40, 'b'),
                           .next = control::NextStep::kFinish};
  AttemptFacts facts{.run = 9, .jobs = 9, .scale = "1/32", .simulated = true, .checks = {{"jobs-succeeded", true, 9, 9}}};
  facts.comparison = *compare::compare({row(2491.3, 0.3764)}, {row(2834.4, 0.2473)}, {}, {}, compare::Statistic::kMean);
  const std::string text = attempt_comment(september(), candidate(), attempt, facts);
  for (const char* part : {"2491.3 → 2834.4 (+13.8%)", "376.4 → 247.3 (−34.3%)", "Final full sweep — passed", "最终完整 sweep — 已通过",
                           "✓ jobs that succeeded: 9/9", "No regressions", "**Next:**", "**下一步：**"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  const std::string folded = attempt_comment(october(), candidate(), attempt, facts);
  EXPECT_NE(folded.find("2,834.4 (+13.8%)"), std::string::npos) << folded;
  EXPECT_NE(folded.find("<details><summary>中文</summary>"), std::string::npos);
}

TEST(Thread, ReceiptListsEveryRunOnceAndSaysWhatBecameOfTheRequest) {
  control::Candidate c = candidate();
  c.runs = {12, 3};
  c.runs_complete = true;
  c.outcome = model::Outcome::kValidated;
  EXPECT_NE(completion_receipt(september(), c).find("pawl: **validated** (profile 2026-09). All owned runs are terminal. Repairs: 0. Runs: 3, 12."),
            std::string::npos);
  c.outcome = model::Outcome::kCapacityDeferred;
  EXPECT_NE(completion_receipt(september(), c).find("branch deleted"), std::string::npos);
}

}  // namespace
}  // namespace pawl::report
