#include "steward/steward.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "codec/describe.h"
#include "forge/local_forge.h"
#include "model/point.h"
#include "model/row.h"
#include "posix/embedded_assets.h"
#include "posix/real_clock.h"
#include "results/result_store.h"
#include "steward/rule_planner.h"
#include "steward/upgrade_plan.h"

namespace pawl::steward {
namespace {

using codec::Json;

constexpr const char* kMaster = R"(demo-fp8-h200-sglang:
  image: lmsysorg/sglang:v0.5.14-cu130
  model: example/Demo
  model-prefix: demo
  runner: h200
  precision: fp8
  framework: sglang
  multinode: false
  scenarios:
    fixed-seq-len:
    - isl: 8192
      osl: 1024
      search-space:
      - { tp: 2, ep: 1, conc-start: 4, conc-end: 16 }
)";
constexpr const char* kScript =
    "python3 -m sglang.launch_server --model-path \"$MODEL\" \\\n  --enable-deepep-waterfill --disable-radix-cache > server.log 2>&1 &\n";
constexpr const char* kScriptPath = "benchmarks/single_node/fixed_seq_len/demo_fp8_h200_sglang.sh";

/// Where a crash may strike: before or after an effect. Counts down; at zero every later effect fails too, as after a
/// real end of the process.
class Fuse {
 public:
  explicit Fuse(int effects) : left_(effects) {}
  [[nodiscard]] bool burnt() { return left_-- <= 0; }
  [[nodiscard]] static Error crash() { return internal_error("crash"); }

 private:
  int left_;
};

/// A sweep runner whose runs end at once. What it keeps outlives stewards, as a database would.
struct Runs {
  struct Run {
    io::SweepRequest request;
    io::RunState state = io::RunState::kQueued;
  };
  std::vector<Run> runs;
  std::string rejected_flag;  ///< engines of the new image do not start with it
};

class FakeRunner final : public io::SweepRunner {
 public:
  FakeRunner(Runs& runs, Fuse& fuse) : runs_(runs), fuse_(fuse) {}
  Result<RunId> dispatch(const io::SweepRequest& request) override {
    if (fuse_.burnt()) return Fuse::crash();
    const auto known = find(request.marker);
    RunId id = known->value_or(RunId{});
    if (!*known) {
      runs_.runs.push_back({request});
      id = RunId{static_cast<std::int64_t>(runs_.runs.size())};
    }
    if (fuse_.burnt()) return Fuse::crash();
    return id;
  }
  Result<std::optional<RunId>> find(const std::string& marker) override {
    for (std::size_t i = 0; i < runs_.runs.size(); ++i) {
      if (runs_.runs[i].request.marker == marker) return std::optional(RunId{static_cast<std::int64_t>(i) + 1});
    }
    return std::optional<RunId>();
  }
  Result<io::RunStatus> status(RunId id) override {
    const Runs::Run& run = at(id);
    io::RunStatus s;
    s.id = id;
    s.marker = run.request.marker;
    s.purpose = run.request.purpose;
    s.head = run.request.head;
    s.state = run.state;
    s.jobs = static_cast<std::int64_t>(run.request.points.size() + run.request.evals.size());
    if (run.state == io::RunState::kFailure) {
      s.failure = model::JobFailure{
          model::FailureClass::kEngine, "the engine ended before it was ready", {"launch_server.py: error: unrecognized arguments: " + runs_.rejected_flag}};
    }
    return s;
  }
  Result<io::RunStatus> wait(RunId id, std::stop_token stop) override {
    if (fuse_.burnt()) return Fuse::crash();
    if (stop.stop_requested()) return cancelled();
    Runs::Run& run = at(id);
    if (!io::terminal(run.state)) {
      const auto& flags = run.request.launch_flags;
      run.state = std::ranges::find(flags, runs_.rejected_flag) != flags.end() ? io::RunState::kFailure : io::RunState::kSuccess;
    }
    return status(id);
  }
  Result<io::RunStatus> rerun(RunId id, std::int64_t, bool) override { return status(id); }
  Result<std::vector<io::RunStatus>> owned(const io::OwnedQuery& query) override {
    std::vector<io::RunStatus> all;
    for (std::size_t i = 0; i < runs_.runs.size(); ++i) {
      if (runs_.runs[i].request.marker.starts_with(query.marker_prefix)) all.push_back(*status(RunId{static_cast<std::int64_t>(i) + 1}));
    }
    return all;
  }
  Status cancel(RunId id) override {
    if (!io::terminal(at(id).state)) at(id).state = io::RunState::kCancelled;
    return {};
  }
  Result<io::RunEvidence> evidence(RunId id) override {
    const Runs::Run& run = at(id);
    io::RunEvidence evidence;
    Json jobs = Json::array();
    const bool ok = run.state == io::RunState::kSuccess;
    const auto add = [&](const Json& row, bool eval) -> Status {
      model::JobSpec spec;
      spec.row = row;
      spec.scale = run.request.scale;
      model::JobResult result;
      jobs.push_back({{"state", ok ? "succeeded" : "failed"}, {"log_complaints", 0}});
      if (!ok) return {};
      if (eval) {
        result.eval = model::EvalResult{.task = "arith24",
                                        .em_strict = 1,
                                        .em_flexible = 1,
                                        .n_requested = 24,
                                        .n_eff = 24,
                                        .infrastructure_success = true,
                                        .threshold = 0.9,
                                        .passed = true};
        PAWL_ASSIGN(Json made, model::eval_row(spec, result));
        evidence.evals.push_back(std::move(made));
      } else {
        model::BenchResult bench;
        bench.total_token_throughput = 100;
        bench.output_throughput = 10;
        bench.verdict = "VALID";
        bench.metrics["tpot_ms"] = {.n = 1, .mean = 10, .p50 = 10};
        bench.metrics["ttft_ms"] = {.n = 1, .mean = 100, .p50 = 100};
        result.bench = bench;
        PAWL_ASSIGN(Json made, model::result_row(spec, result));
        evidence.rows.push_back(std::move(made));
      }
      return {};
    };
    for (const Json& row : run.request.points) PAWL_TRY(add(row, false));
    for (const Json& row : run.request.evals) PAWL_TRY(add(row, true));
    evidence.manifest = {{"run", id.value},
                         {"attempt", 1},
                         {"head", run.request.head},
                         {"full_sweep", run.request.purpose != "smoke"},
                         {"jobs", jobs},
                         {"scale", run.request.scale.text()}};
    return evidence;
  }

