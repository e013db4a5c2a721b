#include "model/row.h"

#include <gtest/gtest.h>

#include "model/image.h"
#include "model/metrics.h"
#include "model/outcome.h"
#include "model/point.h"

namespace pawl::model {
namespace {

using codec::Json;

Json matrix_row() {
  return Json::parse(R"({"image":"lmsysorg/sglang:v0.5.14-cu130","model":"nvidia/Qwen3.5-397B-A17B-NVFP4-V2","model-prefix":"qwen3.5","precision":"fp4",
    "framework":"sglang","runner":"b200","isl":8192,"osl":1024,"tp":2,"pp":1,"dcp-size":1,"pcp-size":1,"conc":64,"max-model-len":9472,"ep":1,"dp-attn":false,
    "spec-decoding":"none","exp-name":"qwen3.5_8k1k","disagg":false,"run-eval":true})");
}

TEST(Image, PartsAndRefusals) {
  const auto plain = parse_image("lmsysorg/sglang:v0.5.19-cu130");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->name, "lmsysorg/sglang");
  EXPECT_EQ(plain->tag, "v0.5.19-cu130");
  const auto port = parse_image("registry.example:5000/a/b");
  ASSERT_TRUE(port);
  EXPECT_EQ(port->name, "registry.example:5000/a/b");
  EXPECT_TRUE(port->tag.empty());
  const auto pinned = parse_image("r/i:t@sha256:" + std::string(64, 'a'));
  ASSERT_TRUE(pinned);
  EXPECT_EQ(pinned->text(), "r/i:t@sha256:" + std::string(64, 'a'));
  for (const std::string bad : {"", "a b", "a:", "a@sha256:12", "a:t\n", "a:v!"}) EXPECT_FALSE(parse_image(bad)) << bad;
  EXPECT_TRUE(same_image("nvcr.io#nvidia/x:1", "nvcr.io/nvidia/x:1"));
}

TEST(Point, KeyIgnoresImageAndEvalMarks) {
  Json a = matrix_row(), b = matrix_row();
  b["image"] = "lmsysorg/sglang:v0.5.19-cu130";
  b["run-eval"] = false;
  b["exp-name"] = "other";
  EXPECT_EQ(point_key(a), point_key(b));
  b["conc"] = 128;
  EXPECT_NE(point_key(a), point_key(b));
  EXPECT_EQ(shape_key(a), shape_key(b));
}

TEST(Point, LabelsAndGpus) {
  const auto p = point_of_row(matrix_row());
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->label(), "TP2/EP1 conc 64");
  EXPECT_EQ(p->workload(), "8k/1k");
  EXPECT_EQ(p->gpus(), 2);
  Json broken = matrix_row();
  broken.erase("tp");
  EXPECT_EQ(point_of_row(broken).error().message, "matrix row: tp: expected an integer");
}

TEST(Scale, LengthsAndPrompts) {
  const auto scale = parse_scale("1/32");
  ASSERT_TRUE(scale);
  EXPECT_EQ(scale->length(8192), 256);
  EXPECT_EQ(scale->length(1024), 32);
  EXPECT_EQ(scale->length(100), 16);
  EXPECT_EQ(scale->length(10), 10);
  EXPECT_EQ(scale->prompts(1280, 128), 256);
  EXPECT_EQ(scale->prompts(40, 4), 8);
  for (const char* bad : {"0", "2", "1/0", "-1/2", "a", "1/", "3/2"}) EXPECT_FALSE(parse_scale(bad)) << bad;
}

TEST(Row, FormulasAndNamesOfTheContract) {
  JobSpec spec;
  spec.row = matrix_row();
  spec.scale = {1, 32};
  spec.engine.kind = "twin";
  JobResult result;
  result.job = "bench-1";
  BenchResult bench;
  bench.total_token_throughput = 900;
  bench.output_throughput = 100;
  bench.verdict = "VALID";
  bench.metrics["ttft_ms"] = {.n = 3, .mean = 250, .std = 1, .p50 = 240, .p90 = 300, .p99 = 310};
  bench.metrics["tpot_ms"] = {.n = 3, .mean = 10, .std = 0, .p50 = 8, .p90 = 12, .p99 = 20};
  result.bench = bench;
  const auto row = result_row(spec, result);
  ASSERT_TRUE(row) << row.error().message;
  EXPECT_EQ((*row)["tput_per_gpu"], 450.0);
  EXPECT_EQ((*row)["output_tput_per_gpu"], 50.0);
  EXPECT_EQ((*row)["input_tput_per_gpu"], 400.0);
  EXPECT_EQ((*row)["mean_ttft"], 0.25);
  EXPECT_EQ((*row)["median_intvty"], 125.0);
  EXPECT_FALSE(row->contains("std_intvty"));   // 1000/0 is no number
  EXPECT_FALSE(row->contains("p99.9_ttft"));   // not known, so absent
  EXPECT_EQ((*row)["dp_attention"], "false");  // a text, as the reference writes it
  EXPECT_EQ((*row)["pawl"]["scale"], "1/32");
  EXPECT_EQ((*row)["pawl"]["simulated"], true);
  EXPECT_EQ(row_point_key(*row), point_key(spec.row));
  EXPECT_EQ(row_label(*row), "TP2/EP1 conc 64");
}

TEST(Metrics, EveryFamilyOfARowIsDefined) {
  for (const char* key : {"ttft", "tpot", "itl", "e2el", "intvty", "tput_per_gpu", "output_tput_per_gpu", "input_tput_per_gpu"}) {
    EXPECT_NE(find_metric(key), nullptr) << key;
  }
}

TEST(Outcome, ExitStatusOfEach) {
  EXPECT_EQ(exit_status_of(Outcome::kValidated), ExitStatus::kDone);
  EXPECT_EQ(exit_status_of(Outcome::kFailed), ExitStatus::kFoundWanting);
  EXPECT_EQ(exit_status_of(Outcome::kCapacityDeferred), ExitStatus::kDeferred);
  EXPECT_EQ(exit_status_of(Outcome::kStopped), ExitStatus::kStopped);
}

}  // namespace
}  // namespace pawl::model
