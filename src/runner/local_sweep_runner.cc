#include "runner/local_sweep_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/text.h"
#include "codec/describe.h"
#include "loadgen/load.h"
#include "model/row.h"

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
constexpr const char* kCanaryFamily = "canary";
constexpr int kRetriesMax = 2;  // of infrastructure, uncharged (upgrade-loop 11)
constexpr const char* kRunColumns =
    "SELECT r.id, r.attempt, r.marker, r.request, r.state, r.started, r.ended, r.failure,"
    " (SELECT count(*) FROM runner_job j WHERE j.run = r.id AND j.attempt = r.attempt),"
    " (SELECT count(*) FROM runner_job j WHERE j.run = r.id AND j.attempt = r.attempt AND j.state IN ('succeeded', 'failed', 'cancelled')),"
    " (SELECT count(*) FROM runner_job j WHERE j.run = r.id AND j.attempt = r.attempt AND j.state = 'failed') FROM runner_run r ";

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

std::string compact(const Json& json) { return codec::write_json(json, codec::JsonForm::kCompactUtf8); }

std::string label_of(const JobSpec& spec) {
  const auto p = model::point_of_row(spec.row);
  return (spec.kind == JobKind::kEval ? "eval " + (spec.eval ? spec.eval->task : "") + " · " : std::string()) + (p ? p->label() : spec.job);
}

/// Lines of an engine log that a sound run does not have.
std::int64_t log_complaints(std::string_view log) {
  std::int64_t count = 0;
  bool ready = false;
  for (const std::string_view line : split(log, '\n')) {
    if (line.find("fired up and ready") != std::string_view::npos) ready = true;
    const bool traceback = line.find("Traceback (most recent call last)") != std::string_view::npos;
    const bool server_error = ready && line.find("HTTP/1.1\" 5") != std::string_view::npos;
    count += traceback || server_error ? 1 : 0;
  }
  return count;
}

/// Whether nothing but this client's own lateness makes the numbers INVALID.
bool client_was_late(const JobResult& result) {
  if (!result.bench || result.bench->verdict != "INVALID") return false;
  return std::ranges::all_of(result.bench->reasons, [](const model::VerdictReason& reason) { return loadgen::is_of_client(reason.code); });
}

}  // namespace

store::Schema runner_schema() {
  return {"runner",
          {"CREATE TABLE runner_run (id INTEGER PRIMARY KEY AUTOINCREMENT, marker TEXT NOT NULL UNIQUE, request TEXT NOT NULL, attempt INTEGER NOT NULL,"
           " state TEXT NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL, cancel INTEGER NOT NULL, failure TEXT) STRICT;"
           "CREATE TABLE runner_job (run INTEGER NOT NULL REFERENCES runner_run (id), attempt INTEGER NOT NULL, position INTEGER NOT NULL, job TEXT NOT NULL,"
           " spec TEXT NOT NULL, state TEXT NOT NULL, failure TEXT, PRIMARY KEY (run, attempt, job)) STRICT"}};
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
  PAWL_TRY(world_.database.query("SELECT spec, state FROM runner_job WHERE run = ?1 AND attempt = ?2 ORDER BY position", {run.value, attempt},
                                 [&](const store::Row& row) -> Status {
                                   PAWL_ASSIGN(const Json json, codec::parse_json(row.text(0), "runner_job.spec"));
                                   PAWL_ASSIGN(JobSpec spec, codec::from_json<JobSpec>(json, "spec"));
                                   jobs.push_back({std::move(spec), row.text(1)});
                                   return {};
                                 }));
  return jobs;
}