 private:
  Runs::Run& at(RunId id) { return runs_.runs.at(static_cast<std::size_t>(id.value) - 1); }
  Runs& runs_;
  Fuse& fuse_;
};

/// The real local forge, which may crash before and after each of its effects.
class CrashingForge final : public io::Forge {
 public:
  CrashingForge(io::Forge& real, Fuse& fuse) : real_(real), fuse_(fuse) {}
  Result<std::optional<std::string>> head(const std::string& branch) override { return real_.head(branch); }
  Result<std::string> read(const std::string& commit, const std::string& path) override { return real_.read(commit, path); }
  Result<std::string> commit(const io::CommitRequest& r) override {
    return around<std::string>([&] { return real_.commit(r); });
  }
  Result<bool> delete_branch(const std::string& b, const std::string& h) override {
    return around<bool>([&] { return real_.delete_branch(b, h); });
  }
  Result<ChangeRequestId> open(const std::string& b, const std::string& t, const std::string& body, const std::string& a) override {
    return around<ChangeRequestId>([&] { return real_.open(b, t, body, a); });
  }
  Result<io::ChangeRequest> get(ChangeRequestId id) override { return real_.get(id); }
  Result<std::vector<io::ChangeRequest>> list() override { return real_.list(); }
  Status edit(ChangeRequestId id, const std::string& t, const std::string& b) override {
    return around<void>([&] { return real_.edit(id, t, b); });
  }
  Status comment(ChangeRequestId id, const std::string& k, const std::string& a, const std::string& b) override {
    return around<void>([&] { return real_.comment(id, k, a, b); });
  }
  Result<std::vector<io::Comment>> comments(ChangeRequestId id) override { return real_.comments(id); }
  Status set_label(ChangeRequestId id, const std::string& l, bool p) override {
    return around<void>([&] { return real_.set_label(id, l, p); });
  }
  Status set_ready(ChangeRequestId id, bool r) override {
    return around<void>([&] { return real_.set_ready(id, r); });
  }
  Status close(ChangeRequestId id, const std::string& by) override {
    return around<void>([&] { return real_.close(id, by); });
  }

