#include "runner/local_sweep_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <deque>
#include <iterator>

#include "base/hash.h"
#include "base/text.h"
#include "codec/describe.h"
#include "loadgen/load.h"
#include "runner/job_graph.h"

namespace pawl::runner {
namespace {

using codec::Json;
using io::RunState;
using io::RunStatus;
using model::JobKind;
using model::JobResult;
using model::JobSpec;

constexpr Nanos kLookInterval = Millis{100};
constexpr Nanos kLookElsewhere = Seconds{1};  // at hundreds of jobs of a cluster: each look reads a file a job
constexpr std::size_t kStartsAtOnce = 64;     // marked in one transaction
// Between two rounds of looks jobs are started for so long; the more jobs there are the longer a round, so that starting
// ten thousand does not cost a round each time.
constexpr Nanos kStartsAtLeast = Seconds{1};
constexpr int kStartShare = 5;
constexpr const char* kCanaryFamily = "canary";
constexpr const char* kInsertStep =
    "INSERT INTO runner_step (run, attempt, position, name, state, note, started, ended) VALUES (?1, ?2, ?3, ?4, 'queued', '', '', '')";
constexpr int kRetriesMax = 2;  // of infrastructure, uncharged (upgrade-loop 11)
constexpr const char* kRunColumns =
    "SELECT r.id, r.attempt, r.marker, r.request, r.state, r.started, r.ended, r.failure,"
    " (SELECT count(*) FROM runner_job j WHERE j.run = r.id AND j.attempt = r.attempt) + (SELECT count(*) FROM runner_step s WHERE s.run = r.id AND s.attempt "
    "= r.attempt),"
    " (SELECT count(*) FROM runner_job j WHERE j.run = r.id AND j.attempt = r.attempt AND j.state NOT IN ('queued', 'running'))"
    " + (SELECT count(*) FROM runner_step s WHERE s.run = r.id AND s.attempt = r.attempt AND s.state NOT IN ('queued', 'running')),"
    " (SELECT count(*) FROM runner_job j WHERE j.run = r.id AND j.attempt = r.attempt AND j.state = 'failed')"
    " + (SELECT count(*) FROM runner_step s WHERE s.run = r.id AND s.attempt = r.attempt AND s.state = 'failed') FROM runner_run r ";

Result<RunStatus> status_of(const store::Row& row) {
  RunStatus s;
  s.id = RunId{row.whole(0)};
  s.attempt = row.whole(1);
  s.marker = row.text(2);
  PAWL_ASSIGN(const Json request, codec::parse_json(row.text(3), "runner_run.request"));
  s.recipe = request.value("recipe", std::string());
  s.purpose = request.value("purpose", std::string());
  s.head = request.value("head", std::string());
  s.state = codec::enum_value<RunState>(row.text(4)).value_or(RunState::kQueued);
  s.started = row.text(5);
  s.ended = row.text(6);
  if (!row.is_null(7)) {
    PAWL_ASSIGN(const Json failure, codec::parse_json(row.text(7), "runner_run.failure"));
    PAWL_ASSIGN(s.failure, codec::from_json<model::JobFailure>(failure, "failure"));
  }
  s.jobs = row.whole(8);
  s.done = row.whole(9);
  s.failed = row.whole(10);
  return s;
}

std::string key_of(const JobSpec& spec) { return fmt::format("{}.{}.{}", spec.run, spec.attempt, spec.job); }

std::int64_t now_ms(const io::Clock& clock) { return std::chrono::duration_cast<Millis>(clock.wall().since_epoch).count(); }

/// Of "2026-11-30T16:03:07Z"; 0 for anything else.
std::int64_t ms_of_iso(const std::string& text) {
  std::tm tm{};
  if (::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &tm) == nullptr) return 0;
  return static_cast<std::int64_t>(::timegm(&tm)) * 1000;
}

std::string compact(const Json& json) { return codec::write_json(json, codec::JsonForm::kCompactUtf8); }

/// Whether nothing but this client's own lateness makes the numbers INVALID.
bool client_was_late(const JobResult& result) {
  if (!result.bench || result.bench->verdict != "INVALID") return false;
  return std::ranges::all_of(result.bench->reasons, [](const model::VerdictReason& reason) { return loadgen::is_of_client(reason.code); });
}

}  // namespace

store::Schema runner_schema() {
  return {
      "runner",
      {"CREATE TABLE runner_run (id INTEGER PRIMARY KEY AUTOINCREMENT, marker TEXT NOT NULL UNIQUE, request TEXT NOT NULL, attempt INTEGER NOT NULL,"
       " state TEXT NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL, cancel INTEGER NOT NULL, failure TEXT) STRICT;"
       "CREATE TABLE runner_job (run INTEGER NOT NULL REFERENCES runner_run (id), attempt INTEGER NOT NULL, position INTEGER NOT NULL, job TEXT NOT NULL,"
       " spec TEXT NOT NULL, state TEXT NOT NULL, failure TEXT, PRIMARY KEY (run, attempt, job)) STRICT",
       "CREATE TABLE runner_step (run INTEGER NOT NULL REFERENCES runner_run (id), attempt INTEGER NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL,"
       " state TEXT NOT NULL, note TEXT NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL, PRIMARY KEY (run, attempt, name)) STRICT;"
       "CREATE TABLE runner_try (run INTEGER NOT NULL REFERENCES runner_run (id), attempt INTEGER NOT NULL, job TEXT NOT NULL, number INTEGER NOT NULL,"
       " gpus INTEGER NOT NULL, started_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL, outcome TEXT NOT NULL, failure_class TEXT NOT NULL, node TEXT NOT NULL,"
       " native TEXT NOT NULL, PRIMARY KEY (run, attempt, job, number)) STRICT"}};
}

