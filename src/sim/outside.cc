#include "sim/outside.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "codec/describe.h"
#include "codec/json.h"
#include "model/job.h"
#include "model/point.h"
#include "model/row.h"
#include "posix/embedded_assets.h"
#include "steward/upgrade_plan.h"

namespace pawl::sim {

using codec::Json;
using io::RunState;

namespace {

constexpr const char* kMaster = R"(:
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
constexpr const char* kScript = "python3 -m sglang.launch_server --model-path \"$MODEL\" --fixed-0 > server.log 2>&1 &\n";
constexpr const char* kTheirBranch = "by-hand";
constexpr const char* kFirstEntry = "- config-keys:\n    - first\n  description:\n    - \"First\"\n  pr-link: x\n";

/// Commits by their content: the same in every world, so that what was read of one is known in all.
std::map<std::string, Commit>& commits() {
  thread_local std::map<std::string, Commit> all;
  if (all.size() > 4096) all.clear();
  return all;
}

std::string hash40(const std::string& text) {
  std::uint64_t a = 0xCBF29CE484222325u, b = 0x9E3779B97F4A7C15u;
  for (const char c : text) {
    a = (a ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    b = (b + static_cast<unsigned char>(c)) * 0xC2B2AE3D27D4EB4Fu;
    b ^= b >> 29;
  }
  return fmt::format("{:016x}{:016x}{:08x}", a, b, static_cast<std::uint32_t>(a ^ (b >> 32)));
}

/// Result rows of a set of matrix rows with an image. They depend on nothing else, so they are made once.
const std::pair<std::vector<Json>, std::vector<Json>>& rows_of(const std::vector<Json>& points, const std::vector<Json>& evals) {
  thread_local std::map<std::string, std::pair<std::vector<Json>, std::vector<Json>>> known;
  std::string key;
  for (const Json& row : points) key += row.value("image", std::string()) + "/" + model::point_key(row) + "\n";
  for (const Json& row : evals) key += "e" + row.value("image", std::string()) + "/" + model::point_key(row) + "\n";
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  auto& made = known[key];
  const bool fresh = !points.empty() && points[0].value("image", std::string()) == kNewImage;
  for (const Json& row : points) {
    model::JobSpec spec;
    spec.row = row;
    model::JobResult result;
    model::BenchResult bench;
    bench.total_token_throughput = fresh ? 113.7 : 100;
    bench.output_throughput = fresh ? 11.1 : 10;
    bench.verdict = "VALID";
    bench.metrics["tpot_ms"] = {.n = 1, .mean = fresh ? 9.13 : 10, .p50 = fresh ? 9.13 : 10};
    bench.metrics["ttft_ms"] = {.n = 1, .mean = fresh ? 87.1 : 100, .p50 = fresh ? 87.1 : 100};
    result.bench = bench;
    made.first.push_back(*model::result_row(spec, result));
  }
  for (const Json& row : evals) {
    model::JobSpec spec;
    spec.row = row;
    model::JobResult result;
    result.eval = model::EvalResult{
        .task = "arith24", .em_strict = 1, .em_flexible = 1, .n_requested = 24, .n_eff = 24, .infrastructure_success = true, .threshold = 0.9, .passed = true};
    made.second.push_back(*model::eval_row(spec, result));
  }
  return made;
}

bool human(FaultKind kind) { return kind > FaultKind::kBreak; }

}  // namespace

void Outside::mix(const std::string& text) {
  for (const char c : text) mix(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
}

Outside::Outside(const Scenario& scenario, Planted planted, std::int64_t variant)
    : scenario_(scenario), planted_(planted), recipe_(variant == 0 ? std::string(kRecipe) : fmt::format("{}-{}", kRecipe, variant)) {
  struck_.resize(scenario.faults.size());
  first_main_ = branches_["main"] =
      store({"",
             "",
             {{"configs/nvidia-master.yaml", recipe_ + kMaster}, {"configs/runners.yaml", "labels: {}\n"}, {kChangelog, kFirstEntry}, {kScriptPath, kScript}}});
}

std::string Outside::store(Commit commit) {
  std::string text = commit.parent + "\n" + commit.onto;
  for (const auto& [path, bytes] : commit.files) text += "\n" + path + "\n" + bytes;
  std::string id = hash40(text);
  own_commits_[id] = commit;
  commits()[id] = std::move(commit);
  return id;
}

const Commit& Outside::commit_at(const std::string& id) const { return own_commits_.at(id); }

void Outside::advance(std::int64_t seconds) const {
  now_s_ += seconds;
  mono_s_ += seconds;
}

void Outside::pass_time(std::int64_t seconds) {
  advance(seconds);
  settle();
}

bool Outside::sleep_until(MonoTime deadline, std::stop_token) const {
  const std::int64_t left = std::chrono::ceil<std::chrono::seconds>(deadline.since_boot).count() - mono_s_;
  if (left > 0) advance(left);
  return true;
}

/// Runs move with the monotonic clock: a calendar that is set does not end them.
void Outside::settle() {
  if (!scenario_.runs_by_itself) return;
  for (Run& run : runs_) {
    if (io::terminal(run.state)) continue;
    if (run.cancelled_at != 0) {
      if (mono_s_ >= run.cancelled_at) {
        run.state = RunState::kCancelled;
        run.cancelled_by_us = true;
      }
    } else if (mono_s_ >= run.ends_at) {
      end_run(run);
    } else if (mono_s_ >= run.starts_at) {
      run.state = RunState::kRunning;
    }
  }
}

void Outside::end_run(Run& run) {
  switch (run.fate) {
    case Fate::kPass:
    case Fate::kMissingRow:
    case Fate::kWrongImage:
    case Fate::kEvalFails:
    case Fate::kExpired:
      run.state = RunState::kSuccess;
      break;
    case Fate::kPreempted:
      run.state = RunState::kCancelled;
      run.end = io::RunEnd::kPreempted;
      break;
    case Fate::kFailFast:
      run.state = RunState::kFailure;
      run.end = io::RunEnd::kFailFast;
      break;
    case Fate::kDeadline:
      run.state = RunState::kFailure;
      run.end = io::RunEnd::kDeadline;
      break;
    case Fate::kVanished:
      run.state = RunState::kFailure;
      run.gone = true;
      break;
    default:
      run.state = RunState::kFailure;
      break;
  }
}

void Outside::move_main(const std::string& what, const std::string& by) {
  const Commit& main = commit_at(branches_["main"]);
  Commit next{branches_["main"], "", main.files};
  next.files[kChangelog] += fmt::format("\n- config-keys:\n    - another\n  description:\n    - \"Another {}\"\n  pr-link: y\n", ++main_moves_);
  std::string& master = next.files["configs/nvidia-master.yaml"];
  const auto at = what.empty() ? std::string::npos : master.find(what);
  if (at != std::string::npos) master.replace(at, what.size(), by);
  branches_["main"] = store(std::move(next));
}

bool Outside::handles(FaultKind kind) const {
  return kind == FaultKind::kOtherSteward || kind == FaultKind::kOperatorStops || kind == FaultKind::kImageNewer || kind == FaultKind::kDelivery ||
         kind == FaultKind::kOtherClaims || kind == FaultKind::kImageGoneTold;
}

io::ChangeRequest* Outside::own_request() {
  const auto found = std::ranges::find_if(requests_, [](const io::ChangeRequest& request) { return request.branch != kTheirBranch; });
  return found == requests_.end() ? nullptr : &*found;
}

const io::ChangeRequest* Outside::our_request() const { return const_cast<Outside*>(this)->own_request(); }

bool Outside::due(std::size_t fault, bool between) const {
  const Fault& f = scenario_.faults[fault];
  if (struck_[fault]) return false;
  if (!f.in) return !between && f.at == points_;
  return *f.in == state_ && (between ? f.at == 0 : f.at > 0 && f.at == calls_in_[static_cast<std::size_t>(state_)]);
}

Outside::Between Outside::between_steps() {
  Between result;
  for (std::size_t i = 0; i < struck_.size(); ++i) {
    if (!due(i, true)) continue;
    struck_[i] = true;
    const FaultKind kind = scenario_.faults[i].kind;
    mix(static_cast<std::uint64_t>(kind) + 104'729u * static_cast<std::uint64_t>(points_));
    if (human(kind)) {
      strike(kind);
    } else if (kind == FaultKind::kBreak) {
      result.defect = true;
    } else if (kind == FaultKind::kCrashBefore || kind == FaultKind::kCrashAfter) {
      result.crash = true;
    }
  }
  return result;
}

void Outside::strike(FaultKind kind) {
  if (handles(kind)) {
    if (on_fault) on_fault(kind);
    return;
  }
  io::ChangeRequest* request = own_request();
  const bool open = request != nullptr && (request->state == io::ChangeRequestState::kDraft || request->state == io::ChangeRequestState::kReady);
  switch (kind) {
    case FaultKind::kPersonCloses:
      if (!open) break;
      request->state = io::ChangeRequestState::kClosed;
      request->closed_by = "person";
      closed_at_point_ = points_;
      closed_at_s_ = mono_s_;
      break;
    case FaultKind::kPersonHandsOff:
      if (request == nullptr || handed_off_at_point_ != 0) break;
      request->labels.emplace_back("pawl-handoff");
      handed_off_at_point_ = points_;
      break;
    case FaultKind::kPersonMerges:
      if (!open) break;
      request->state = io::ChangeRequestState::kMerged;
      break;
    case FaultKind::kPersonReopens:
      if (request == nullptr || request->state != io::ChangeRequestState::kClosed || request->closed_by != "pawl") break;
      request->state = io::ChangeRequestState::kDraft;
      request->closed_by.clear();
      break;
    case FaultKind::kPersonTakesRequest:
      if (open) request->author = "somebody";
      break;
    case FaultKind::kPersonPushes: {
      const auto branch = request == nullptr ? branches_.end() : branches_.find(request->branch);
      if (branch == branches_.end()) break;
      Commit next{branch->second, "", commit_at(branch->second).files};
      next.files["README.md"] = "by a person\n";
      branch->second = store(std::move(next));
      foreign_push_ = true;
      break;
    }
    case FaultKind::kMainMoves:
      move_main();
      break;
    case FaultKind::kMainMovesRecipe:
      move_main("v0.5.14", "v0.5.18");
      break;
    case FaultKind::kMainTakesImage:
      move_main("v0.5.14", "v0.5.19");
      break;
    case FaultKind::kMainDropsRecipe:
      move_main(recipe_, "another-recipe");
      break;
    case FaultKind::kMainDropsPoint:
      move_main("conc-end: 16", "conc-end: 8");
      break;
    case FaultKind::kPersonMarksReady:
      if (!open) break;
      request->state = io::ChangeRequestState::kReady;
      ready_by_person_ = true;
      break;
    case FaultKind::kOtherRequest: {
      if (std::ranges::find(requests_, kTheirBranch, &io::ChangeRequest::branch) != requests_.end()) break;
      io::ChangeRequest theirs;
      theirs.number = static_cast<std::int64_t>(requests_.size()) + 1;
      theirs.title = "Move " + recipe_ + " by hand";
      theirs.author = "somebody";
      theirs.branch = kTheirBranch;
      requests_.push_back(std::move(theirs));
      break;
    }
    case FaultKind::kClockForward:
      now_s_ += 3600;
      break;
    case FaultKind::kClockBack:
      now_s_ -= 3600;
      break;
    case FaultKind::kImageGone:
      image_gone_ = true;
      break;
    case FaultKind::kRunDoubles:
      double_next_ = true;
      break;
    case FaultKind::kRunGetsLost:
      lose_next_ = true;
      break;
    case FaultKind::kLabelIgnored:
      ++ignored_labels_;
      break;
    case FaultKind::kConflicted:
      conflicted_ = true;
      break;
    case FaultKind::kLateRun: {
      const auto ours = std::ranges::find_if(runs_, [](const Run& run) { return !run.gate_only; });
      if (ours == runs_.end() || planted_.partial_owned) break;
      io::SweepRequest again = ours->request;
      again.marker += "-late";
      again.purpose = "late";
      make_run(again).fate = Fate::kPass;
      break;
    }
    case FaultKind::kCancelPending:
      cancel_pending_ = true;
      break;
    case FaultKind::kListingPartial:
      listing_partial_ = true;
      partial_left_ = 3;
      break;
    case FaultKind::kOtherBranch: {
      if (request != nullptr) break;
      const Commit& main = commit_at(branches_["main"]);
      Commit theirs{branches_["main"], "", main.files};
      theirs.files["README.md"] = "by somebody else\n";
      branches_["taken"] = store(std::move(theirs));
      break;
    }
    default:
      break;
  }
}

template <class T, class Work>
Result<T> Outside::call(const Mutation* mutation, const Work& work) {
  ++points_;
  advance(1);
  settle();
  ++calls_in_[static_cast<std::size_t>(state_)];
  bool after = false, lose = false, disturbed = false;
  // What strikes may move the candidate on: which faults are due is known before.
  std::array<std::size_t, 16> now{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < struck_.size() && count < now.size(); ++i) {
    if (due(i, false)) now[count++] = i;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const FaultKind kind = scenario_.faults[now[i]].kind;
    struck_[now[i]] = true;
    mix(static_cast<std::uint64_t>(kind) + 7919u * static_cast<std::uint64_t>(points_));
    if (human(kind)) {
      // What another steward does in the middle of this call makes this one the effect that was under way.
      const std::int64_t before = points_;
      strike(kind);
      disturbed = disturbed || points_ != before;
    } else if (kind == FaultKind::kCrashBefore) {
      throw Crash{};
    } else if (kind == FaultKind::kCrashAfter) {
      after = true;
    } else if (kind == FaultKind::kLoseReply) {
      lose = mutation != nullptr;
    } else if (kind == FaultKind::kRefuse) {
      return peer_error("the forge refused this for now");
    } else {
      return internal_error("something is broken");
    }
  }
  if (mutation != nullptr) {
    mix(mutation->kind + mutation->key);
    if (on_mutation && !disturbed) on_mutation(*mutation);
  }
  Result<T> answer = work();
  if (after) throw Crash{};
  if (lose) return Error{ErrorClass::kUnknownOutcome, ExitStatus::kPeer, "no answer came back", {}};
  return answer;
}

Result<std::optional<std::string>> Outside::head(const std::string& branch) {
  return call<std::optional<std::string>>(nullptr, [&]() -> Result<std::optional<std::string>> {
    const auto found = branches_.find(branch);
    if (found == branches_.end()) return std::optional<std::string>();
    return std::optional<std::string>(found->second);
  });
}

Result<std::string> Outside::read(const std::string& commit, const std::string& path) {
  // Immutable: no point, or the cache of one world would shift the points of another.
  const auto known = commits().find(commit);
  const auto own = own_commits_.find(commit);
  if (own == own_commits_.end() && known == commits().end()) return not_found("no commit " + commit);
  const auto& files = own != own_commits_.end() ? own->second.files : known->second.files;
  const auto file = files.find(path);
  if (file == files.end()) return not_found(path);
  return file->second;
}

Result<std::string> Outside::commit(const io::CommitRequest& request) {
  const Mutation mutation{"commit", request.branch, request.message, 0};
  return call<std::string>(&mutation, [&]() -> Result<std::string> {
    for (const auto& [path, bytes] : request.files) {
      if (bytes.find('\0') != std::string::npos) return bad_input("the forge takes no text with a NUL in it: " + path);
    }
    Commit made{request.parent, request.onto, commit_at(request.onto.empty() ? request.parent : request.onto).files};
    for (const auto& [path, bytes] : request.files) made.files[path] = bytes;
    if (branches_.contains("taken") && !branches_.contains(request.branch)) branches_[request.branch] = branches_["taken"];
    const auto at = branches_.find(request.branch);
    std::string id = store(std::move(made));
    if (at != branches_.end() && at->second == id) return id;
    if (at != branches_.end() && at->second != request.parent) return conflict("the branch is elsewhere");
    branches_[request.branch] = id;
    for (io::ChangeRequest& open : requests_) {
      if (open.branch == request.branch && open.state != io::ChangeRequestState::kClosed) open.head = id;
    }
    return id;
  });
}

Result<bool> Outside::delete_branch(const std::string& branch, const std::string& expected) {
  const Mutation mutation{"delete-branch", branch, expected, 0};
  return call<bool>(&mutation, [&]() -> Result<bool> {
    const auto at = branches_.find(branch);
    if (at == branches_.end()) return true;
    if (at->second != expected) return false;
    branches_.erase(at);
    return true;
  });
}

Result<ChangeRequestId> Outside::open(const std::string& branch, const std::string& title, const std::string& body, const std::string& author) {
  const Mutation mutation{"open", branch, title, 0};
  return call<ChangeRequestId>(&mutation, [&]() -> Result<ChangeRequestId> {
    for (const io::ChangeRequest& known : requests_) {
      if (known.branch == branch) return ChangeRequestId{known.number};
    }
    io::ChangeRequest request;
    request.number = static_cast<std::int64_t>(requests_.size()) + 1;
    request.title = title;
    request.body = body;
    request.author = author;
    request.branch = branch;
    request.head = branches_.at(branch);
    requests_.push_back(std::move(request));
    return ChangeRequestId{requests_.back().number};
  });
}

Result<io::ChangeRequest> Outside::get(ChangeRequestId id) {
  if (planted_.stale_reads && remembered_) return *remembered_;
  auto answer = call<io::ChangeRequest>(nullptr, [&]() -> Result<io::ChangeRequest> {
    io::ChangeRequest request = requests_.at(static_cast<std::size_t>(id.value) - 1);
    const auto branch = branches_.find(request.branch);
    if (branch != branches_.end() && request.state != io::ChangeRequestState::kClosed) request.head = branch->second;
    return request;
  });
  if (answer) last_read_ = points_;
  if (answer && planted_.stale_reads) remembered_ = *answer;
  return answer;
}

Result<std::vector<io::ChangeRequest>> Outside::list() {
  return call<std::vector<io::ChangeRequest>>(nullptr, [&]() -> Result<std::vector<io::ChangeRequest>> { return requests_; });
}

Status Outside::edit(ChangeRequestId id, const std::string& title, const std::string& body) {
  const Mutation mutation{"edit", std::to_string(id.value), body, 0};
  return call<void>(&mutation, [&]() -> Status {
    requests_.at(static_cast<std::size_t>(id.value) - 1).title = title;
    requests_.at(static_cast<std::size_t>(id.value) - 1).body = body;
    return {};
  });
}

Status Outside::comment(ChangeRequestId, const std::string& key_in, const std::string& author, const std::string& body) {
  const std::string key = planted_.comment_keys_lost ? fmt::format("{}#{}", key_in, ++lost_comments_) : key_in;
  const Mutation mutation{"comment", key, body, 0};
  return call<void>(&mutation, [&]() -> Status {
    io::Comment& comment = comments_[key];
    comment.key = key;
    comment.author = author;
    comment.body = body;
    return {};
  });
}

Result<std::vector<io::Comment>> Outside::comments(ChangeRequestId) {
  std::vector<io::Comment> all;
  for (const auto& [key, comment] : comments_) all.push_back(comment);
  return all;
}

Status Outside::set_label(ChangeRequestId id, const std::string& label, bool present) {
  const Mutation mutation{present ? "label-on" : "label-off", label, {}, 0};
  return call<void>(&mutation, [&]() -> Status {
    auto& labels = requests_.at(static_cast<std::size_t>(id.value) - 1).labels;
    std::erase(labels, label);
    if (present) labels.push_back(label);
    return {};
  });
}

Status Outside::set_ready(ChangeRequestId id, bool ready) {
  const Mutation mutation{ready ? "ready" : "draft", std::to_string(id.value), {}, 0};
  return call<void>(&mutation, [&]() -> Status {
    io::ChangeRequest& request = requests_.at(static_cast<std::size_t>(id.value) - 1);
    if (request.state == io::ChangeRequestState::kClosed || request.state == io::ChangeRequestState::kMerged) return conflict("it is closed");
    request.state = ready ? io::ChangeRequestState::kReady : io::ChangeRequestState::kDraft;
    return {};
  });
}

Status Outside::close(ChangeRequestId id, const std::string& by) {
  const Mutation mutation{"close", std::to_string(id.value), by, 0};
  return call<void>(&mutation, [&]() -> Status {
    io::ChangeRequest& request = requests_.at(static_cast<std::size_t>(id.value) - 1);
    if (request.state == io::ChangeRequestState::kClosed) return {};
    request.state = io::ChangeRequestState::kClosed;
    request.closed_by = by;
    return {};
  });
}

Run& Outside::make_run(const io::SweepRequest& request) {
  Run run;
  run.id = static_cast<std::int64_t>(runs_.size()) + 1;
  run.request = request;
  run.head = request.head;
  run.rows = &rows_of(request.points, request.evals);
  run.fate = attempts_made_ < scenario_.fates.size() ? scenario_.fates[attempts_made_] : Fate::kPass;
  ++attempts_made_;
  run.made_at = mono_s_;
  run.starts_at = mono_s_ + scenario_.queue_seconds;
  run.ends_at = run.starts_at + scenario_.run_seconds;
  runs_.push_back(std::move(run));
  return runs_.back();
}

Result<RunId> Outside::dispatch(const io::SweepRequest& request) {
  const Mutation mutation{"dispatch", request.marker, request.purpose, 0};
  bool lost = false;
  auto answer = call<RunId>(&mutation, [&]() -> Result<RunId> {
    if (!planted_.no_idempotency) {
      for (const Run& known : runs_) {
        if (known.request.marker == request.marker) return RunId{known.id};
      }
    }
    if (std::exchange(lose_next_, false)) {
      lost = true;
      return RunId{};
    }
    const bool final = request.purpose == "final";
    if (final && ignored_labels_ > 0) {
      --ignored_labels_;
      return not_found("no run appeared for the label");
    }
    if (final && std::exchange(conflicted_, false)) {
      move_main();
      return conflict("the request conflicts with main");
    }
    Run& run = make_run(request);
    const RunId id{run.id};
    if (final) {
      // The gate of the field: main's changelog must be a prefix of the head's.
      const auto& base = commit_at(branches_["main"]).files.at(kChangelog);
      if (!commit_at(request.head).files.at(kChangelog).starts_with(base)) {
        run.state = RunState::kFailure;
        run.end = io::RunEnd::kPolicyGate;
        run.gate_only = true;
        run.reason = "stale-base";
      }
      if (scenario_.siblings) {
        Run& push = make_run(request);
        --attempts_made_;
        push.request.marker = "push-" + request.head.substr(0, 12);
        push.state = RunState::kSuccess;
        push.gate_only = true;
      }
    }
    if (std::exchange(double_next_, false)) make_run(request);
    return id;
  });
  if (answer && lost) return Error{ErrorClass::kUnknownOutcome, ExitStatus::kPeer, "no answer came back", {}};
  return answer;
}

Result<std::optional<RunId>> Outside::find(const std::string& marker) {
  return call<std::optional<RunId>>(nullptr, [&]() -> Result<std::optional<RunId>> {
    if (planted_.no_idempotency) return std::optional<RunId>();
    for (const Run& run : runs_) {
      if (run.request.marker == marker) return std::optional<RunId>(RunId{run.id});
    }
    return std::optional<RunId>();
  });
}

io::RunStatus Outside::status_of(const Run& run) const {
  io::RunStatus s;
  s.id = RunId{run.id};
  s.attempt = run.attempt;
  s.marker = run.request.marker;
  s.recipe = run.request.recipe;
  s.purpose = run.request.purpose;
  s.head = run.head;
  s.state = run.state;
  s.end = run.end;
  s.gate_only = run.gate_only;
  s.reason = run.reason;
  s.jobs = static_cast<std::int64_t>(run.request.points.size() + run.request.evals.size());
  if (run.state == RunState::kFailure && !run.gate_only) {
    s.failed = 1;
    s.failure = model::JobFailure{run.fate == Fate::kInfrastructure ? model::FailureClass::kInfrastructure : model::FailureClass::kEngine,
                                  "the engine ended early",
                                  {run.fate == Fate::kSameFailure ? "the same error" : std::string("error ") + static_cast<char>('a' + run.id % 26)}};
  }
  return s;
}

Result<io::RunStatus> Outside::status(RunId id) {
  return call<io::RunStatus>(nullptr, [&]() -> Result<io::RunStatus> {
    if (!known_run(id)) return not_found(fmt::format("no run {}", id.value));
    return status_of(run_at(id));
  });
}

Result<io::RunStatus> Outside::wait(RunId id, std::stop_token) {
  return call<io::RunStatus>(nullptr, [&]() -> Result<io::RunStatus> {
    if (!known_run(id)) return not_found(fmt::format("no run {}", id.value));
    Run& run = run_at(id);
    if (!io::terminal(run.state)) {
      advance(scenario_.run_seconds);
      if (run.cancelled_at != 0) {
        run.state = RunState::kCancelled;
        run.cancelled_by_us = true;
      } else {
        end_run(run);
      }
    }
    if (run.gone) return not_found(fmt::format("no run {}", id.value));
    return status_of(run);
  });
}

Result<io::RunStatus> Outside::rerun(RunId id, std::int64_t expected, bool) {
  const Mutation mutation{"rerun", fmt::format("{}@{}", id.value, expected), {}, id.value};
  return call<io::RunStatus>(&mutation, [&]() -> Result<io::RunStatus> {
    if (!known_run(id)) return not_found(fmt::format("no run {}", id.value));
    Run& run = run_at(id);
    if (run.attempt == expected + 1) return status_of(run);
    if (run.attempt != expected || !io::terminal(run.state)) return conflict("only a finished run can run again");
    ++run.attempt;
    run.state = RunState::kQueued;
    run.end = io::RunEnd::kPlain;
    run.cancelled_at = 0;
    run.fate = attempts_made_ < scenario_.fates.size() ? scenario_.fates[attempts_made_] : Fate::kPass;
    ++attempts_made_;
    run.starts_at = mono_s_ + scenario_.queue_seconds;
    run.ends_at = run.starts_at + scenario_.run_seconds;
    return status_of(run);
  });
}

Result<std::vector<io::RunStatus>> Outside::owned(const io::OwnedQuery& query) {
  auto answer = call<std::vector<io::RunStatus>>(nullptr, [&]() -> Result<std::vector<io::RunStatus>> {
    if (partial_left_ > 0 && partial_left_-- > 0) return bad_input("the listing of runs is incomplete");
    std::vector<io::RunStatus> all;
    for (const Run& run : runs_) {
      if (run.gone) continue;
      const bool by_marker = run.request.marker.starts_with(query.marker_prefix);
      const bool by_head = std::ranges::find(query.heads, run.head) != query.heads.end();
      if (by_marker || (by_head && !planted_.partial_owned)) all.push_back(status_of(run));
    }
    return all;
  });
  // Whatever the reason: a receipt that was written without the list may not name every run, and says so.
  listing_partial_ = listing_partial_ || !answer;
  if (answer) listed_runs_ = static_cast<std::int64_t>(runs_.size());
  return answer;
}

Status Outside::cancel(RunId id) {
  const Mutation mutation{"cancel", std::to_string(id.value), {}, id.value};
  return call<void>(&mutation, [&]() -> Status {
    if (!known_run(id)) return not_found(fmt::format("no run {}", id.value));
    Run& run = run_at(id);
    if (io::terminal(run.state)) return {};
    if (run.cancelled_at == 0) run.cancelled_at = mono_s_ + (cancel_pending_ ? 25 : 0);
    settle();
    return {};
  });
}

Result<io::RunEvidence> Outside::evidence(RunId id) {
  return call<io::RunEvidence>(nullptr, [&]() -> Result<io::RunEvidence> {
    if (!known_run(id)) return not_found(fmt::format("no run {}", id.value));
    const Run& run = run_at(id);
    if (run.fate == Fate::kExpired) return not_found("the artifacts of the run have expired");
    io::RunEvidence evidence;
    const bool ok = run.state == RunState::kSuccess;
    Json jobs = Json::array();
    for (std::size_t i = 0; i < run.request.points.size() + run.request.evals.size(); ++i)
      jobs.push_back({{"state", ok ? "succeeded" : "failed"}, {"log_complaints", 0}});
    if (ok) {
      evidence.rows = run.rows->first;
      evidence.evals = run.rows->second;
      if (run.fate == Fate::kMissingRow && !evidence.rows.empty()) evidence.rows.pop_back();
      if (run.fate == Fate::kWrongImage && !evidence.rows.empty()) evidence.rows[0]["image"] = kOldImage;
      if (run.fate == Fate::kEvalFails && !evidence.evals.empty()) evidence.evals[0]["pawl"]["passed"] = false;
    }
    evidence.manifest = {{"run", run.id}, {"attempt", run.attempt},           {"head", run.head}, {"full_sweep", run.request.purpose == "final"},
                         {"jobs", jobs},  {"scale", run.request.scale.text()}};
    return evidence;
  });
}

Result<std::optional<model::Baseline>> Outside::newest(const std::string&, const std::string& image, const std::vector<std::string>& point_keys) {
  return call<std::optional<model::Baseline>>(nullptr, [&]() -> Result<std::optional<model::Baseline>> {
    ++baseline_reads_;
    if (scenario_.baseline == BaselineMood::kMissing || (scenario_.baseline == BaselineMood::kGoneLater && baseline_reads_ > 2))
      return std::optional<model::Baseline>();
    thread_local std::map<std::string, model::Baseline> known;
    std::string key = image;
    for (const std::string& point : point_keys) key += "\n" + point;
    model::Baseline& baseline = known[key];
    if (baseline.image.empty()) {
      // The rows are those of main's matrix at the beginning, whatever main has become.
      baseline.image = image;
      baseline.date = "2026-11-29";
      baseline.run = 100;
      baseline.scale = model::Scale{}.text();
      baseline.sources = {"benchmarks?model=Demo"};
      const auto texts = steward::read_catalogue(*this, posix::EmbeddedAssets(), first_main_);
      const auto matrix = steward::recipe_matrix(*texts, recipe_);
      baseline.rows = rows_of(matrix->points, {}).first;
    }
    model::Baseline copy = baseline;
    if (scenario_.baseline == BaselineMood::kOtherScale) copy.scale = "1/64";
    return std::optional<model::Baseline>(std::move(copy));
  });
}

Result<io::Capacity> Outside::check(const std::string&, std::int64_t below_percent) {
  capacity_bound_ = below_percent;
  return call<io::Capacity>(nullptr, [&]() -> Result<io::Capacity> {
    ++capacity_checks_;
    const bool full = std::ranges::find(scenario_.full_at, capacity_checks_) != scenario_.full_at.end();
    if (!full) capacity_passed_at_ = mono_s_;
    return io::Capacity{!full, full ? "busy" : ""};
  });
}

Result<bool> Outside::image_there() {
  return call<bool>(nullptr, [&]() -> Result<bool> { return !image_gone_; });
}

Result<std::optional<io::Proposal>> Outside::propose(const io::Briefing& briefing) {
  return call<std::optional<io::Proposal>>(nullptr, [&]() -> Result<std::optional<io::Proposal>> {
    io::Proposal proposal{.change = "launch flag changes.", .change_zh = "启动参数更改。", .cause = "an error"};
    if (!briefing.files.empty()) proposal.files = {*briefing.files.begin()};
    switch (scenario_.planner) {
      case PlannerMood::kFixes:
        if (proposal.files.empty()) return std::optional<io::Proposal>();
        for (auto& [path, text] : proposal.files) {
          const auto at = text.find("--fixed-");
          if (at != std::string::npos) ++text[at + 8];
        }
        return std::optional<io::Proposal>(proposal);
      case PlannerMood::kKnowsNothing:
        return std::optional<io::Proposal>();
      case PlannerMood::kOutOfScope:
        proposal.files["configs/nvidia-master.yaml"] = "topology: other\n";
        return std::optional<io::Proposal>(proposal);
      case PlannerMood::kIncompatible:
        proposal.verdict = model::Outcome::kIncompatible;
        return std::optional<io::Proposal>(proposal);
      case PlannerMood::kNotReady:
        proposal.verdict = model::Outcome::kReadinessBlocked;
        return std::optional<io::Proposal>(proposal);
      case PlannerMood::kUncertain:
        proposal.verdict = model::Outcome::kUncertain;
        return std::optional<io::Proposal>(proposal);
      case PlannerMood::kEmptyEdit:
        return std::optional<io::Proposal>(proposal);
      case PlannerMood::kUnusable:
        for (auto& [path, text] : proposal.files) text += std::string("\0", 1);
        return std::optional<io::Proposal>(proposal);
      case PlannerMood::kBreaks:
        return internal_error("the planner is broken");
    }
    return std::optional<io::Proposal>();
  });
}

}  // namespace pawl::sim
