#include "sim/planted.h"

#include <algorithm>
#include <functional>
#include <list>

namespace pawl::sim {
namespace {

using control::CommandKind;
using control::Delay;
using control::EventKind;
using control::State;
using control::Step;
using control::Transition;
using Table = std::vector<Transition>;

const Table* changed(const std::function<void(Table&)>& change) {
  static std::list<Table> kept;
  kept.push_back(control::transition_table());
  change(kept.back());
  return &kept.back();
}

/// The commands and the target of every row from `from` on `on`.
void rewrite(Table& table, State from, EventKind on, const std::function<void(Transition&)>& change) {
  for (Transition& row : table) {
    if (row.from == from && row.on == on) change(row);
  }
}

void without(Table& table, CommandKind kind) {
  for (Transition& row : table) std::erase_if(row.commands, [&](const Step& step) { return step.kind == kind; });
}

PlantedFault with_table(std::string name, std::set<int> caught_by, const std::function<void(Table&)>& change) {
  PlantedFault fault{std::move(name), {}, std::move(caught_by)};
  fault.options.table = changed(change);
  return fault;
}

std::vector<PlantedFault> make_faults() {
  std::vector<PlantedFault> all;
  const auto with = [&](std::string name, std::set<int> caught_by, const std::function<void(PlayOptions&)>& change) {
    PlantedFault fault{std::move(name), {}, std::move(caught_by)};
    change(fault.options);
    all.push_back(std::move(fault));
  };
  with("no idempotency key of a dispatch", {3, 16}, [](PlayOptions& o) { o.planted.no_idempotency = true; });
  with("no key of a comment", {16}, [](PlayOptions& o) { o.planted.comment_keys_lost = true; });
  with("outbox lost in a crash", {25}, [](PlayOptions& o) { o.lose_outbox = true; });
  with("six repairs", {5}, [](PlayOptions& o) { o.repairs = 6; });
  with("recovery resets repairs", {5}, [](PlayOptions& o) { o.forget_repairs = true; });
  with("three infrastructure retries", {6}, [](PlayOptions& o) { o.infrastructure_retries = 3; });
  with("request read once and remembered", {13, 14, 15}, [](PlayOptions& o) { o.planted.stale_reads = true; });
  with("siblings not listed", {24}, [](PlayOptions& o) { o.planted.partial_owned = true; });
  with("capacity pass never goes stale", {2}, [](PlayOptions& o) { o.capacity_never_stale = true; });
  all.push_back(with_table("label kept on push", {8}, [](Table& t) {
    for (Transition& row : t) {
      if (control::ending(row.from)) continue;
      std::erase_if(row.commands, [](const Step& step) { return step.kind == CommandKind::kRemoveLabel; });
    }
  }));
  all.push_back(with_table("label kept at the end", {12}, [](Table& t) {
    without(t, CommandKind::kRemoveLabel);
    rewrite(t, State::kFinalRunning, EventKind::kRunFailed, [](Transition& row) {
      if (row.to == State::kDiagnosing) row.commands.insert(row.commands.begin(), CommandKind::kRemoveLabel);
    });
  }));
  all.push_back(with_table("no capacity check before the label", {2, 26}, [](Table& t) {
    rewrite(t, State::kFinalPreflight, EventKind::kGatePassed, [](Transition& row) {
      row.to = State::kFinalDispatching;
      row.commands = {CommandKind::kAddLabel, CommandKind::kDispatchFinal};
    });
  }));
  all.push_back(with_table("closed before the runs have ended", {11, 13}, [](Table& t) {
    rewrite(t, State::kStopping, EventKind::kReceiptPosted, [](Transition& row) {
      row.to = State::kClosing;
      row.commands = {CommandKind::kRemoveLabel, CommandKind::kCloseRequest, CommandKind::kDeleteBranch};
    });
  }));
  all.push_back(with_table("validated without evidence", {10, 9}, [](Table& t) {
    rewrite(t, State::kFinalRunning, EventKind::kRunSucceeded, [](Transition& row) {
      row.to = State::kPublishing;
      row.commands = {CommandKind::kPublishReport};
    });
  }));
  all.push_back(with_table("ready before the sweep", {7, 10}, [](Table& t) {
    rewrite(t, State::kFinalGate, EventKind::kCapacityPassed, [](Transition& row) { row.commands.insert(row.commands.begin(), CommandKind::kMarkReady); });
  }));
  all.push_back(with_table("baseline not frozen", {2}, [](Table& t) {
    rewrite(t, State::kCrDraft, EventKind::kCrOpened, [](Transition& row) {
      row.to = State::kSmokeGate;
      row.commands = {CommandKind::kCheckCapacity};
    });
  }));
  all.push_back(with_table("claim not released", {22}, [](Table& t) { without(t, CommandKind::kReleaseClaim); }));
  return all;
}

std::vector<PlantedFault> make_swaps() {
  std::vector<PlantedFault> all;
  all.push_back(with_table("label off ↔ main's bytes", {8}, [](Table& t) {
    for (Transition& row : t) {
      const auto off = std::ranges::find(row.commands, CommandKind::kRemoveLabel, &Step::kind);
      const auto append = std::ranges::find(row.commands, CommandKind::kAppendChangelog, &Step::kind);
      if (off != row.commands.end() && append != row.commands.end()) std::iter_swap(off, append);
    }
    // Where the label is taken off one state earlier, the push comes first too.
    for (Transition& row : t) {
      if (row.from == State::kFinalRunning && row.to == State::kDiagnosing)
        std::erase_if(row.commands, [](const Step& s) { return s.kind == CommandKind::kRemoveLabel; });
      if (row.from == State::kChangelog && row.on == EventKind::kGatePassed) row.commands.insert(row.commands.begin(), CommandKind::kRemoveLabel);
    }
  }));
  all.push_back(with_table("main's bytes ↔ proofs", {20, 26, 25}, [](Table& t) {
    // The proofs are made first, and what they prove is not what is pushed then.
    rewrite(t, State::kChangelog, EventKind::kGatePassed, [](Transition& row) {
      row.to = State::kFinalGate;
      row.commands = {CommandKind::kCheckCapacity};
    });
    rewrite(t, State::kDiagnosing, EventKind::kMaintenance, [](Transition& row) {
      if (row.to == State::kChangelog) row.commands = {CommandKind::kAppendChangelog};
    });
  }));
  all.push_back(with_table("proofs ↔ capacity", {26}, [](Table& t) {
    rewrite(t, State::kChangelog, EventKind::kGatePassed, [](Transition& row) {
      row.to = State::kFinalGate;
      row.commands = {CommandKind::kCheckCapacity};
    });
    rewrite(t, State::kFinalGate, EventKind::kCapacityPassed, [](Transition& row) {
      row.to = State::kFinalPreflight;
      row.commands = {CommandKind::kCheckFinal};
    });
    rewrite(t, State::kFinalPreflight, EventKind::kGatePassed, [](Transition& row) {
      row.to = State::kFinalDispatching;
      row.commands = {CommandKind::kAddLabel, CommandKind::kDispatchFinal};
    });
  }));
  all.push_back(with_table("capacity ↔ label on", {2, 26}, [](Table& t) {
    rewrite(t, State::kFinalPreflight, EventKind::kGatePassed, [](Transition& row) { row.commands = {CommandKind::kAddLabel, CommandKind::kCheckCapacity}; });
    rewrite(t, State::kFinalGate, EventKind::kCapacityPassed, [](Transition& row) { row.commands = {CommandKind::kDispatchFinal}; });
  }));
  return all;
}

}  // namespace

const std::vector<PlantedFault>& planted_faults() {
  static const std::vector<PlantedFault> all = make_faults();
  return all;
}

const std::vector<PlantedFault>& swapped_maintenance() {
  static const std::vector<PlantedFault> all = make_swaps();
  return all;
}

}  // namespace pawl::sim