Result<RunId> LocalSweepRunner::dispatch(const io::SweepRequest& request) {
  store::Database& db = world_.database;
  RunId run;
  PAWL_TRY(db.transaction([&]() -> Status {
    PAWL_ASSIGN(const std::optional<RunId> known, find(request.marker));
    if (known) {
      run = *known;
      return {};
    }
    PAWL_TRY(db.execute("INSERT INTO runner_run (marker, request, attempt, state, started, ended, cancel) VALUES (?1, ?2, 1, 'queued', '', '', 0)",
                        {request.marker, compact(codec::to_json(request))}));
    run = RunId{db.last_id()};
    PAWL_ASSIGN(const std::vector<JobSpec> jobs, plan_jobs(request, run, 1, world_.engines));
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      PAWL_TRY(db.execute("INSERT INTO runner_job (run, attempt, position, job, spec, state) VALUES (?1, 1, ?2, ?3, ?4, 'queued')",
                          {run.value, static_cast<std::int64_t>(i), jobs[i].job, compact(codec::to_json(jobs[i]))}));
    }
    for (std::size_t i = 0; i < graph_steps().size(); ++i) {
      PAWL_TRY(db.execute(kInsertStep, {run.value, 1, static_cast<std::int64_t>(i), graph_steps()[i].name}));
    }
    return {};
  }));
  return run;
}

Result<std::optional<RunId>> LocalSweepRunner::find(const std::string& marker) {
  std::optional<RunId> found;
  PAWL_TRY(world_.database.query("SELECT id FROM runner_run WHERE marker = ?1", {marker}, [&](const store::Row& row) {
    found = RunId{row.whole(0)};
    return Status();
  }));
  return found;
}

Result<RunStatus> LocalSweepRunner::status(RunId run) {
  std::optional<RunStatus> found;
  PAWL_TRY(world_.database.query(std::string(kRunColumns) + "WHERE r.id = ?1", {run.value}, [&](const store::Row& row) -> Status {
    PAWL_ASSIGN(found, status_of(row));
    return {};
  }));
  if (!found) return not_found(fmt::format("no run {}", run.value), "pawl sweep list shows the runs of this workspace");
  return *found;
}

Result<std::vector<RunStatus>> LocalSweepRunner::list() {
  std::vector<RunStatus> all;
  PAWL_TRY(world_.database.query(std::string(kRunColumns) + "ORDER BY r.id", {}, [&](const store::Row& row) -> Status {
    PAWL_ASSIGN(RunStatus status, status_of(row));
    all.push_back(std::move(status));
    return {};
  }));
  return all;
}

Result<std::vector<RunStatus>> LocalSweepRunner::owned(const io::OwnedQuery& query) {
  std::vector<RunStatus> all;
  PAWL_TRY(world_.database.query(std::string(kRunColumns) + "WHERE substr(r.marker, 1, length(?1)) = ?1 ORDER BY r.id", {query.marker_prefix},
                                 [&](const store::Row& row) -> Status {
                                   PAWL_ASSIGN(RunStatus status, status_of(row));
                                   all.push_back(std::move(status));
                                   return {};
                                 }));
  return all;
}

