#include "results/api_text.h"

// The route table: what there is, what it takes and what it answers. The OpenAPI document is made from it.
namespace pawl::results {
namespace {

constexpr const char* kDate = R"({"type":"string","format":"date","pattern":"^\\d{4}-\\d{2}-\\d{2}$"})";
constexpr const char* kText = R"({"type":"string","maxLength":200})";
constexpr const char* kTrue = R"({"type":"string","enum":["true"]})";
constexpr const char* kDigits = R"({"type":"string","pattern":"^[0-9]{1,18}$"})";
constexpr const char* kCount = R"({"type":"integer","minimum":1,"maximum":10000000})";
constexpr const char* kOffset = R"({"type":"integer","minimum":0,"maximum":10000000})";
constexpr const char* kSequence = R"({"type":"string","enum":["1k/1k","1k/8k","8k/1k","agentic-traces"]})";
constexpr const char* kPower = R"({"type":"string","enum":["strictV2"]})";
constexpr const char* kRows = R"({"type":"array","items":{"$ref":"#/components/schemas/BenchmarkRow"}})";

const ApiParameter kModel{"model", true, "Display name of the model, case-sensitive", kText};
const ApiParameter kLimit{"limit", false, "Rows of one page; without it the answer is whole (ours)", kCount};
const ApiParameter kSkip{"offset", false, "Rows to pass over (ours)", kOffset};
const ApiParameter kMetrics{"metrics", false, "Comma-separated metric keys; others are left out (ours)", R"({"type":"string","maxLength":4000})"};

}  // namespace

const std::vector<ApiRoute>& ResultsApi::routes() {
  static const std::vector<ApiRoute> all{
      {"/api/v1/availability",
       "stable",
       "What was measured on which day",
       {kLimit, kSkip},
       R"({"type":"array","items":{"$ref":"#/components/schemas/AvailabilityRow"}})",
       answer_availability},
      {"/api/v1/benchmarks",
       "stable",
       "The newest snapshot of every curve of a model",
       {kModel,
        {"date", false, "As-of day: newest snapshot on or before it", kDate},
        {"exact", false, "true: only rows of that day", kTrue},
        {"runId", false, "With date: candidates started no later than this run; with exactRun: this run", kDigits},
        {"exactRun", false, "true: the run's own snapshot", kTrue},
        {"view", false, "calculator: only what a calculator reads; columns: arrays by column with six digits (ours)",
         R"({"type":"string","enum":["calculator","columns"]})"},
        {"sequence", false, "With view=calculator", kSequence},
        {"powerValid", false, "Only rows whose power measurement is valid", kPower},
        {"hardware", false, "Only this hardware (ours)", kText},
        {"framework", false, "Only this framework (ours)", kText},
        {"precision", false, "Only this precision (ours)", kText},
        kMetrics,
        kLimit,
        kSkip},
       kRows,
       answer_benchmarks},
      {"/api/v1/benchmarks/history",
       "stable",
       "Every snapshot of every curve",
       {kModel,
        {"isl", false, "Input length in tokens; needed unless benchmarkType says agentic_traces", R"({"type":"integer","minimum":1,"maximum":1073741824})"},
        {"osl", false, "Output length in tokens", R"({"type":"integer","minimum":1,"maximum":1073741824})"},
        {"benchmarkType", false, "agentic_traces: no lengths", R"({"type":"string","enum":["agentic_traces","single_turn"]})"},
        {"view", false, "As for benchmarks", R"({"type":"string","enum":["calculator","columns"]})"},
        {"sequence", false, "With view=calculator", kSequence},
        {"from", false, "First day (ours)", kDate},
        {"to", false, "Last day (ours)", kDate},
        {"hardware", false, "Only this hardware (ours)", kText},
        {"framework", false, "Only this framework (ours)", kText},
        {"precision", false, "Only this precision (ours)", kText},
        {"powerValid", false, "Only rows whose power measurement is valid (ours)", kPower},
        kMetrics,
        kLimit,
        kSkip},
       kRows,
       answer_history},
      {"/api/v1/workflow-info",
       "stable",
       "Runs, changelog entries and configurations of a day",
       {{"date", false, "Only this day", kDate},
        {"benchmarkType", false, "Restricts runConfigs", R"({"type":"string","enum":["agentic_traces","single_turn"]})"}},
       R"({"$ref":"#/components/schemas/WorkflowInfo"})",
       answer_workflow_info},
      {"/api/v1/evaluations",
       "stable",
       "Accuracy results, newest day first",
       {{"model", false, "Display name (ours)", kText},
        {"date", false, "As-of day (ours)", kDate},
        {"exact", false, "true: only that day (ours)", kTrue},
        kLimit,
        kSkip},
       R"({"type":"array","items":{"$ref":"#/components/schemas/EvaluationRow"}})",
       answer_evaluations},
      {"/api/v1/reliability",
       "stable",
       "Successful and all jobs of each run and hardware",
       {},
       R"({"type":"array","items":{"$ref":"#/components/schemas/ReliabilityRow"}})",
       answer_reliability},
      {"/api/v1/submissions", "stable", "What was submitted when", {}, R"({"$ref":"#/components/schemas/Submissions"})", answer_submissions},
      {"/api/v1/latest-images",
       "stable",
       "Newest image of every configuration",
       {},
       R"({"type":"array","items":{"$ref":"#/components/schemas/ImageRow"}})",
       answer_latest_images},
      {"/api/v1/tco-feed",
       "stable",
       "The frontier read at speed tiers, for spreadsheets",
       {{"model", false, "Raw key or display name; default dsv4", kText},
        {"workloads", false, "Up to 8 distinct pairs; default 1024x1024,8192x1024",
         R"({"type":"string","pattern":"^[1-9][0-9]{0,8}x[1-9][0-9]{0,8}(,[1-9][0-9]{0,8}x[1-9][0-9]{0,8}){0,7}$"})"},
        {"tiers", false, "Up to 20 distinct speeds in tokens/s/user; default 30,50,75,100", R"({"type":"string","maxLength":400})"},
        {"date", false, "As-of day", kDate},
        {"format", false, "json or csv", R"({"type":"string","enum":["json","csv"]})"},
        {"view", false, "points or scores", R"({"type":"string","enum":["points","scores"]})"},
        {"weights", false, "One weight a tier; with view=scores", R"({"type":"string","maxLength":400})"},
        {"workload_weights", false, "One weight a workload; with view=scores", R"({"type":"string","maxLength":400})"},
        {"alpha", false, "Weight of input tokens, 0 to 10; with view=scores", R"({"type":"number","minimum":0,"maximum":10})"}},
       R"({"$ref":"#/components/schemas/TcoFeed"})",
       answer_tco_feed},
      {"/api/v1/pareto",
       "beta",
       "Rows that no other beats in both metrics, and those that none loses to",
       {kModel,
        {"rawModel", true, "Raw key of the model", kText},
        {"sequence", true, "Lengths", kSequence},
        {"xMetric", true, "Metric on x", R"({"type":"string","pattern":"^[a-z][a-z0-9_.]{0,99}$"})"},
        {"yMetric", true, "Metric on y", R"({"type":"string","pattern":"^[a-z][a-z0-9_.]{0,99}$"})"},
        {"xDirection", true, "What is better on x", R"({"type":"string","enum":["min","max"]})"},
        {"yDirection", true, "What is better on y", R"({"type":"string","enum":["min","max"]})"},
        {"hardware", false, "Only this hardware", kText},
        {"framework", false, "Only this framework", kText},
        {"precision", false, "Only this precision", kText},
        {"date", false, "As-of day", kDate},
        {"exact", false, "true: only that day", kTrue},
        {"runId", false, "As for benchmarks", kDigits},
        {"exactRun", false, "true: the run's own snapshot", kTrue},
        {"powerValid", false, "Only rows whose power measurement is valid", kPower}},
       R"({"$ref":"#/components/schemas/Pareto"})",
       answer_pareto},
      {"/api/v1/benchmark-siblings",
       "beta",
       "All rows of the same run and configuration",
       {{"id", true, "Id of a benchmark row", R"({"type":"integer","minimum":1,"maximum":9007199254740991})"}},
       R"({"type":"object","required":["sku","siblings"]})",
       answer_siblings},
  };
  return all;
}

}  // namespace pawl::results
