#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "workload/workload.h"

namespace pawl::loadgen {

/// One conversation or tree of dependent requests on its way (BC-9.12, BC-9.13): which of its requests may go next, and
/// when. No clock, no socket.
class SessionRun {
 public:
  /// `prompts`: all of the session, parents before children, their `parents` being indexes from `first` on.
  SessionRun(std::int64_t unit, std::int64_t first, std::vector<workload::Prompt> prompts, std::size_t endpoint);

  struct Due {
    std::size_t node;
    MonoTime ready;
  };
  /// The nodes without parents, ready at `at`.
  std::vector<Due> begin(MonoTime at);
  /// A request ended well at `at`, with this live reply. Gives the nodes that it was the last to hold back.
  std::vector<Due> ended(std::size_t node, MonoTime at, std::string reply);
  /// A request failed: everything not yet sent is skipped (BC-9.12). Gives those nodes, once.
  std::vector<std::size_t> failed(std::size_t node, MonoTime at);
  /// Nothing more will be started: the run ends. Gives the nodes that were never sent.
  std::vector<std::size_t> give_up();

  /// The whole conversation that a node sends: of one that continues, its parent's and the live reply first.
  [[nodiscard]] std::vector<workload::Message> conversation(std::size_t node) const;
  [[nodiscard]] const workload::Prompt& prompt(std::size_t node) const { return nodes_[node].prompt; }
  [[nodiscard]] bool needs_reply(std::size_t node) const { return nodes_[node].reply_wanted; }
  [[nodiscard]] bool is_due(std::size_t node) const { return nodes_[node].state == State::kDue; }
  void started(std::size_t node) { nodes_[node].state = State::kSent; }
  /// All of it is over.
  [[nodiscard]] bool over() const { return left_ == 0; }
  [[nodiscard]] MonoTime last_end() const { return last_end_; }
  [[nodiscard]] std::int64_t first() const { return first_; }
  [[nodiscard]] std::int64_t unit() const { return unit_; }
  [[nodiscard]] std::size_t endpoint() const { return endpoint_; }

 private:
  enum class State { kWaiting, kDue, kSent, kOver };
  struct Node {
    workload::Prompt prompt;
    State state = State::kWaiting;
    std::int64_t open_parents = 0;
    MonoTime parents_end;
    bool reply_wanted = false;
    std::string reply;
  };
  void close(Node& node, MonoTime at);

  std::int64_t unit_, first_;
  std::vector<Node> nodes_;
  std::size_t left_;
  MonoTime last_end_;
  std::size_t endpoint_;
};

}  // namespace pawl::loadgen