Result<RunStatus> LocalSweepRunner::rerun(RunId id, std::int64_t expected_attempt, bool whole) {
  store::Database& db = world_.database;
  PAWL_TRY(db.transaction([&]() -> Status {
    PAWL_ASSIGN(const RunStatus run, status(id));
    if (run.attempt == expected_attempt + 1) return {};
    if (run.attempt != expected_attempt || !io::terminal(run.state)) {
      return conflict(
          fmt::format("run {} is at attempt {} ({}), not at a finished attempt {}", id.value, run.attempt, codec::enum_text(run.state), expected_attempt),
          "only a finished run can run again");
    }
    PAWL_ASSIGN(const std::vector<Job> jobs, jobs_of(id, run.attempt));
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      JobSpec spec = jobs[i].spec;
      const bool again = whole || jobs[i].state != "succeeded";
      if (again) spec.attempt = expected_attempt + 1;  // what is kept stays where its own attempt wrote it
      PAWL_TRY(
          db.execute("INSERT INTO runner_job (run, attempt, position, job, spec, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                     {id.value, expected_attempt + 1, static_cast<std::int64_t>(i), spec.job, compact(codec::to_json(spec)), again ? "queued" : "succeeded"}));
    }
    for (std::size_t i = 0; i < graph_steps().size(); ++i) {
      PAWL_TRY(db.execute(kInsertStep, {id.value, expected_attempt + 1, static_cast<std::int64_t>(i), graph_steps()[i].name}));
    }
    return db.execute("UPDATE runner_run SET attempt = ?2, state = 'queued', ended = '', cancel = 0, failure = NULL WHERE id = ?1",
                      {id.value, expected_attempt + 1});
  }));
  return status(id);
}

Result<io::SweepRequest> LocalSweepRunner::request_of(RunId run) {
  std::string text;
  PAWL_TRY(world_.database.query("SELECT request FROM runner_run WHERE id = ?1", {run.value}, [&](const store::Row& row) {
    text = row.text(0);
    return Status();
  }));
  PAWL_ASSIGN(const Json json, codec::parse_json(text, "runner_run.request"));
  return codec::from_json<io::SweepRequest>(json, "request");
}

Result<std::vector<LocalSweepRunner::Job>> LocalSweepRunner::jobs_of(RunId run, std::int64_t attempt) {
  std::vector<Job> jobs;
  PAWL_TRY(world_.database.query("SELECT spec, state, coalesce(failure, '') FROM runner_job WHERE run = ?1 AND attempt = ?2 ORDER BY position",
                                 {run.value, attempt}, [&](const store::Row& row) -> Status {
                                   PAWL_ASSIGN(const Json json, codec::parse_json(row.text(0), "runner_job.spec"));
                                   PAWL_ASSIGN(JobSpec spec, codec::from_json<JobSpec>(json, "spec"));
                                   jobs.push_back({std::move(spec), row.text(1), row.text(2)});
                                   return {};
                                 }));
  return jobs;
}

Result<std::map<std::string, std::vector<Try>>> LocalSweepRunner::tries_of(RunId run, std::int64_t attempt) {
  std::map<std::string, std::vector<Try>> tries;
  PAWL_TRY(world_.database.query(
      "SELECT job, number, gpus, started_ms, ended_ms, outcome, failure_class, node, native FROM runner_try WHERE run = ?1 AND attempt = ?2"
      " ORDER BY job, number",
      {run.value, attempt}, [&](const store::Row& row) {
        tries[row.text(0)].push_back({.number = row.whole(1),
                                      .gpus = row.whole(2),
                                      .started_ms = row.whole(3),
                                      .ended_ms = row.whole(4),
                                      .outcome = row.text(5),
                                      .failure_class = row.text(6),
                                      .node = row.text(7),
                                      .native = row.text(8)});
        return Status();
      }));
  return tries;
}

Result<std::vector<StepState>> LocalSweepRunner::steps_of(RunId run, std::int64_t attempt) {
  std::vector<StepState> steps;
  PAWL_TRY(world_.database.query("SELECT name, state, note, started, ended FROM runner_step WHERE run = ?1 AND attempt = ?2 ORDER BY position",
                                 {run.value, attempt}, [&](const store::Row& row) {
                                   steps.push_back({row.text(0), row.text(1), row.text(2), row.text(3), row.text(4)});
                                   return Status();
                                 }));
  return steps;
}

Result<std::vector<JobState>> LocalSweepRunner::jobs(RunId id) {
  PAWL_ASSIGN(const RunStatus run, status(id));
  PAWL_ASSIGN(const std::vector<Job> all, jobs_of(id, run.attempt));
  PAWL_ASSIGN(const std::vector<StepState> steps, steps_of(id, run.attempt));
  PAWL_ASSIGN(auto tries, tries_of(id, run.attempt));
  std::vector<JobState> states;
  const auto add_step = [&](const GraphStep& step) {
    const auto found = std::ranges::find(steps, step.name, &StepState::name);
    if (found == steps.end()) return;  // a run of an earlier pawl has none
    states.push_back({step.name, codec::enum_text(step.kind), "", found->state, "", step.name, 0, found->note});
  };
  add_step(graph_steps().front());
  for (const Job& job : all) {
    JobState state{job.spec.job,
                   codec::enum_text(kind_of(job.spec)),
                   family_of(job.spec),
                   job.state,
                   world_.workspace.job_folder(job.spec.run, job.spec.attempt, job.spec.job).string(),
                   display_name(job.spec),
                   0,
                   ""};
    if (job.spec.attempt == run.attempt) {
      for (const Try& one : tries[job.spec.job]) state.gpu_hours += one.gpu_hours();
    }
    if (!job.failure.empty()) {
      PAWL_ASSIGN(const Json failure, codec::parse_json(job.failure, "runner_job.failure"));
      state.note = failure.value("message", std::string());
    }
    states.push_back(std::move(state));
  }
  for (std::size_t i = 1; i < graph_steps().size(); ++i) add_step(graph_steps()[i]);
  return states;
}

Result<std::vector<AttemptHours>> LocalSweepRunner::gpu_hours(RunId run) {
  std::vector<AttemptHours> hours;
  PAWL_TRY(world_.database.query(
      "SELECT attempt, sum(CASE WHEN started_ms > 0 AND ended_ms > started_ms THEN gpus * (ended_ms - started_ms) ELSE 0 END) / 3.6e6, count(*)"
      " FROM runner_try WHERE run = ?1 GROUP BY attempt ORDER BY attempt",
      {run.value}, [&](const store::Row& row) {
        hours.push_back({row.whole(0), row.number(1), row.whole(2)});
        return Status();
      }));
  return hours;
}

Result<bool> LocalSweepRunner::cancel_requested(RunId run) {
  bool requested = false;
  PAWL_TRY(world_.database.query("SELECT cancel FROM runner_run WHERE id = ?1", {run.value}, [&](const store::Row& row) {
    requested = row.whole(0) != 0;
    return Status();
  }));
  return requested;
}

Status LocalSweepRunner::cancel(RunId run) {
  // Only the wish is recorded: whoever waits for the run, now or next, ends its job and writes what it left.
  return world_.database.execute("UPDATE runner_run SET cancel = 1 WHERE id = ?1 AND state IN ('queued', 'running')", {run.value});
}

Status LocalSweepRunner::set_job(const JobSpec& spec, const std::string& state, const std::string& failure) {
  return world_.database.execute("UPDATE runner_job SET state = ?4, failure = ?5 WHERE run = ?1 AND attempt = ?2 AND job = ?3",
                                 {spec.run, spec.attempt, spec.job, state, failure.empty() ? store::Value() : store::Value(failure)});
}

Status LocalSweepRunner::begin_try(const Active& active) {
  const JobSpec& spec = active.job->spec;
  const auto point = model::point_of_row(spec.row);
  return world_.database.execute(
      "INSERT INTO runner_try (run, attempt, job, number, gpus, started_ms, ended_ms, outcome, failure_class, node, native)"
      " SELECT ?1, ?2, ?3, coalesce(max(number), 0) + 1, ?4, ?5, 0, '', '', '', '' FROM runner_try WHERE run = ?1 AND attempt = ?2 AND job = ?3",
      {spec.run, spec.attempt, spec.job, point ? point->gpus() : 0, world_.executor.elsewhere() ? 0 : now_ms(world_.clock)});
}

Status LocalSweepRunner::end_try(const Active& active, const std::string& outcome, const std::string& failure_class, const std::string& node) {
  const JobSpec& spec = active.job->spec;
  // An end that was seen without a run in between was shorter than two looks.
  return world_.database.execute(
      "UPDATE runner_try SET ended_ms = ?4, started_ms = CASE started_ms WHEN 0 THEN ?5 ELSE started_ms END, outcome = ?6, failure_class = ?7, node = ?8, "
      "native = ?9"
      " WHERE run = ?1 AND attempt = ?2 AND job = ?3 AND ended_ms = 0",
      {spec.run, spec.attempt, spec.job, now_ms(world_.clock), active.own_start_ms, outcome, failure_class, node, active.handle.native});
}

Result<std::optional<LocalSweepRunner::JobEnd>> LocalSweepRunner::look_at(const RunStatus& run, Active& active, Nanos limit, std::stop_token stop) {
  using End = std::optional<JobEnd>;
  const auto left_result = [&] { return world_.files.exists(active.folder / "result.json"); };
  auto state = world_.executor.wait(active.handle, limit, stop);
  if (!state && state.error().cls != ErrorClass::kCancelled) return std::move(state).error();
  if (state && *state == exec::JobState::kEnded) return End(left_result() ? JobEnd::kResult : JobEnd::kNothing);
  if (stop.stop_requested()) {
    if (world_.executor.elsewhere()) return End(JobEnd::kStopped);
    PAWL_TRY(world_.executor.cancel(active.handle));
    return End(left_result() ? JobEnd::kResult : JobEnd::kStopped);
  }
  const MonoTime now = world_.clock.now();
  if (!active.deadline && state && *state == exec::JobState::kRunning) {
    active.deadline = now + std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(active.job->spec.timeout_s + 30));
    if (world_.executor.elsewhere()) {
      const JobSpec& spec = active.job->spec;
      PAWL_TRY(world_.database.execute("UPDATE runner_try SET started_ms = ?4 WHERE run = ?1 AND attempt = ?2 AND job = ?3 AND ended_ms = 0 AND started_ms = 0",
                                       {spec.run, spec.attempt, spec.job, now_ms(world_.clock)}));
    }
  }
  PAWL_ASSIGN(const bool cancelled, cancel_requested(run.id));
  if (!cancelled && (!active.deadline || now <= *active.deadline)) return End();
  PAWL_TRY(world_.executor.cancel(active.handle));
  if (left_result()) return End(JobEnd::kResult);
  return End(cancelled ? JobEnd::kCancelled : JobEnd::kNothing);
}