Result<std::vector<JobState>> LocalSweepRunner::jobs(RunId id) {
  PAWL_ASSIGN(const RunStatus run, status(id));
  PAWL_ASSIGN(const std::vector<Job> all, jobs_of(id, run.attempt));
  std::vector<JobState> states;
  for (const Job& job : all) {
    states.push_back({job.spec.job, family_of(job.spec), job.state, world_.workspace.job_folder(job.spec.run, job.spec.attempt, job.spec.job).string()});
  }
  return states;
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

Result<LocalSweepRunner::Active> LocalSweepRunner::start_job(const Job& job) {
  const JobSpec& spec = job.spec;
  Active active{&job, {}, world_.workspace.job_folder(spec.run, spec.attempt, spec.job), {}, 0, job.state == "running"};
  PAWL_TRY(world_.files.write_atomic(active.folder / "spec.json", codec::write_json_pretty(codec::to_json(spec))));
  // A job that the database calls queued has no live process: what an earlier, stopped life of it left is cleared, or
  // the executor would take it for this one. One that it calls running may be alive, and is taken up again.
  if (!active.taken_up) PAWL_TRY(world_.executor.forget(key_of(spec), active.folder));
  PAWL_TRY(set_job(spec, "running", {}));
  PAWL_TRY(submit(active));
  return active;
}

Result<std::optional<std::string>> LocalSweepRunner::settle(Active& active, JobEnd end, std::stop_token stop) {
  using State = std::optional<std::string>;
  const JobSpec& spec = active.job->spec;
  const auto again = [&]() -> Result<State> {
    PAWL_TRY(world_.executor.forget(key_of(spec), active.folder));
    PAWL_TRY(submit(active));
    return State();
  };
  if (end == JobEnd::kStopped) {
    if (!world_.executor.elsewhere()) PAWL_TRY(set_job(spec, "queued", {}));
    return State("queued");
  }
  if (end == JobEnd::kCancelled) {
    PAWL_TRY(set_job(spec, "cancelled", {}));
    return State("cancelled");
  }
  if (end == JobEnd::kNothing) {
    const model::JobFailure failure = no_result(active);
    if (active.taken_up) {
      // It died together with the pawl that started it: that says nothing about the engine, so it runs once more.
      active.taken_up = false;
      return again();
    }
    if (failure.cls == model::FailureClass::kInfrastructure && active.retries < kRetriesMax && !stop.stop_requested()) {
      ++active.retries;
      world_.progress.report({"retry", fmt::format("{}: {}; running it again ({}/{})", label_of(spec), failure.message, active.retries, kRetriesMax)});
      return again();
    }
    PAWL_TRY(set_job(spec, "failed", compact(codec::to_json(failure))));
    return State("failed");
  }
  PAWL_ASSIGN(const std::string text, world_.files.read(active.folder / "result.json"));
  PAWL_ASSIGN(const Json json, codec::parse_json(text, (active.folder / "result.json").string()));
  PAWL_ASSIGN(const JobResult result, codec::from_json<JobResult>(json, "result.json"));
  if (client_was_late(result) && active.retries < kRetriesMax && !stop.stop_requested()) {
    // The machine of the client was too busy to measure: infrastructure, retried without charge. What it measured stays.
    ++active.retries;
    world_.progress.report(
        {"retry", fmt::format("{}: this client was late, so its numbers are INVALID; measuring again ({}/{})", label_of(spec), active.retries, kRetriesMax)});
    PAWL_TRY(world_.files.write_atomic(active.folder / fmt::format("result.invalid-{}.json", active.retries), text));
    PAWL_TRY(world_.files.remove_tree(active.folder / "result.json"));
    return again();
  }
  PAWL_TRY(set_job(spec, result.ok() ? "succeeded" : "failed", result.failure ? compact(codec::to_json(*result.failure)) : std::string()));
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
    PAWL_TRY(set_job(it->job->spec, "cancelled", {}));
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
    while (!waiting.empty() && !stop.stop_requested()) {
      const Job& job = *waiting.front();
      const bool give_up = given_up(job);
      if (!give_up && active.size() >= width) break;
      // Jobs of an earlier life live already, also beside a canary.
      if (!give_up && canary_open && job.state == "queued" && family_of(job.spec) != kCanaryFamily) break;
      waiting.pop_front();
      if (give_up && job.state != "running") {
        PAWL_TRY(set_job(job.spec, "cancelled", {}));
        ++done;
        continue;
      }
      world_.progress.report(
          {request.purpose, label_of(job.spec), done + static_cast<std::int64_t>(active.size()) + 1, static_cast<std::int64_t>(jobs.size())});
      PAWL_ASSIGN(Active started, start_job(job));
      active.push_back(std::move(started));
    }
    if (request.fail_fast && failed) {
      PAWL_ASSIGN(const std::int64_t ended, cancel_failed(active, failed_families));
      done += ended;
    }
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

Result<RunStatus> LocalSweepRunner::finish(const RunStatus& run, RunState state) {
  PAWL_TRY(collect(run, state));
  std::optional<std::string> failure;
  PAWL_TRY(world_.database.query("SELECT failure FROM runner_job WHERE run = ?1 AND attempt = ?2 AND failure IS NOT NULL ORDER BY position LIMIT 1",
                                 {run.id.value, run.attempt}, [&](const store::Row& row) {
                                   failure = row.text(0);
                                   return Status();
                                 }));
  PAWL_TRY(world_.database.execute("UPDATE runner_run SET state = ?2, ended = ?3, failure = ?4 WHERE id = ?1",
                                   {run.id.value, codec::enum_text(state), iso_utc(world_.clock.wall()), failure ? store::Value(*failure) : store::Value()}));
  return status(run.id);
}

/// Writes the aggregates and the manifest. Repeating it writes the same files again.
Status LocalSweepRunner::collect(const RunStatus& run, RunState state) {
  PAWL_ASSIGN(const std::vector<Job> jobs, jobs_of(run.id, run.attempt));
  PAWL_ASSIGN(const io::SweepRequest request, request_of(run.id));
  Json rows = Json::array(), evals = Json::array(), job_list = Json::array();
  for (const Job& job : jobs) {
    const auto folder = world_.workspace.job_folder(job.spec.run, job.spec.attempt, job.spec.job);
    Json entry{{"job", job.spec.job},
               {"kind", codec::enum_text(job.spec.kind)},
               {"label", label_of(job.spec)},
               {"state", job.state},
               {"point_key", model::point_key(job.spec.row)}};
    if (auto log = world_.files.read(folder / "server.log")) entry["log_complaints"] = log_complaints(*log);
    if (job.state == "succeeded") {
      PAWL_ASSIGN(const std::string text, world_.files.read(folder / "result.json"));
      PAWL_ASSIGN(const Json json, codec::parse_json(text, (folder / "result.json").string()));
      PAWL_ASSIGN(const JobResult result, codec::from_json<JobResult>(json, "result.json"));
      entry["node"] = result.node;
      entry["engine_version"] = result.engine_version;
      if (job.spec.kind == JobKind::kBenchmark) {
        PAWL_ASSIGN(Json row, model::result_row(job.spec, result));
        rows.push_back(std::move(row));
      } else {
        PAWL_ASSIGN(Json row, model::eval_row(job.spec, result));
        evals.push_back(std::move(row));
      }
    }
    job_list.push_back(std::move(entry));
  }
  const Json manifest{{"schema", "pawl.sweep-manifest/1"},
                      {"run", run.id.value},
                      {"attempt", run.attempt},
                      {"marker", run.marker},
                      {"recipe", request.recipe},
                      {"purpose", request.purpose},
                      {"head", request.head},
                      {"full_sweep", request.purpose != "smoke"},
                      {"scale", request.scale.text()},
                      {"state", codec::enum_text(state)},
                      {"jobs", job_list}};
  const auto folder = world_.workspace.run_folder(run.id.value, run.attempt);
  PAWL_TRY(world_.files.write_atomic(folder / "results_bmk" / "agg_bmk.json", codec::write_json_pretty(rows)));
  PAWL_TRY(world_.files.write_atomic(folder / "eval_results_all" / "agg_eval_all.json", codec::write_json_pretty(evals)));
  return world_.files.write_atomic(folder / "manifest.json", codec::write_json_pretty(manifest));
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
  PAWL_ASSIGN(const Json rows, read(folder / "results_bmk" / "agg_bmk.json"));
  PAWL_ASSIGN(const Json evals, read(folder / "eval_results_all" / "agg_eval_all.json"));
  PAWL_ASSIGN(evidence.manifest, read(folder / "manifest.json"));
  evidence.rows.assign(rows.begin(), rows.end());
  evidence.evals.assign(evals.begin(), evals.end());
  return evidence;
}

}  // namespace pawl::runner
