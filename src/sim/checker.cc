#include "sim/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "codec/describe_text.h"
#include "model/point.h"
#include "model/row.h"
#include "report/style.h"

namespace pawl::sim {

using control::AttemptKind;
using control::AttemptStatus;
using control::Candidate;
using control::EventKind;
using control::State;
using io::RunState;

namespace {

constexpr std::int64_t kReaction = 120;  ///< seconds until a stop must have been seen, with polls every 30

const io::ChangeRequest* request_of(const Outside& outside) { return outside.our_request(); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The English and the Chinese part.
std::optional<std::pair<std::string, std::string>> halves(const std::string& body) {
  for (const char* cut : {"<details><summary>中文</summary>", "\n---\n\n"}) {
    const auto at = body.find(cut);
    if (at != std::string::npos) return std::pair(body.substr(0, at), body.substr(at));
  }
  return std::nullopt;
}

}  // namespace

void Checker::demand(int number, bool holds, const std::string& text) {
  ++checked_[number];
  if (holds || violation_) return;
  violation_ = Violation{number, text};
}

void Checker::check_comment(const Mutation& m) {
  const auto both = halves(m.text);
  demand(17, both.has_value(), "a comment in one language: " + m.key);
  if (both) {
    // Identifiers stand in both: whatever is in code marks in the Chinese part is in the English one.
    const std::string& zh = both->second;
    for (std::size_t at = zh.find('`'); at != std::string::npos;) {
      const std::size_t end = zh.find('`', at + 1);
      if (end == std::string::npos) break;
      demand(17, has(both->first, zh.substr(at, end - at + 1)), "an identifier in one language only: " + zh.substr(at, end - at + 1));
      at = zh.find('`', end + 1);
    }
  }
  demand(19, !has(m.text, "@") && m.text.size() < 60'000, "a comment mentions somebody or is too long: " + m.key);
  const std::string key = m.key.substr(m.key.find('/') + 1);
  if (key.starts_with("attempt-") && last_) {
    const bool passed = has(m.text, "— passed\n");
    const auto number = std::atoll(key.c_str() + 8);
    const auto attempt = std::ranges::find(last_->attempts, number, &control::Attempt::number);
    if (passed && attempt != last_->attempts.end() && attempt->run != 0) {
      const Run& run = outside_.runs().at(static_cast<std::size_t>(attempt->run) - 1);
      demand(9, run.state == RunState::kSuccess && !run.gate_only, fmt::format("attempt {} is published as passed, and its run {} is not", number, run.id));
      if (attempt->final) {
        // New 113.7 against 100, from the stored values, not from the printed ones.
        const std::string minus = has(m.text, "−") ? "−" : "-";  // as the policy writes it
        for (const std::string& text : {std::string("+13.7%"), minus + "8.7%", minus + "12.9%"}) {
          demand(18, has(m.text, text), fmt::format("the final report does not show {}", text));
        }
      }
    }
  }
  if (key.starts_with("receipt") && last_) {
    const bool listed = !outside_.listing_partial();
    std::set<std::int64_t> ours;
    for (const Run& run : outside_.runs()) {
      // One that appears after the list was made is found by the last look, and the receipt is written again.
      if (run.gone || run.id > outside_.listed_runs()) continue;
      const bool by_head = std::ranges::any_of(last_->attempts, [&](const control::Attempt& a) { return a.head == run.head; }) || run.head == last_->head;
      if (run.request.marker.starts_with("pawl-" + last_->id) || by_head) ours.insert(run.id);
    }
    for (const std::int64_t id : ours) {
      const bool there = std::ranges::find(last_->runs, id) != last_->runs.end();
      demand(24, there || !listed, fmt::format("run {} is ours and not in the receipt", id));
    }
    if (!last_->runs_complete) demand(23, has(m.text, "unknown"), "the list of runs is not known, and the receipt does not say so");
    demand(23, !(has(m.text, "Runs: none") && !outside_.runs().empty()), "the receipt says none, and there were runs");
    demand(23, has(m.text, fmt::format("Repairs: {}.", last_->repairs)), "the receipt tells another number of repairs");
    for (const Run& run : outside_.runs()) {
      if (!run.gate_only || !ours.contains(run.id) || !listed) continue;
      demand(24, has(m.text, fmt::format("{} (gate only, 0 GPU hours)", run.id)),
             fmt::format("run {} saw only a gate, and the receipt does not say so", run.id));
    }
  }
}

void Checker::mutation(const Mutation& m) {
  const io::ChangeRequest* request = request_of(outside_);
  const bool on_request = m.kind != "open" && request != nullptr && !(m.kind == "commit" && request == nullptr);
  if (on_request) {
    demand(15, outside_.read_just_before(), fmt::format("{} {} without a fresh look at the request", m.kind, m.key));
    if (outside_.handed_off_at_point() != 0 && outside_.handed_off_at_point() < outside_.last_read_point()) {
      demand(14, false, fmt::format("{} {} after the hand-off", m.kind, m.key));
    } else {
      demand(14, true, {});
    }
  }
  const bool creates = m.kind == "dispatch" || m.kind == "rerun";
  if (creates) {
    const std::int64_t age = outside_.mono_s() - outside_.last_capacity_pass();
    bool intent = false;
    (void)database_->query("SELECT 1 FROM steward_outbox WHERE state = 'pending' AND kind IN ('dispatch-smoke', 'dispatch-final', 'rerun') LIMIT 1", {},
                           [&](const store::Row&) {
                             intent = true;
                             return Status();
                           });
    demand(2, frozen_ && intent && age <= 120 + 3,
           fmt::format("{} {} with frozen baseline {}, intent {}, capacity {} s old", m.kind, m.key, frozen_, intent, age));
    const bool final = m.text == "final";
    if (m.kind == "dispatch" && last_) {
      demand(2, last_->state == (final ? State::kFinalDispatching : State::kSmokeDispatching),
             fmt::format("{} {} while the candidate stands in {}", m.kind, m.key, codec::enum_text(last_->state)));
      demand(26, !final || std::ranges::any_of(request->labels, [](const std::string& label) { return label.starts_with("full-sweep"); }),
             "the final sweep is dispatched without its label");
    }
    if (outside_.closed_at_point() != 0) {
      demand(13, outside_.closed_at_point() >= outside_.last_read_point(), fmt::format("{} {} after a person closed the request", m.kind, m.key));
    }
    for (const Run& run : outside_.runs()) {
      if (io::terminal(run.state) || run.gate_only || run.cancelled_at != 0 || run.request.marker.ends_with("-late")) continue;
      demand(3, run.request.marker == m.key || run.request.purpose != m.text,
             fmt::format("{} {} while run {} ({}) is active", m.kind, m.key, run.id, run.request.purpose));
    }
    if (m.kind == "dispatch") {
      for (const Run& run : outside_.runs()) demand(16, run.request.marker != m.key, "dispatched twice: " + m.key);
    }
  }
  if (m.kind == "edit") {
    if (frozen_body_.empty()) frozen_body_ = m.text;
    demand(4, frozen_body_ == m.text, "the body was written twice, differently");
  }
  if (m.kind == "open") demand(16, request == nullptr || request->branch == m.key, "a second request");
  if (m.kind == "comment") {
    check_comment(m);
    if (m.key.find('#') != std::string::npos) demand(16, !keys_.contains(m.key.substr(0, m.key.find('#'))), "one comment became two: " + m.key);
    keys_.insert(m.key.substr(0, m.key.find('#')));
  }
  if (m.kind == "commit" && request != nullptr && last_ && m.key == request->branch) {
    const bool labelled = std::ranges::any_of(request->labels, [](const std::string& label) { return label.starts_with("full-sweep"); });
    demand(8, !labelled || control::ending(last_->state), "a push while the sweep label is set");
  }
  if (m.kind == "label-on" && last_ && request != nullptr) {
    const auto primary = std::ranges::count_if(request->labels, [](const std::string& label) { return label.starts_with("full-sweep"); });
    demand(8, primary <= 1, "two sweep labels");
    const auto branch = outside_.branches().find(last_->branch);
    if (branch != outside_.branches().end() && !outside_.foreign_push()) {
      const auto& files = outside_.commit_at(branch->second).files;
      const auto& main = outside_.commit_at(outside_.branches().at("main")).files;
      // Main may have moved since the last look at it, within the same second: what counts is the base that was proven.
      const bool fresh = outside_.branches().at("main") == last_->base;
      demand(20, !fresh || (files.at(kChangelog).starts_with(main.at(kChangelog)) && files.at(kChangelog).size() > main.at(kChangelog).size()),
             "main's changelog is no prefix of the head's when the label is set");
      demand(26, proven_head_ == branch->second, "the label is set on a head that was not proven");
    }
    demand(26, capacity_taken_at_ >= proven_at_, "capacity was checked before the proofs, not after them");
    demand(2, outside_.mono_s() - outside_.last_capacity_pass() <= 120 + 3, "the label is set without a fresh capacity check");
  }
  if (m.kind == "ready" && last_) {
    bool active = false;
    for (const Run& run : outside_.runs()) active = active || (!io::terminal(run.state) && !run.gate_only && !run.request.marker.ends_with("-late"));
    demand(7, last_->state == State::kReadying && !active, "marked ready before the verification, or while a sweep is active");
  }
}

void Checker::taken(const steward::Taken& t) {
  const Candidate& after = t.decision.candidate;
  if (!t.decision.ignored && t.decision.row >= 0) ++rows_[t.decision.row];
  const bool first = !last_;
  last_ = after;
  if (t.decision.ignored) {
    demand(16, after.version == t.before.version, "an ignored event changed something");
    return;
  }
  demand(5, after.repairs <= 5 && (first || after.repairs >= repairs_seen_) && after.repairs == control::charged_repairs(after),
         fmt::format("repairs {} after {}, {} in the ledger", after.repairs, repairs_seen_, control::charged_repairs(after)));
  repairs_seen_ = after.repairs;
  demand(1, after.session >= session_seen_, "the number of a session went back");
  session_seen_ = after.session;
  for (const control::Attempt& attempt : after.attempts) {
    demand(6, attempt.retry <= 2, fmt::format("attempt {} is retry {}", attempt.number, attempt.retry));
    if (attempt.kind == AttemptKind::kInfrastructureRetry) {
      const auto parent = std::ranges::find(after.attempts, attempt.number - 1, &control::Attempt::number);
      demand(6, parent != after.attempts.end() && parent->head == attempt.head, "a retry on another head");
    }
  }
  for (const control::Attempt& was : t.before.attempts) {
    const auto is = std::ranges::find(after.attempts, was.number, &control::Attempt::number);
    demand(16, is != after.attempts.end() && (!control::terminal(was.status) || is->status == was.status), "a finished attempt changed");
  }
  if (t.event.kind == EventKind::kBaselineReady && t.before.state == State::kCrDraft) frozen_ = true;
  if (t.event.kind == EventKind::kGatePassed && t.before.state == State::kFinalPreflight) {
    proven_head_ = after.head;
    proven_at_ = outside_.points();
  }
  if (t.event.kind == EventKind::kCapacityPassed) capacity_taken_at_ = outside_.points();
  if (after.state == State::kClaimed) {
    std::int64_t owners = 0;
    (void)database_->query("SELECT count(*) FROM steward_claim WHERE candidate = ?1", {after.id}, [&](const store::Row& row) {
      owners = row.whole(0);
      return Status();
    });
    demand(1, owners == 1, "a session, and the family is not claimed by it");
  }
  if (after.state == State::kValidated && t.before.state != State::kValidated) {
    const bool proof = after.proof.has_value() && after.proof->run >= 1 && after.proof->run <= static_cast<std::int64_t>(outside_.runs().size());
    demand(10, proof, "validated without a proof");
    if (proof) {
      const Run& run = outside_.runs().at(static_cast<std::size_t>(after.proof->run) - 1);
      const io::ChangeRequest* request = request_of(outside_);
      demand(10,
             run.state == RunState::kSuccess && !run.gate_only && run.attempt == after.proof->attempt && run.head == after.proof->head &&
                 run.head == after.head && run.fate == Fate::kPass && run.request.purpose == "final" && request != nullptr,
             fmt::format("validated by run {} attempt {}, which does not prove it", run.id, after.proof->attempt));
      std::vector<std::string> keys;
      for (const auto& row : run.request.points) keys.push_back(model::point_key(row));
      demand(21, keys.size() == 3, fmt::format("the final sweep measured {} of 3 points", keys.size()));
    }
  }
  const bool closed_now = after.state == State::kClosed && t.before.state != State::kClosed;
  if (closed_now || (after.state == State::kValidated && t.before.state != State::kValidated)) {
    for (const Run& run : outside_.runs()) {
      if (run.request.marker.ends_with("-late") || run.gone) continue;
      demand(11, io::terminal(run.state), fmt::format("ended as {} while run {} is {}", codec::enum_text(after.state), run.id, codec::enum_text(run.state)));
    }
  }
  if (closed_now && t.before.state == State::kClosing) {
    const io::ChangeRequest* request = request_of(outside_);
    if (request != nullptr && request->number == after.cr) {
      const bool labelled = std::ranges::any_of(request->labels, [](const std::string& label) { return label.starts_with("full-sweep"); });
      demand(12, !labelled, "closed with the sweep label on");
    }
    const auto branch = outside_.branches().find(after.branch);
    const bool by_policy = after.outcome && std::ranges::find(after.rules.keep_branch, *after.outcome) != after.rules.keep_branch.end();
    demand(12, branch == outside_.branches().end() || by_policy || outside_.foreign_push() || outside_.branches().contains("taken"),
           "closed, and the branch is there and ours");
  }
}

void Checker::between() {
  const io::ChangeRequest* request = request_of(outside_);
  if (request == nullptr || !last_) return;
  demand(7,
         request->state != io::ChangeRequestState::kReady || outside_.ready_by_person() || control::terminal(last_->state) ||
             last_->state == State::kReadying || control::ending(last_->state),
         "ready for review before it is validated");
}

void Checker::at_the_end(const std::string& record) {
  if (!last_) return;
  demand(16, record == codec::described_text(*last_), "the database has another record than the one that was decided last");
  demand(25, control::terminal(last_->state), "it never ended: " + codec::enum_text(last_->state));
  std::int64_t claims = 0;
  (void)database_->query("SELECT count(*) FROM steward_claim WHERE candidate = ?1", {last_->id}, [&](const store::Row& row) {
    claims = row.whole(0);
    return Status();
  });
  demand(22, claims == 0, "the recipe stays claimed");
  if (const auto receipt = outside_.all_comments().find(last_->id + "/receipt"); receipt != outside_.all_comments().end()) {
    for (const std::int64_t run : last_->runs) {
      demand(24, has(receipt->second.body, std::to_string(run)), fmt::format("run {} is known, and the receipt does not name it", run));
    }
  }
  if (last_->state == State::kClosed) {
    const io::ChangeRequest* request = request_of(outside_);
    if (request != nullptr && last_->cr != 0) {
      demand(13, std::ranges::all_of(outside_.runs(), [](const Run& run) { return io::terminal(run.state) || run.gone; }), "runs go on after the end");
      const auto receipt = outside_.all_comments().lower_bound(last_->id + "/receipt");
      demand(16, outside_.handed_off_at_point() != 0 || (receipt != outside_.all_comments().end() && receipt->first.starts_with(last_->id + "/receipt")),
             "no receipt");
    }
  }
}

}  // namespace pawl::sim