model::JobFailure LocalSweepRunner::no_result(const Active& active) const {
  model::JobFailure failure{model::FailureClass::kInternal, fmt::format("the job {} ended without a result", active.job->spec.job), {}};
  if (auto known = world_.executor.failure(active.handle); known && *known) failure = std::move(**known);
  if (auto log = world_.files.read(active.folder / "job.log")) {
    for (const std::string_view line : split(*log, '\n')) failure.evidence.emplace_back(line);
    if (failure.evidence.size() > 20) failure.evidence.erase(failure.evidence.begin(), failure.evidence.end() - 20);
  }
  return failure;
}

Status LocalSweepRunner::submit(Active& active) {
  PAWL_ASSIGN(active.handle, world_.executor.submit(key_of(active.job->spec), active.folder));
  active.deadline.reset();
  return {};
}

/// Marks them running with an execution begun, all in one transaction, and hands them to the executor. Durable before
/// the effect: a job that is marked and was not submitted is submitted by the next life.
Result<std::vector<LocalSweepRunner::Active>> LocalSweepRunner::start_jobs(const std::vector<const Job*>& jobs) {
  std::vector<Active> started;
  for (const Job* job : jobs) {
    const JobSpec& spec = job->spec;
    Active active{job, {}, world_.workspace.job_folder(spec.run, spec.attempt, spec.job), {}, 0, job->state == "running"};
    PAWL_TRY(world_.files.write_atomic(active.folder / "spec.json", codec::write_json_pretty(codec::to_json(spec))));
    // A job that the database calls queued has no live process: what an earlier, stopped life of it left is cleared, or
    // the executor would take it for this one. One that it calls running may be alive, and is taken up again.
    if (!active.taken_up) PAWL_TRY(world_.executor.forget(key_of(spec), active.folder));
    started.push_back(std::move(active));
  }
  PAWL_TRY(world_.database.transaction([&]() -> Status {
    for (const Active& active : started) {
      if (active.taken_up) continue;
      PAWL_TRY(set_job(active.job->spec, "running", {}));
      PAWL_TRY(begin_try(active));
    }
    return {};
  }));
  for (Active& active : started) PAWL_TRY(submit(active));
  return started;
}

