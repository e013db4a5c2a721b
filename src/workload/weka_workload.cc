#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codec/json.h"
#include "workload/internal/blocks.h"
#include "workload/internal/row_numbers.h"
#include "workload/rows.h"
#include "workload/trace_workload.h"

namespace pawl::workload {
namespace {

using codec::Json;

constexpr std::int64_t kBlock = 64;
constexpr int kDeepest = 16;  ///< sub-agents of sub-agents
constexpr std::uint64_t kWarmupStream = 0x5741524D55505F31ull;

struct Node {
  std::uint64_t scope = 0;  ///< of its block ids
  std::uint32_t first_block = 0, blocks = 0;
  std::int32_t input = 0, output = 0;
  float think_s = 0;
  std::vector<std::uint32_t> parents;  ///< places within the session
};

struct Tree {
  std::vector<Node> nodes;  ///< parents before children
};

/// Reads one row into a tree.
class TreeReader {
 public:
  TreeReader(const TraceOptions& options, std::vector<std::uint32_t>& blocks) : options_(options), blocks_(blocks) {}

  /// The reason to drop the row; empty: none.
  std::string read(const Json& row, std::uint64_t number, Tree& out) {
    tree_ = &out;
    const auto scope = row.is_object() ? row.find("hash_id_scope") : row.end();
    scope_ = scope != row.end() && scope->is_string() && *scope == "global" ? 0 : number + 1;
    const std::size_t kept = blocks_.size();
    std::vector<std::uint32_t> tails;
    std::string reason = requests(row, 0, tails);
    if (reason.empty() && out.nodes.empty()) reason = "empty";
    if (!reason.empty()) blocks_.resize(kept);
    return reason;
  }

 private:
  /// One conversation. `tails`: what its first request waits for; afterwards its last request.
  std::string requests(const Json& json, int depth, std::vector<std::uint32_t>& tails) {
    const auto list = json.is_object() ? json.find("requests") : json.end();
    if (list == json.end() || !list->is_array() || depth > kDeepest) return "malformed";
    std::vector<std::uint32_t> open = tails;  // the request before, and the sub-agents since
    std::optional<double> free_at;            // when the recording had the answer before this one
    for (const Json& item : *list) {
      const auto kind = item.is_object() ? item.find("type") : item.end();
      if (kind == item.end() || !kind->is_string()) return "malformed";
      if (*kind == "subagent") {
        // It begins with what the request before it asked for; the next request waits for it too.
        std::vector<std::uint32_t> ends = open;
        if (std::string reason = requests(item, depth + 1, ends); !reason.empty()) return reason;
        for (const std::uint32_t end : ends) {
          if (std::ranges::find(open, end) == open.end()) open.push_back(end);
        }
        continue;
      }
      Node node;
      node.scope = scope_;
      if (std::string reason = lengths(item, node); !reason.empty()) return reason;
      const double t = number_at(item, "t").value_or(0);
      if (const auto think = number_at(item, "think_time")) {
        node.think_s = static_cast<float>(std::clamp(*think, 0.0, options_.idle_cap_s));
      } else if (free_at) {
        node.think_s = static_cast<float>(std::clamp(t - *free_at, 0.0, options_.idle_cap_s));
      }
      node.think_s = static_cast<float>(node.think_s / options_.speed);
      free_at = t + std::max(0.0, number_at(item, "api_time").value_or(0));
      node.parents = open;
      open = {static_cast<std::uint32_t>(tree_->nodes.size())};
      tree_->nodes.push_back(std::move(node));
    }
    tails = open;
    return {};
  }

  std::string lengths(const Json& item, Node& node) {
    node.first_block = static_cast<std::uint32_t>(blocks_.size());
    if (item.contains("hash_ids") && !add_blocks(item, blocks_)) return "malformed";
    node.blocks = static_cast<std::uint32_t>(blocks_.size()) - node.first_block;
    const auto input = item.contains("in") ? integer_at(item, "in") : std::optional<std::int64_t>(kBlock * node.blocks);
    const auto output = integer_at(item, "out");
    if (!input || !output || *input > kLongestRow || *output > kLongestRow) return "malformed";
    if (*input < 1 || *output < 1) return "empty";
    if (options_.max_input > 0 && *input > options_.max_input) return "input_long";
    node.input = static_cast<std::int32_t>(*input);
    node.output = static_cast<std::int32_t>(*output);
    return {};
  }

