#include "loadgen/session_run.h"

#include <algorithm>
#include <utility>

namespace pawl::loadgen {

SessionRun::SessionRun(std::int64_t unit, std::int64_t first, std::vector<workload::Prompt> prompts, std::size_t endpoint)
    : unit_(unit), first_(first), left_(prompts.size()), endpoint_(endpoint) {
  nodes_.reserve(prompts.size());
  for (workload::Prompt& prompt : prompts) {
    Node node;
    node.open_parents = static_cast<std::int64_t>(prompt.parents.size());
    node.prompt = std::move(prompt);
    nodes_.push_back(std::move(node));
  }
  for (const Node& node : nodes_) {
    if (node.prompt.continues && !node.prompt.parents.empty()) nodes_[static_cast<std::size_t>(node.prompt.parents.front() - first_)].reply_wanted = true;
  }
}

std::vector<SessionRun::Due> SessionRun::begin(MonoTime at) {
  last_end_ = at;
  std::vector<Due> out;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].open_parents > 0) continue;
    nodes_[i].state = State::kDue;
    out.push_back({i, at + nodes_[i].prompt.think_time});
  }
  return out;
}

void SessionRun::close(Node& node, MonoTime at) {
  if (node.state == State::kOver) return;
  node.state = State::kOver;
  --left_;
  last_end_ = std::max(last_end_, at);
}

std::vector<SessionRun::Due> SessionRun::ended(std::size_t node, MonoTime at, std::string reply) {
  nodes_[node].reply = std::move(reply);
  close(nodes_[node], at);
  std::vector<Due> out;
  const std::int64_t index = first_ + static_cast<std::int64_t>(node);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& child = nodes_[i];
    if (child.state != State::kWaiting || std::ranges::find(child.prompt.parents, index) == child.prompt.parents.end()) continue;
    child.parents_end = std::max(child.parents_end, at);
    if (--child.open_parents > 0) continue;
    child.state = State::kDue;
    out.push_back({i, child.parents_end + child.prompt.think_time});
  }
  return out;
}

std::vector<std::size_t> SessionRun::give_up() {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].state != State::kWaiting && nodes_[i].state != State::kDue) continue;
    close(nodes_[i], last_end_);
    out.push_back(i);
  }
  return out;
}

std::vector<std::size_t> SessionRun::failed(std::size_t node, MonoTime at) {
  close(nodes_[node], at);
  return give_up();
}

std::vector<workload::Message> SessionRun::conversation(std::size_t node) const {
  std::vector<std::size_t> chain{node};  // from the node back to where the conversation began
  while (nodes_[chain.back()].prompt.continues && !nodes_[chain.back()].prompt.parents.empty()) {
    chain.push_back(static_cast<std::size_t>(nodes_[chain.back()].prompt.parents.front() - first_));
  }
  std::vector<workload::Message> out;
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
    const workload::Prompt& prompt = nodes_[*at].prompt;
    if (prompt.messages.empty() && !prompt.text.empty()) out.push_back({"user", prompt.text});
    out.insert(out.end(), prompt.messages.begin(), prompt.messages.end());
    if (*at != node) out.push_back({"assistant", nodes_[*at].reply});
  }
  return out;
}

}  // namespace pawl::loadgen