Result<std::optional<std::string>> LocalSweepRunner::settle(Active& active, JobEnd end, std::stop_token stop) {
  using State = std::optional<std::string>;
  const JobSpec& spec = active.job->spec;
  const auto again = [&]() -> Result<State> {
    PAWL_TRY(world_.executor.forget(key_of(spec), active.folder));
    PAWL_TRY(begin_try(active));
    PAWL_TRY(submit(active));
    return State();
  };
  if (end == JobEnd::kStopped) {
    if (!world_.executor.elsewhere()) {
      PAWL_TRY(world_.database.transaction([&]() -> Status {
        PAWL_TRY(end_try(active, "stopped", {}, {}));
        return set_job(spec, "queued", {});
      }));
    }
    return State("queued");
  }
  if (end == JobEnd::kCancelled) {
    PAWL_TRY(world_.database.transaction([&]() -> Status {
      PAWL_TRY(end_try(active, "cancelled", {}, {}));
      return set_job(spec, "cancelled", {});
    }));
    return State("cancelled");
  }
  if (end == JobEnd::kNothing) {
    const model::JobFailure failure = no_result(active);
    if (active.taken_up) {
      // It died together with the pawl that started it: that says nothing about the engine, so it runs once more.
      active.taken_up = false;
      PAWL_TRY(end_try(active, "retried", codec::enum_text(failure.cls), {}));
      return again();
    }
    if (failure.cls == model::FailureClass::kInfrastructure && active.retries < kRetriesMax && !stop.stop_requested()) {
      ++active.retries;
      world_.progress.report({"retry", fmt::format("{}: {}; running it again ({}/{})", label_of(spec), failure.message, active.retries, kRetriesMax)});
      PAWL_TRY(end_try(active, "retried", codec::enum_text(failure.cls), {}));
      return again();
    }
    PAWL_TRY(world_.database.transaction([&]() -> Status {
      PAWL_TRY(end_try(active, "failed", codec::enum_text(failure.cls), {}));
      return set_job(spec, "failed", compact(codec::to_json(failure)));
    }));
    return State("failed");
  }
  PAWL_ASSIGN(const std::string text, world_.files.read(active.folder / "result.json"));
  PAWL_ASSIGN(const Json json, codec::parse_json(text, (active.folder / "result.json").string()));
  PAWL_ASSIGN(const JobResult result, codec::from_json<JobResult>(json, "result.json"));
  active.own_start_ms = ms_of_iso(result.started);
  if (client_was_late(result) && active.retries < kRetriesMax && !stop.stop_requested()) {
    // The machine of the client was too busy to measure: infrastructure, retried without charge. What it measured stays.
    ++active.retries;
    world_.progress.report(
        {"retry", fmt::format("{}: this client was late, so its numbers are INVALID; measuring again ({}/{})", label_of(spec), active.retries, kRetriesMax)});
    PAWL_TRY(world_.files.write_atomic(active.folder / fmt::format("result.invalid-{}.json", active.retries), text));
    PAWL_TRY(world_.files.remove_tree(active.folder / "result.json"));
    PAWL_TRY(end_try(active, "retried", codec::enum_text(model::FailureClass::kInfrastructure), result.node));
    return again();
  }
  PAWL_TRY(world_.database.transaction([&]() -> Status {
    PAWL_TRY(end_try(active, result.ok() ? "succeeded" : "failed", result.failure ? codec::enum_text(result.failure->cls) : std::string(), result.node));
    return set_job(spec, result.ok() ? "succeeded" : "failed", result.failure ? compact(codec::to_json(*result.failure)) : std::string());
  }));
  return State(result.ok() ? "succeeded" : "failed");
}

