#include "plan/priority.h"

#include <gtest/gtest.h>

#include "plan/testing/shared_data.h"

namespace pawl::plan {
namespace {

using codec::Json;
using testing::kShared;
using testing::slurp;

const char* kPolicy = R"(version: 1
base-score: 1.0
adjustments:
  event: {push: 2.0}
  multi-node: 1.25
  agentic: 1.0
  eval-only: 0.0
  precision: {fp4: 0.75}
  spec-decoding: {mtp: 0.75, eagle: 0.75, eagle3: 0.75}
  framework-prefix: {sglang: 0.5, vllm: 0.5, dynamo-sglang: 0.5, dynamo-vllm: 0.5}
  model-prefix: {kimik3: 1.5, dsv4: 0.75, qwen3.5: 0.75}
labels:
  skip-queue: {name: skip_queue}
  checklist-complete: {names: [ci-checklist-complete], adjustment: 0.25}
  patchwork: {names: [ci-patchwork, engine-patch], score: 0.0, waived-by: [ci-patchwork-waived]}
)";

PriorityPolicy policy() { return *PriorityPolicy::read(kPolicy, "policy.yaml"); }

const Json kPlain = Json::parse(R"({"runner":"b200","framework":"trt"})");
const Json kRich = Json::parse(
    R"({"runner":"b","framework":"sglang-disagg","prefill":{},"scenario-type":"agentic-coding","precision":"fp4","spec-decoding":"mtp","model-prefix":"dsv4"})");

TEST(Priority, ScoresAddUp) {
  const PriorityPolicy p = policy();
  EXPECT_EQ(priority_of(p, kPlain, {}), "1.000");
  EXPECT_EQ(priority_of(p, kRich, {}), "6.000");
  EXPECT_EQ(priority_of(p, kPlain, {.event = "push"}), "3.000");
  EXPECT_EQ(priority_of(p, kPlain, {.labels = {"engine-patch"}}), "0.000");
  EXPECT_EQ(priority_of(p, kPlain, {.labels = {"engine-patch", "ci-patchwork-waived"}}), "1.000");
  EXPECT_EQ(priority_of(p, kPlain, {.criteria = {{"patchwork"}}}), "0.000");
  EXPECT_EQ(priority_of(p, kPlain, {.labels = {"ci-patchwork-waived"}, .criteria = {{"patchwork"}}}), "1.000");
  EXPECT_EQ(priority_of(p, kRich, {.labels = {"ci-checklist-complete"}, .criteria = std::vector<std::string>{}}), "1.250");
  EXPECT_EQ(priority_of(p, kRich, {.criteria = {{"multi-node", "agentic", "fp4", "mtp", "sglang", "dsv4"}}}), "6.000");
  EXPECT_EQ(priority_of(p, kPlain, {.criteria = {{"multi-node", "fp4", "sglang"}}}), "1.000");
  EXPECT_EQ(priority_of(p, Json::parse(R"({"framework":"vllm"})"), {.criteria = {{"sglang", "vllm"}}}), "1.500");
  EXPECT_EQ(priority_of(p, kPlain, {.labels = {"priority-9"}}), "1.000");
  std::string half = kPolicy;
  half.replace(half.find("score: 0.0,"), 11, "score: 0.7225,");
  EXPECT_EQ(priority_of(*PriorityPolicy::read(half, "p"), kPlain, {.labels = {"ci-patchwork"}}), "0.723");
}

TEST(Priority, TokensDependOnNamespaceAndPath) {
  const auto token = [&](const char* matrix, const std::string& space) {
    const Json out = *annotate_priorities(policy(), Json::parse(matrix), {.queue_namespace = space});
    return (out.is_array() ? out[0] : out)["queue-token"].get<std::string>();
  };
  EXPECT_EQ(token(R"([{"runner":"b200","framework":"sglang"}])", "123:1"), "c69bce77ec67ff3bda580834ae7ababa");
  EXPECT_EQ(token(R"([{"runner":"b200","framework":"sglang"}])", "123:2"), "5b38bd4e8c0bd599fa0cbce6a20fd2ad");
  EXPECT_EQ(token(R"([{"runner":"b200","framework":"sglang"}])", "local"), "ecff48e81f971aa262c0053b414dfa9c");
  EXPECT_EQ(token(R"({"runner":"b200","framework":"sglang"})", "123:1"), "4bda0e4467512d35fc21c072889b4bc0");
}

TEST(Priority, UnknownCriteriaAndOtherVersionsAreRefused) {
  const auto bad = annotate_priorities(policy(), kPlain, {.criteria = {{"agentik"}}});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().remedy, "did you mean agentic?");
  EXPECT_FALSE(PriorityPolicy::read("version: 2\n", "p"));
  EXPECT_FALSE(PriorityPolicy::read("version: 1\nbase-score: high\n", "p"));
}

TEST(Priority, EqualsTheReferenceByteForByte) {
  const auto data = kShared / "data" / "inferencex";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "no ../shared/data/inferencex beside the project";
  const auto real = PriorityPolicy::read(slurp(data / "configs" / "ci-priority.yaml"), "ci-priority.yaml");
  ASSERT_TRUE(real) << real.error().message;
  EXPECT_EQ(real->known_criteria().size(), 21u);
  const auto compare = [&](const std::string& name, const PriorityInput& input) {
    const auto out = annotate_priorities(*real, Json::parse(slurp(data / "golden" / (name + ".json"))), input);
    ASSERT_TRUE(out);
    EXPECT_TRUE(codec::write_json(*out, codec::JsonForm::kPyCompact) + "\n" == slurp(data / "golden" / (name + ".priority.json"))) << name;
  };
  compare("changelog.843c6254", {.event = "push", .pull_request = 0, .queue_namespace = "100:1"});
  compare("mini/changelog.pr1.trim-conc", {.event = "pull_request", .labels = {"sweep-enabled", "skip_queue"}, .pull_request = 42, .queue_namespace = "100:1"});
}

}  // namespace
}  // namespace pawl::plan