 private:
  template <class T, class Work>
  Result<T> around(const Work& work) {
    if (fuse_.burnt()) return Fuse::crash();
    Result<T> answer = work();
    if (fuse_.burnt()) return Fuse::crash();
    return answer;
  }
  io::Forge& real_;
  Fuse& fuse_;
};

/// Comments but those that only say that another session took over.
template <class Comments>
std::set<std::string> lasting(const Comments& comments) {
  std::set<std::string> keys;
  for (const io::Comment& comment : comments) {
    if (comment.key.find("/resumed-") != std::string::npos) continue;
    EXPECT_TRUE(keys.insert(comment.key).second) << comment.key;
  }
  return keys;
}

class Room final : public io::CapacitySource {
 public:
  Result<io::Capacity> check(const std::string&, std::int64_t) override { return io::Capacity{passes_left-- > 0, {}}; }
  int passes_left = 1000;
};

/// One workspace: everything in it is durable but the steward.
class Place {
 public:
  explicit Place(const std::string& name)
      : folder_(scratch() / fmt::format("pawl-steward-{}-{}", name, ::getpid())),
        database_(*store::Database::open(make(folder_) / "pawl.db", {forge::forge_schema(), results::results_schema(), steward_schema()})),
        forge(*forge::LocalForge::open(folder_ / "forge.git", database_, clock)),
        names_(*results::ModelNames::load(assets)),
        source_(database_, names_) {
    EXPECT_TRUE(forge.import_catalogue({{"configs/nvidia-master.yaml", kMaster},
                                        {"configs/runners.yaml", "labels: {}\n"},
                                        {"perf-changelog.yaml", "- config-keys:\n    - demo-fp8-h200-sglang\n  description:\n    - \"First\"\n  pr-link: x\n"},
                                        {kScriptPath, kScript}},
                                       "import", "t <t@t>", "2026-11-30T00:00:00Z"));
  }
  ~Place() { std::filesystem::remove_all(folder_); }

  /// Publishes the old image's results, as a baseline run would have left them.
  void publish_baseline() {
    Runs baseline;
    Fuse fuse(1 << 20);
    FakeRunner runner(baseline, fuse);
    const auto texts = read_catalogue(forge, assets, **forge.head("main"));
    const auto matrix = recipe_matrix(*texts, "demo-fp8-h200-sglang");
    const RunId id = *runner.dispatch({.marker = "b", .purpose = "baseline", .points = matrix->points, .evals = matrix->evals});
    ASSERT_TRUE(runner.wait(id, {}));
    const auto evidence = runner.evidence(id);
    const Status published = results::ResultStore(database_).publish(
        {.run = 100, .recipe = "demo-fp8-h200-sglang", .image = matrix->image, .date = "2026-11-29", .rows = evidence->rows, .evals = evidence->evals});
    ASSERT_TRUE(published) << published.error().message;
  }

  /// One life of a steward: ends with the candidate's end or with the crash.
  Result<control::Candidate> live(int effects, std::stop_token stop = {}) {
    Fuse fuse(effects);
    CrashingForge crashing(forge, fuse);
    FakeRunner runner(runs, fuse);
    auto book = playbook::Playbook::parse(*assets.read("playbook/signatures.yaml"), *assets.read("playbook/flags.yaml"));
    RulePlanner planner(std::move(*book));
    io::NoProgress progress;
    Steward steward({.database = database_,
                     .clock = clock,
                     .assets = assets,
                     .forge = crashing,
                     .runner = runner,
                     .results = source_,
                     .capacity = room,
                     .planner = &planner,
                     .progress = progress});
    PAWL_ASSIGN(const auto known, steward.list());
    if (!known.empty()) return steward.run(known[0].id, stop);
    PAWL_ASSIGN(const control::Candidate started,
                steward.start({.recipe = "demo-fp8-h200-sglang", .image = "lmsysorg/sglang:v0.5.19-cu130", .policy = "2026-09", .eval_task = "arith24"}));
    return steward.run(started.id, stop);
  }
  std::string thread() {
    std::string text;
    const auto comments = forge.comments(ChangeRequestId{1});
    for (const io::Comment& comment : *comments) text += comment.key + "\n" + comment.body + "\n";
    return text;
  }

 private:
  /// In memory where there is such a place: every transaction here waits for its disk, and hundreds of lives are lived.
  static std::filesystem::path scratch() {
    const std::filesystem::path memory = "/dev/shm";
    return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
  }
  static std::filesystem::path make(const std::filesystem::path& folder) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    return folder;
  }
  std::filesystem::path folder_;
  posix::RealClock clock;

 public:
  posix::EmbeddedAssets assets;

 private:
  store::Database database_;

 public:
  forge::LocalForge forge;

 private:
  results::ModelNames names_;
  results::StoreResults source_;

 public:
  Runs runs;
  Room room;
};