Result<std::int64_t> LocalSweepRunner::cancel_failed(std::vector<Active>& active, const std::set<std::string>& failed_families) {
  std::int64_t count = 0;
  for (auto it = active.begin(); it != active.end();) {
    if (!failed_families.contains(family_of(it->job->spec))) {
      ++it;
      continue;
    }
    PAWL_TRY(world_.executor.cancel(it->handle));
    PAWL_TRY(world_.database.transaction([&]() -> Status {
      PAWL_TRY(end_try(*it, "cancelled", {}, {}));
      return set_job(it->job->spec, "cancelled", {});
    }));
    it = active.erase(it);
    ++count;
  }
  return count;
}

/// Whether one of them failed.
Result<bool> LocalSweepRunner::run_jobs(const RunStatus& run, const io::SweepRequest& request, const std::vector<Job>& jobs, std::stop_token stop) {
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(1, world_.executor.width()));
  std::vector<Active> active;
  std::set<std::string> failed_families;
  bool canary_open = false;  // not yet known to be good: nothing else starts
  bool failed = false;
  std::int64_t done = 0;
  Nanos last_looks{0};  // how long the last round of looks took
  // What was with the executor when an earlier life ended comes first: it is there already.
  std::deque<const Job*> waiting;
  for (const char* state : {"running", "queued"}) {
    for (const Job& job : jobs) {
      if (job.state == state) waiting.push_back(&job);
    }
  }
  for (const Job& job : jobs) {
    if (job.state == "failed") failed_families.insert(family_of(job.spec));
    done += job.state == "running" || job.state == "queued" ? 0 : 1;
  }
  failed = !failed_families.empty();
  for (const Job* job : waiting) canary_open = canary_open || family_of(job->spec) == kCanaryFamily;
  while (!waiting.empty() || !active.empty()) {
    PAWL_ASSIGN(const bool cancelled, cancel_requested(run.id));
    const auto given_up = [&](const Job& job) {
      return cancelled || failed_families.contains(kCanaryFamily) || (request.fail_fast && failed_families.contains(family_of(job.spec)));
    };
    const MonoTime starts_until = world_.clock.now() + std::max<Nanos>(kStartsAtLeast, kStartShare * last_looks);
    bool more = true;
    while (more && world_.clock.now() < starts_until) {
      std::vector<const Job*> starting;
      more = false;
      while (!waiting.empty() && !stop.stop_requested()) {
        const Job& job = *waiting.front();
        const bool give_up = given_up(job);
        if (!give_up && active.size() + starting.size() >= width) break;
        // Jobs of an earlier life live already, also beside a canary.
        if (!give_up && canary_open && job.state == "queued" && family_of(job.spec) != kCanaryFamily) break;
        if (starting.size() == kStartsAtOnce) {
          more = true;
          break;
        }
        waiting.pop_front();
        if (give_up && job.state != "running") {
          PAWL_TRY(set_job(job.spec, failed_families.contains(kCanaryFamily) && !cancelled ? "skipped" : "cancelled", {}));
          ++done;
          continue;
        }
        world_.progress.report({request.purpose, label_of(job.spec), done + static_cast<std::int64_t>(active.size() + starting.size()) + 1,
                                static_cast<std::int64_t>(jobs.size())});
        starting.push_back(&job);
      }
      PAWL_ASSIGN(std::vector<Active> started, start_jobs(starting));
      std::ranges::move(started, std::back_inserter(active));
    }
    if (request.fail_fast && failed) {
      PAWL_ASSIGN(const std::int64_t ended, cancel_failed(active, failed_families));
      done += ended;
    }
    const MonoTime looks_began = world_.clock.now();
    // The first look waits; the others take what that moment shows.
    Nanos limit = world_.executor.elsewhere() ? kLookElsewhere : kLookInterval;
    for (auto it = active.begin(); it != active.end();) {
      PAWL_ASSIGN(const std::optional<JobEnd> end, look_at(run, *it, limit, stop));
      limit = Nanos{0};
      std::optional<std::string> state;
      if (end) {
        PAWL_ASSIGN(state, settle(*it, *end, stop));
      }
      if (!state) {
        ++it;
        continue;
      }
      const std::string family = family_of(it->job->spec);
      if (*state == "failed") failed_families.insert(family);
      if (family == kCanaryFamily && *state != "queued") canary_open = false;
      failed = failed || *state == "failed";
      ++done;
      it = active.erase(it);
    }
    last_looks = world_.clock.now() - looks_began;
    if (stop.stop_requested() && (active.empty() || world_.executor.elsewhere())) return pawl::cancelled();
  }
  return failed;
}

Result<RunStatus> LocalSweepRunner::wait(RunId id, std::stop_token stop) {
  PAWL_ASSIGN(RunStatus run, status(id));
  if (io::terminal(run.state)) return run;
  PAWL_ASSIGN(const io::SweepRequest request, request_of(id));
  PAWL_TRY(world_.database.execute("UPDATE runner_run SET state = 'running', started = CASE started WHEN '' THEN ?2 ELSE started END WHERE id = ?1",
                                   {id.value, iso_utc(world_.clock.wall())}));
  PAWL_TRY(run_step(run, kSetupStep, [&]() -> Result<std::string> {
    PAWL_TRY(write_manifest(run));
    return fmt::format("{} points, {} evals", request.points.size(), request.evals.size());
  }));
  PAWL_ASSIGN(const std::vector<Job> jobs, jobs_of(id, run.attempt));
  const auto failed = run_jobs(run, request, jobs, stop);
  if (!failed) {
    // Nobody works on it any more, and whoever waits next goes on: that is what queued means.
    PAWL_TRY(world_.database.execute("UPDATE runner_run SET state = 'queued' WHERE id = ?1 AND cancel = 0", {id.value}));
    return failed.error();
  }
  PAWL_ASSIGN(const bool cancelled, cancel_requested(id));
  PAWL_ASSIGN(run, status(id));
  return finish(run, cancelled ? RunState::kCancelled : *failed ? RunState::kFailure : RunState::kSuccess);
}

