#include "exec/slurm_records.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "codec/describe.h"

namespace pawl::exec {
namespace {

using codec::Json;

SlurmRecord state(std::string base, std::string reason = "", std::vector<std::string> flags = {}) {
  SlurmRecord record;
  record.id = 7;
  record.base = std::move(base);
  record.reason = std::move(reason);
  record.flags = std::move(flags);
  return record;
}

struct Row {
  SlurmRecord record;
  SlurmContext context;
  SlurmOutcome outcome;
  bool terminal, hopeless, retry;
};

TEST(SlurmJudgeTest, EveryRowOfTheTable) {
  using enum SlurmOutcome;
  SlurmRecord failed = state("FAILED", "NonZeroExitCode");
  failed.exit_code = 3;
  SlurmRecord output = state("FAILED");
  output.exit_code = 0;
  output.signal = 53;
  SlurmRecord killed = state("FAILED", "RaisedSignal");
  killed.exit_code = 0;
  killed.signal = 9;
  SlurmRecord terminated = killed;
  terminated.signal = 15;
  const std::vector<Row> rows{
      {state("PENDING", "Resources"), {}, kWaiting, false, false, false},
      {state("PENDING", "QOSMaxJobsPerUserLimit"), {}, kWaiting, false, false, false},
      {state("PENDING", "ReqNodeNotAvail"), {}, kWaiting, false, false, false},
      {state("PENDING", "BadConstraints"), {}, kConfig, false, true, false},
      {state("PENDING", "QOSMaxGRESPerJob"), {}, kConfig, false, true, false},
      {state("PENDING", "JobHeldUser"), {}, kHeld, false, false, false},
      {state("PENDING", "JobHoldMaxRequeue"), {}, kInfraNode, false, true, true},
      {state("PENDING", "", {"REQUEUE_HOLD"}), {}, kInfraNode, false, true, true},
      {state("PENDING", "BeginTime", {"REQUEUED"}), {}, kWaiting, false, false, false},
      {state("RUNNING"), {}, kRunning, false, false, false},
      {state("RUNNING", "", {"CONFIGURING"}), {}, kRunning, false, false, false},
      {state("", "", {"CONFIGURING"}), {}, kRunning, false, false, false},
      {state("SUSPENDED"), {}, kRunning, false, false, false},
      {state("RUNNING", "", {"STOPPED"}), {}, kRunning, false, false, false},
      {state("FAILED", "", {"COMPLETING"}), {}, kEnding, false, false, false},
      {state("", "", {"COMPLETING"}), {}, kEnding, false, false, false},
      {state("PENDING", "", {"REVOKED"}), {}, kUnknown, false, false, false},
      {state("FAILED", "", {"LAUNCH_FAILED"}), {}, kInfraNode, true, false, true},
      {state("COMPLETED"), {}, kOk, true, false, false},
      {failed, {}, kLogDecides, true, false, false},
      {state("FAILED", "JobLaunchFailure"), {}, kInfraNode, true, false, true},
      {output, {}, kInfraNode, true, false, true},
      {killed, {.oom_line = true}, kConfig, true, false, false},
      {killed, {}, kLogDecides, true, false, false},
      {terminated, {.cancel_recorded = true}, kCancelledByUs, true, false, false},
      {terminated, {}, kLogDecides, true, false, false},
      {state("OUT_OF_MEMORY"), {}, kConfig, true, false, false},
      {state("TIMEOUT", "TimeLimit"), {}, kTimeout, true, false, false},
      {state("DEADLINE"), {}, kTimeout, true, false, false},
      {state("NODE_FAIL", "NodeDown"), {}, kInfraNode, true, false, true},
      {state("BOOT_FAIL"), {}, kInfraNode, true, false, true},
      {state("PREEMPTED"), {}, kPreempted, true, false, true},
      {state("CANCELLED"), {.cancel_recorded = true}, kCancelledByUs, true, false, false},
      {state("CANCELLED"), {}, kCancelledByOthers, true, false, false},
      {state("CANCELLED", "DependencyNeverSatisfied"), {}, kConfig, true, false, false},
      {state("QUANTUM"), {}, kUnknown, false, false, false},
  };
  for (const Row& row : rows) {
    const SlurmVerdict verdict = judge(&row.record, row.context);
    const std::string name = codec::to_json(row.record).dump();
    EXPECT_EQ(codec::enum_text(verdict.outcome), codec::enum_text(row.outcome)) << name;
    EXPECT_EQ(verdict.terminal, row.terminal) << name;
    EXPECT_EQ(verdict.hopeless, row.hopeless) << name;
    EXPECT_EQ(verdict.retry, row.retry) << name;
    EXPECT_FALSE(verdict.why.empty()) << name;
  }
  EXPECT_FALSE(judge(nullptr, {}).recorded);
  EXPECT_FALSE(judge(nullptr, {}).terminal);
}

TEST(SlurmRecordsTest, TheQueueReadsAlikeInItsTwoShapes) {
  const auto old_shape = read_slurm_json(
      R"({"jobs":[{"job_id":12,"name":"a","user_name":"u","job_state":"FAILED","state_reason":"NonZeroExitCode","exit_code":768,"submit_time":1700000000,"restart_cnt":1,"nodes":"n[1-2]"}]})",
      "old");
  const auto new_shape = read_slurm_json(
      R"({"jobs":[{"job_id":12,"name":"a","user_name":"u","job_state":["FAILED"],"state_reason":"NonZeroExitCode",)"
      R"("exit_code":{"status":["ERROR"],"return_code":{"set":true,"infinite":false,"number":3},"signal":{"id":{"set":false,"infinite":false,"number":0},"name":""}},)"
      R"("submit_time":{"set":true,"infinite":false,"number":1700000000},"restart_cnt":1,"nodes":"n[1-2]"}]})",
      "new");
  ASSERT_TRUE(old_shape) << old_shape.error().message;
  ASSERT_TRUE(new_shape) << new_shape.error().message;
  ASSERT_EQ(old_shape->size(), 1u);
  EXPECT_EQ((*old_shape)[0].exit_code, 3);
  EXPECT_EQ((*new_shape)[0].exit_code, 3);
  Json a = codec::to_json((*old_shape)[0]), b = codec::to_json((*new_shape)[0]);
  a.erase("signal");
  b.erase("signal");
  EXPECT_EQ(a, b);
}

TEST(SlurmRecordsTest, WhatIsNoListOfJobsIsAnError) {
  for (const char* text : {"", "{}", "[]", "{\"jobs\":3}", "slurm_load_jobs error"}) EXPECT_FALSE(read_slurm_json(text, "t")) << text;
  constexpr std::array<std::string_view, 2> kTwo{"JobIDRaw", "State"};
  EXPECT_FALSE(read_slurm_accounting("1|a|b\n", kTwo));
  const auto odd = read_slurm_json(R"({"jobs":[3,{"job_id":{"set":false,"infinite":false,"number":9}}]})", "t");
  ASSERT_TRUE(odd);
  ASSERT_EQ(odd->size(), 1u);
  EXPECT_EQ((*odd)[0].id, 0);
}

TEST(SlurmRecordsTest, IdsAreComparedWhole) {
  SlurmRecord record = state("RUNNING");
  record.id = 1234;
  record.name = "pawl-1.1.a";
  EXPECT_FALSE(is_ours(record, {.id = 123, .name = "pawl-1.1.a", .user = {}, .submitted_after_s = 0}));
  EXPECT_FALSE(is_ours(record, {.id = 1234, .name = "pawl-1.1", .user = {}, .submitted_after_s = 0}));
  EXPECT_TRUE(is_ours(record, {.id = 1234, .name = "pawl-1.1.a", .user = {}, .submitted_after_s = 0}));
}

// ── the cases of public bug reports ──────────────────────────────────────────────────────────────────────────────────

std::string contract_name(SlurmOutcome outcome) {
  switch (outcome) {
    case SlurmOutcome::kOk:
      return "ok";
    case SlurmOutcome::kConfig:
      return "config";
    case SlurmOutcome::kInfraNode:
      return "infra(node)";
    case SlurmOutcome::kInfraCluster:
      return "infra(cluster)";
    case SlurmOutcome::kTimeout:
      return "timeout";
    case SlurmOutcome::kPreempted:
      return "preempted";
    case SlurmOutcome::kCancelledByUs:
    case SlurmOutcome::kCancelledByOthers:
      return "cancelled";
    default:
      return "";
  }
}

Json cases() {
  std::ifstream in(std::filesystem::path(PAWL_SOURCE_DIR) / ".." / "shared" / "cases" / "slurm.json");
  std::stringstream text;
  text << in.rdbuf();
  const auto json = codec::parse_json(text.str(), "slurm.json");
  return json ? (*json)["cases"] : Json();
}

TEST(SlurmCasesTest, StatesOfPublicReports) {
  const Json all = cases();
  if (all.empty()) GTEST_SKIP() << "../shared/cases/slurm.json is not here";
  int checked = 0;
  for (const Json& c : all) {
    const std::string id = c["id"];
    std::vector<SlurmRecord> records;
    if (c.contains("json")) {
      auto read = read_slurm_json(c["json"].dump(), id);
      ASSERT_TRUE(read) << id << read.error().message;
      records = *read;
    } else if (c.contains("stdout")) {
      const std::string command = c["command"];
      const auto begin = command.find("--format=") + 9;
      const std::string format = command.substr(begin, command.find(' ', begin) - begin);
      auto read = read_slurm_accounting(c["stdout"].get<std::string>(), split(format, ','));
      ASSERT_TRUE(read) << id << read.error().message;
      records = *read;
    } else {
      continue;  // D-10 and D-12 are further down
    }
    for (const auto& [job, want] : c["expected"].items()) {
      SlurmIdentity ours{.id = *parse_int(job), .name = {}, .user = {}, .submitted_after_s = 0};
      if (c.contains("ours")) {
        ours.name = c["ours"]["name"];
        ours.submitted_after_s = c["ours"]["submitted_after"];
      }
      const SlurmRecord* mine = nullptr;
      int ignored = 0;
      for (const SlurmRecord& record : records) {
        if (record.id != ours.id) continue;
        SlurmIdentity expected = ours;
        if (expected.name.empty()) expected.name = record.name;
        if (is_ours(record, expected)) {
          mine = &record;
        } else {
          ++ignored;
        }
      }
      const SlurmVerdict verdict = judge(mine, {});
      EXPECT_EQ(verdict.terminal, want["terminal"].get<bool>()) << id << " " << job;
      if (want["base"].is_null()) {
        EXPECT_EQ(mine, nullptr) << id;
      } else {
        ASSERT_NE(mine, nullptr) << id << " " << job;
        EXPECT_EQ(mine->base, want["base"].get<std::string>()) << id;
      }
      if (want.contains("flags")) {
        EXPECT_EQ(mine->flags, want["flags"].get<std::vector<std::string>>()) << id;
      }
      if (want.contains("outcome")) {
        EXPECT_EQ(contract_name(verdict.outcome), want["outcome"].get<std::string>()) << id << " " << job;
      }
      if (want.contains("exit_code")) {
        EXPECT_EQ(mine->exit_code, want["exit_code"].get<int>()) << id;
      }
      if (want.contains("ignored_records")) {
        EXPECT_EQ(ignored, want["ignored_records"].get<int>()) << id;
      }
      ++checked;
    }
  }
  EXPECT_GE(checked, 7);
}

TEST(SlurmCasesTest, WhereTheIdStandsInWhatSbatchPrints) {
  const Json all = cases();
  if (all.empty()) GTEST_SKIP() << "../shared/cases/slurm.json is not here";
  for (const Json& c : all) {
    if (!c.contains("outputs")) continue;
    for (std::size_t i = 0; i < c["outputs"].size(); ++i) {
      const auto id = submitted_job(c["outputs"][i]["stdout"].get<std::string>());
      const Json& want = c["expected"]["ids"][i];
      EXPECT_EQ(id ? Json(*id) : Json(), want) << c["outputs"][i].dump();
    }
  }
}

}  // namespace
}  // namespace pawl::exec