TEST(Steward, ARecipeIsMovedEndToEndAndValidated) {
  Place place("happy");
  place.publish_baseline();
  const auto c = place.live(1 << 20);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->outcome, model::Outcome::kValidated);
  const auto request = place.forge.get(ChangeRequestId{1});
  EXPECT_EQ(request->state, io::ChangeRequestState::kReady);
  EXPECT_EQ(place.runs.runs.size(), 2u);
  EXPECT_EQ(place.runs.runs[1].request.head, request->head);
  EXPECT_NE(place.thread().find("validated"), std::string::npos);
}

TEST(Steward, ACrashAroundAnyEffectLosesNothingAndDoublesNothing) {
  int effects = 0;
  for (;; ++effects) {
    Place place("crash");
    place.publish_baseline();
    place.runs.rejected_flag = "--enable-deepep-waterfill";  // one repair is on the way
    auto c = place.live(effects);
    const bool survived = c.has_value();
    if (!survived) {
      EXPECT_NE(c.error().message.find("crash"), std::string::npos) << effects << ": " << c.error().message;
      c = place.live(1 << 20);
    }
    ASSERT_TRUE(c) << "after a crash at effect " << effects << ": " << c.error().message;
    EXPECT_EQ(c->outcome, model::Outcome::kValidated) << effects << ": " << c->detail;
    EXPECT_EQ(c->repairs, 1) << effects;
    EXPECT_EQ(place.forge.list()->size(), 1u) << effects;
    std::set<std::string> markers;
    for (const auto& run : place.runs.runs) EXPECT_TRUE(markers.insert(run.request.marker).second) << effects;
    EXPECT_EQ(markers.size(), 3u) << effects;  // smoke, smoke after the repair, final
    const auto comments = place.forge.comments(ChangeRequestId{1});
    ASSERT_TRUE(comments);
    EXPECT_EQ(lasting(*comments).size(), 4u) << effects;  // three attempts and a receipt
    // Image, repair, changelog: three commits on top of main, whatever happened in between.
    const auto request = place.forge.get(ChangeRequestId{1});
    EXPECT_EQ(c->head, request->head) << effects;
    if (survived) break;
  }
  EXPECT_GT(effects, 20);  // the fuse really went through the effects one by one
}

TEST(Steward, WithoutAPublishedBaselineNothingIsWritten) {
  Place place("none");
  const auto c = place.live(1 << 20);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->outcome, model::Outcome::kFailed);
  EXPECT_EQ(c->reason, "baseline-missing");
  EXPECT_TRUE(place.forge.list()->empty());
  EXPECT_TRUE(place.runs.runs.empty());
}

TEST(Steward, TwoFullClustersDeferAndCleanUp) {
  Place place("room");
  place.publish_baseline();
  place.room.passes_left = 3;  // before the claim, before the edit, before the smoke run
  const auto c = place.live(1 << 20);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->outcome, model::Outcome::kCapacityDeferred);
  EXPECT_EQ(place.forge.get(ChangeRequestId{1})->state, io::ChangeRequestState::kClosed);
  EXPECT_FALSE(*place.forge.head(c->branch));
  EXPECT_NE(place.thread().find("Capacity deferral"), std::string::npos);
}

TEST(Steward, AClosedRequestStopsTheCandidateAndStaysAsThePersonLeftIt) {
  Place place("closed");
  place.publish_baseline();
  for (int effects = 8; effects < 30; ++effects) {
    if (place.live(effects)) break;
    const auto requests = place.forge.list();
    if (requests->empty()) continue;
    ASSERT_TRUE(place.forge.close(ChangeRequestId{1}, "person"));
    const auto c = place.live(1 << 20);
    ASSERT_TRUE(c) << c.error().message;
    EXPECT_EQ(c->outcome, model::Outcome::kStopped);
    EXPECT_EQ(place.forge.get(ChangeRequestId{1})->closed_by, "person");
    EXPECT_FALSE(*place.forge.head(c->branch));
    for (const auto& run : place.runs.runs) EXPECT_TRUE(io::terminal(run.state));
    return;
  }
  FAIL() << "no life crashed with an open request";
}

TEST(Steward, AFlagWithoutASuccessorEndsTheCandidate) {
  Place place("removed");
  place.publish_baseline();
  place.runs.rejected_flag = "--disable-radix-cache";
  const auto c = place.live(1 << 20);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->outcome, model::Outcome::kFailed);
  EXPECT_EQ(c->reason, "run-failed");
  EXPECT_NE(c->detail.find("--disable-radix-cache"), std::string::npos);
}

}  // namespace
}  // namespace pawl::steward