Status LocalSweepRunner::run_step(const RunStatus& run, const std::string& name, const std::function<Result<std::string>()>& work) {
  store::Database& db = world_.database;
  PAWL_TRY(db.execute("UPDATE runner_step SET state = 'running', started = ?4 WHERE run = ?1 AND attempt = ?2 AND name = ?3",
                      {run.id.value, run.attempt, name, iso_utc(world_.clock.wall())}));
  const auto note = work();
  if (!note && note.error().cls == ErrorClass::kCancelled) return note.error();
  return db.execute("UPDATE runner_step SET state = ?4, note = ?5, ended = ?6 WHERE run = ?1 AND attempt = ?2 AND name = ?3",
                    {run.id.value, run.attempt, name, note ? "succeeded" : "failed", note ? *note : note.error().message, iso_utc(world_.clock.wall())});
}

Status LocalSweepRunner::skip_step(const RunStatus& run, const std::string& name, const std::string& why) {
  return world_.database.execute("UPDATE runner_step SET state = 'skipped', note = ?4 WHERE run = ?1 AND attempt = ?2 AND name = ?3",
                                 {run.id.value, run.attempt, name, why});
}

Result<RunPicture> LocalSweepRunner::picture_of(const RunStatus& run) {
  RunPicture picture;
  picture.run = run;
  PAWL_ASSIGN(picture.request, request_of(run.id));
  PAWL_ASSIGN(std::vector<Job> jobs, jobs_of(run.id, run.attempt));
  std::map<std::int64_t, std::map<std::string, std::vector<Try>>> tries;
  for (Job& job : jobs) {
    const std::int64_t attempt = job.spec.attempt;
    if (!tries.contains(attempt)) {
      PAWL_ASSIGN(tries[attempt], tries_of(run.id, attempt));
    }
    const auto folder = world_.workspace.job_folder(job.spec.run, attempt, job.spec.job);
    std::vector<Try> own = std::move(tries[attempt][job.spec.job]);
    picture.jobs.push_back({std::move(job.spec), std::move(job.state), folder, std::move(own)});
  }
  PAWL_ASSIGN(picture.steps, steps_of(run.id, run.attempt));
  picture.executor = world_.executor.counts();
  picture.executor["name"] = world_.executor.name();
  return picture;
}

Status LocalSweepRunner::write_artifact(const RunStatus& run, const std::string& path, std::string_view bytes) {
  return world_.files.write_atomic(world_.workspace.run_folder(run.id.value, run.attempt) / path, bytes);
}

/// The manifest under both names. Its list of artifacts holds what stands there now.
Status LocalSweepRunner::write_manifest(const RunStatus& run) {
  PAWL_ASSIGN(RunPicture picture, picture_of(run));
  const auto folder = world_.workspace.run_folder(run.id.value, run.attempt);
  for (const char* path : kRunArtifacts) {
    if (const auto bytes = world_.files.read(folder / path)) picture.artifacts[path] = sha256_hex(*bytes);
  }
  const std::string bot = codec::write_json_pretty(bot_manifest(picture));
  PAWL_TRY(write_artifact(run, kBotManifestFile, bot));
  picture.artifacts[kBotManifestFile] = sha256_hex(bot);
  return write_artifact(run, kManifestFile, codec::write_json_pretty(sweep_manifest(world_.files, picture)));
}