  const TraceOptions& options_;
  std::vector<std::uint32_t>& blocks_;
  Tree* tree_ = nullptr;
  std::uint64_t scope_ = 0;
};

class WekaWorkload final : public Workload {
 public:
  WekaWorkload(const TraceOptions& options, std::vector<Tree> trees, std::vector<std::uint32_t> blocks, std::shared_ptr<const Filler> filler, Description read)
      : options_(options),
        trees_(std::move(trees)),
        ids_(std::move(blocks)),
        blocks_(filler, kBlock, options.seed, options.salt),
        filler_(filler),
        description_(std::move(read)) {
    starts_.push_back(0);
    for (const Tree& tree : trees_) starts_.push_back(starts_.back() + static_cast<std::int64_t>(tree.nodes.size()));
    sessions_ = options.requests > 0 ? options.requests : static_cast<std::int64_t>(trees_.size());
    HitCounter hits(kBlock);
    double input = 0, output = 0, n = 0;
    for (std::size_t s = 0; s < std::min(trees_.size(), static_cast<std::size_t>(sessions_)); ++s) {
      for (const Node& node : trees_[s].nodes) {
        hits.add(node.scope, ids_of(node), node.input);
        input += node.input;
        output += node.output;
        ++n;
      }
    }
    description_.mean_isl = input / n;
    description_.mean_osl = output / n;
    description_.predicted_hit_ratio = hits.ratio();
    description_.block_tokens = kBlock;
    description_.sessions = sessions_;
    description_.repeats = std::max<std::int64_t>(0, sessions_ - static_cast<std::int64_t>(trees_.size()));
    if (description_.repeats > 0) description_.notes.emplace_back("the hit ratio is that of the first round; each round has content of its own");
  }

  std::optional<std::int64_t> size() const override { return session(sessions_ - 1).first + session(sessions_ - 1).count; }
  std::optional<std::int64_t> sessions() const override { return sessions_; }
  SessionSpan session(std::int64_t number) const override {
    const auto trees = static_cast<std::int64_t>(trees_.size());
    const auto at = static_cast<std::size_t>(number % trees);
    return {number / trees * starts_.back() + starts_[at], starts_[at + 1] - starts_[at]};
  }

  Prompt prompt(std::int64_t index) const override {
    const std::int64_t round = index / starts_.back(), within = index % starts_.back();
    const auto tree = static_cast<std::size_t>(std::ranges::upper_bound(starts_, within) - starts_.begin() - 1);
    const std::int64_t first = index - (within - starts_[tree]);
    const Node& node = trees_[tree].nodes[static_cast<std::size_t>(within - starts_[tree])];
    Prompt out;
    out.session = round * static_cast<std::int64_t>(trees_.size()) + static_cast<std::int64_t>(tree);
    out.turn = index - first;
    for (const std::uint32_t parent : node.parents) out.parents.push_back(first + parent);
    out.think_time = Nanos(std::llround(static_cast<double>(node.think_s) * 1e9));
    out.osl = node.output;
    // A repeated session is a play of its own: it must not find the cache of the play before.
    const std::uint64_t scope = node.scope + (static_cast<std::uint64_t>(round) << 40);
    blocks_.fill(options_.form, scope, ids_of(node), node.input, static_cast<std::uint64_t>(index), out);
    return out;
  }

  Prompt warmup(std::int64_t index) const override {
    const Prompt like = prompt(index % starts_.back());
    Prompt out;
    out.session = index;
    out.osl = like.osl;
    SplitMix64 random = generator_at(static_cast<std::uint64_t>(options_.seed), kWarmupStream ^ options_.salt, index);
    filler_->fill(options_.form, random, like.asked_isl, out);
    return out;
  }

  Description describe() const override { return description_; }

 private:
  std::span<const std::uint32_t> ids_of(const Node& node) const { return std::span(ids_).subspan(node.first_block, node.blocks); }

  TraceOptions options_;
  std::vector<Tree> trees_;
  std::vector<std::uint32_t> ids_;
  Blocks blocks_;
  std::shared_ptr<const Filler> filler_;
  std::vector<std::int64_t> starts_;  ///< index of the first request of each session of a round, and one past the last
  std::int64_t sessions_ = 0;
  Description description_;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_weka_workload(const TraceOptions& options, std::string_view file) {
  if (!(std::isfinite(options.speed) && options.speed > 0)) return bad_input(fmt::format("speed {} is not above 0", options.speed));
  if (!(options.idle_cap_s >= 0)) return bad_input(fmt::format("longest pause {} s is below 0", options.idle_cap_s));
  PAWL_ASSIGN(const auto rows, split_rows(file, options.path));
  Description read;
  read.dataset = "weka";
  read.path = options.path;
  read.seed = options.seed;
  read.salt = options.salt;
  read.requests = options.requests;
  read.rows = static_cast<std::int64_t>(rows.size());
  std::vector<Tree> trees;
  std::vector<std::uint32_t> blocks;
  TreeReader reader(options, blocks);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto json = codec::parse_json(rows[i], options.path);
    Tree tree;
    const std::string reason = json ? reader.read(*json, i, tree) : "malformed";
    if (reason.empty()) {
      trees.push_back(std::move(tree));
    } else {
      ++read.dropped[reason];
    }
  }
  read.kept = static_cast<std::int64_t>(trees.size());
  PAWL_TRY(check_usable(options.path, *read.kept, options.requests, options.repeat, read.dropped));
  PAWL_ASSIGN(auto filler, Filler::make(options.tokenizer, options.vocabulary));
  read.tokenizer = filler->tokenizer_name();
  return std::unique_ptr<Workload>(std::make_unique<WekaWorkload>(options, std::move(trees), std::move(blocks), std::move(filler), std::move(read)));
}

}  // namespace pawl::workload