Status LocalSweepRunner::conclude(const RunStatus& run) {
  PAWL_ASSIGN(const RunPicture picture, picture_of(run));
  const bool canary_failed = std::ranges::any_of(
      picture.jobs, [](const MeasuredJob& job) { return family_of(job.spec) == kCanaryFamily && job.state != "succeeded" && job.state != "cancelled"; });
  const auto has = [&](JobKind kind) { return std::ranges::any_of(picture.jobs, [&](const MeasuredJob& job) { return job.spec.kind == kind; }); };
  Json rows = Json::array(), evals = Json::array(), comparison;
  bool collected = false;

  const auto collect = [&](const char* name, JobKind kind, const char* file, Json& into, bool& done) -> Status {
    if (canary_failed) return skip_step(run, name, "the canary failed");
    if (!has(kind)) return skip_step(run, name, "there is nothing of this kind");
    return run_step(run, name, [&]() -> Result<std::string> {
      PAWL_ASSIGN(into, collect_rows(world_.files, picture.jobs, kind));
      PAWL_TRY(write_artifact(run, file, codec::write_json_pretty(into)));
      done = true;
      const auto expected = std::ranges::count_if(picture.jobs, [&](const MeasuredJob& job) { return job.spec.kind == kind; });
      return fmt::format("{} of {} rows", into.size(), expected);
    });
  };
  bool evals_done = false;
  PAWL_TRY(collect(kCollectResults, JobKind::kBenchmark, kResultsFile, rows, collected));
  PAWL_TRY(collect(kCollectEvals, JobKind::kEval, kEvalsFile, evals, evals_done));

  if (!collected) {
    PAWL_TRY(skip_step(run, kCompareResults, "nothing was collected"));
    PAWL_TRY(skip_step(run, kSuccessRate, "nothing was collected"));
  } else {
    PAWL_TRY(run_step(run, kCompareResults, [&]() -> Result<std::string> {
      std::optional<PublishedRows> before;
      if (world_.published) {
        PAWL_ASSIGN(before, world_.published(picture.request.recipe, run.id));
      }
      const std::vector<Json> row_list(rows.begin(), rows.end()), eval_list(evals.begin(), evals.end());
      PAWL_ASSIGN(Json document, comparison_document(run, row_list, eval_list, before));
      PAWL_TRY(write_artifact(run, kComparisonFile, codec::write_json_pretty(document)));
      comparison = std::move(document);
      return before ? fmt::format("with run {}: {}", before->run, comparison.value("verdict", "")) : std::string("nothing published to compare with");
    }));
    PAWL_TRY(run_step(run, kSuccessRate, [&]() -> Result<std::string> {
      std::vector<MeasuredJob> ran;
      for (std::int64_t attempt = 1; attempt <= run.attempt; ++attempt) {
        PAWL_ASSIGN(std::vector<Job> jobs, jobs_of(run.id, attempt));
        for (Job& job : jobs) {
          if (job.spec.attempt == attempt) ran.push_back({std::move(job.spec), std::move(job.state), {}, {}});
        }
      }
      PAWL_TRY(write_artifact(run, kStatisticsFile, codec::write_json_pretty(run_statistics(ran))));
      return std::string();
    }));
  }
  PAWL_TRY(run_step(run, kChangelogMetadata, [&]() -> Result<std::string> {
    PAWL_TRY(write_artifact(run, kChangelogFile, codec::write_json_pretty(changelog_metadata(picture.request))));
    return std::string();
  }));
  PAWL_TRY(run_step(run, kPreviewComment, [&]() -> Result<std::string> {
    PAWL_TRY(write_artifact(run, kCommentFile, preview_comment(picture, comparison)));
    return std::string();
  }));
  // Written last, and once more when the state of the run is known.
  return run_step(run, kManifestStep, [&]() -> Result<std::string> {
    PAWL_TRY(write_manifest(run));
    return std::string();
  });
}

Result<RunStatus> LocalSweepRunner::finish(const RunStatus& run_given, RunState state) {
  PAWL_TRY(conclude(run_given));
  PAWL_ASSIGN(const std::vector<StepState> steps, steps_of(run_given.id, run_given.attempt));
  std::optional<std::string> failure;
  PAWL_TRY(world_.database.query("SELECT failure FROM runner_job WHERE run = ?1 AND attempt = ?2 AND failure IS NOT NULL ORDER BY position LIMIT 1",
                                 {run_given.id.value, run_given.attempt}, [&](const store::Row& row) {
                                   failure = row.text(0);
                                   return Status();
                                 }));
  for (const StepState& step : steps) {
    if (step.state != "failed") continue;
    if (state == RunState::kSuccess) state = RunState::kFailure;
    if (!failure) failure = compact(codec::to_json(model::JobFailure{model::FailureClass::kInternal, fmt::format("{}: {}", step.name, step.note), {}}));
  }
  // The manifest names the end of the run and is there before the run says that it has ended.
  RunStatus run = run_given;
  run.state = state;
  PAWL_TRY(write_manifest(run));
  PAWL_TRY(world_.database.execute("UPDATE runner_run SET state = ?2, ended = ?3, failure = ?4 WHERE id = ?1",
                                   {run.id.value, codec::enum_text(state), iso_utc(world_.clock.wall()), failure ? store::Value(*failure) : store::Value()}));
  return status(run.id);
}

Result<io::RunEvidence> LocalSweepRunner::evidence(RunId id) {
  PAWL_ASSIGN(const RunStatus run, status(id));
  if (!io::terminal(run.state)) return bad_input(fmt::format("run {} is still {}", id.value, codec::enum_text(run.state)));
  const auto folder = world_.workspace.run_folder(id.value, run.attempt);
  io::RunEvidence evidence;
  const auto read = [&](const std::filesystem::path& path) -> Result<Json> {
    PAWL_ASSIGN(const std::string text, world_.files.read(path));
    return codec::parse_json(text, path.string());
  };
  PAWL_ASSIGN(evidence.manifest, read(folder / kManifestFile));
  // A collector that was skipped or failed left none: the manifest says so.
  const auto list = [&](const char* file, std::vector<Json>& into) -> Status {
    if (!evidence.manifest.value("artifacts", Json::object()).contains(file)) return {};
    PAWL_ASSIGN(const Json rows, read(folder / file));
    into.assign(rows.begin(), rows.end());
    return {};
  };
  PAWL_TRY(list(kResultsFile, evidence.rows));
  PAWL_TRY(list(kEvalsFile, evidence.evals));
  return evidence;
}

}  // namespace pawl::runner
