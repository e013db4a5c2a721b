#include "workload/prefix_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workload/filler.h"

namespace pawl::workload {
namespace {

constexpr std::int64_t kMostLeaves = 10'000'000;
constexpr std::int64_t kLongest = 100'000'000;
constexpr std::uint64_t kNodeStream = 0x505245464958ull;
constexpr std::uint64_t kOwnStream = 0x4F574Eull;
constexpr std::uint64_t kWarmupStream = 0x5741524D55505F31ull;

class PrefixTree final : public Workload {
 public:
  PrefixTree(const PrefixTreeOptions& options, std::shared_ptr<const Filler> filler) : options_(options), filler_(std::move(filler)) {
    for (const PrefixLevel& level : options_.levels) {
      leaves_ *= level.branches;
      shared_ += level.tokens;
    }
  }

  Prompt prompt(std::int64_t index) const override { return make(0, index); }
  Prompt warmup(std::int64_t index) const override { return make(kWarmupStream, index); }

  Description describe() const override {
    Description out;
    out.dataset = "prefix-tree";
    out.tokenizer = filler_->tokenizer_name();
    out.seed = options_.seed;
    out.salt = options_.salt;
    out.requests = options_.requests;
    out.mean_isl = static_cast<double>(shared_ + options_.own_tokens);
    out.mean_osl = static_cast<double>(options_.osl);
    out.block_tokens = options_.block_tokens;
    out.predicted_hit_ratio = hit_ratio();
    if (options_.form != Form::kIds && !filler_->additive()) {
      out.notes.emplace_back(filler_->tokenizer() == nullptr ? "without a tokenizer lengths are words, and the hit ratio is an estimate"
                                                             : "words of this tokenizer do not add up: prefixes of text are not aligned to its tokens");
    }
    return out;
  }

 private:
  Prompt make(std::uint64_t stream, std::int64_t index) const {
    const auto seed = static_cast<std::uint64_t>(options_.seed);
    Prompt out;
    out.session = index;
    out.osl = options_.osl;
    out.asked_isl = out.isl = shared_ + options_.own_tokens;
    out.input_exact = options_.form == Form::kIds;
    std::string text;
    const auto add = [&](SplitMix64 random, std::int64_t tokens) {
      if (options_.form == Form::kIds) {
        filler_->add_ids(random, tokens, out.ids);
      } else {
        filler_->add_words(random, tokens, text);
      }
    };
    // The leaf's digits in the mixed base of the branches, root first, are its path.
    std::int64_t below = leaves_, place = index % leaves_, path = 0;
    for (std::size_t i = 0; i < options_.levels.size(); ++i) {
      const PrefixLevel& level = options_.levels[i];
      below /= level.branches;
      path = path * level.branches + place / below % level.branches;
      add(generator_at(seed, kNodeStream ^ options_.salt ^ stream ^ (static_cast<std::uint64_t>(i) << 48), path), level.tokens);
    }
    add(generator_at(seed, kOwnStream ^ options_.salt ^ stream, index), options_.own_tokens);
    if (options_.form == Form::kText) out.text = std::move(text);
    if (options_.form == Form::kMessages) out.messages.push_back({"user", std::move(text)});
    if (options_.form != Form::kIds && filler_->tokenizer() != nullptr && !filler_->additive()) {
      out.isl = filler_->count(out.text.empty() ? out.messages[0].content : out.text).value_or(out.isl);
    }
    return out;
  }

  /// Of n requests, the cached tokens of one are the whole blocks up to the deepest level that an earlier one visited.
  /// A node at which `below` leaves hang is visited first by the request of its first leaf, in the first round.
  double hit_ratio() const {
    const std::int64_t input = shared_ + options_.own_tokens, block = options_.block_tokens;
    const auto whole = [block](std::int64_t tokens) { return tokens / block * block; };
    if (options_.requests == 0) return static_cast<double>(whole(shared_)) / static_cast<double>(input);
    const std::int64_t first_round = std::min(options_.requests, leaves_);
    double hits = static_cast<double>(options_.requests - first_round) * static_cast<double>(whole(shared_));
    // In the first round, leaf i shares with an earlier leaf the levels above the first new one.
    std::int64_t below = leaves_, depth = 0, above = 0;
    for (const PrefixLevel& level : options_.levels) {
      below /= level.branches;
      // Requests whose first new node is on this level: first leaves of its nodes that are not first leaves of a node above.
      const std::int64_t visited = (first_round + below - 1) / below;
      hits += static_cast<double>(visited - above) * static_cast<double>(whole(depth));
      above = visited;
      depth += level.tokens;
    }
    return hits / (static_cast<double>(options_.requests) * static_cast<double>(input));
  }

  PrefixTreeOptions options_;
  std::shared_ptr<const Filler> filler_;
  std::int64_t leaves_ = 1, shared_ = 0;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_prefix_tree(const PrefixTreeOptions& options) {
  if (options.levels.empty()) return bad_input("a prefix tree without levels", "give them as BRANCHESxTOKENS, root first, such as 1x1024,8x512");
  std::int64_t leaves = 1, tokens = options.own_tokens;
  for (const PrefixLevel& level : options.levels) {
    if (level.branches < 1 || level.tokens < 1 || level.tokens > kLongest) {
      return bad_input(fmt::format("prefix level {}x{}: at least one branch and one token", level.branches, level.tokens));
    }
    if (level.branches > kMostLeaves / leaves) return bad_input(fmt::format("a prefix tree of more than {} leaves", kMostLeaves));
    leaves *= level.branches;
    tokens += level.tokens;
  }
  if (options.own_tokens < 1 || options.osl < 1 || tokens > kLongest)
    return bad_input(fmt::format("{} tokens of its own and {} output tokens: at least 1 each", options.own_tokens, options.osl));
  if (options.block_tokens < 1) return bad_input(fmt::format("blocks of {} tokens", options.block_tokens));
  PAWL_ASSIGN(auto filler, Filler::make(options.tokenizer, options.vocabulary));
  return std::unique_ptr<Workload>(std::make_unique<PrefixTree>(options, std::move(filler)));
}

Result<std::vector<PrefixLevel>> levels_for_ratio(double ratio, std::int64_t groups, std::int64_t requests, std::int64_t isl, std::int64_t block_tokens) {
  if (groups < 1 || requests <= groups || block_tokens < 1 || isl <= block_tokens) {
    return bad_input(fmt::format("a hit ratio with {} groups, {} requests, {} input tokens and blocks of {}", groups, requests, isl, block_tokens),
                     "there must be more requests than groups, and an input longer than a block");
  }
  // Hits: requests − groups times the prefix.
  const auto hitting = static_cast<double>(requests - groups), total = static_cast<double>(requests) * static_cast<double>(isl);
  const auto blocks = std::llround(ratio * total / hitting / static_cast<double>(block_tokens));
  const std::int64_t most = (isl - 1) / block_tokens;
  if (!(ratio > 0 && ratio < 1) || blocks < 1 || blocks > most) {
    return bad_input(fmt::format("hit ratio {}: between {:.4f} and {:.4f} can be reached here", ratio, hitting * static_cast<double>(block_tokens) / total,
                                 hitting * static_cast<double>(most * block_tokens) / total),
                     "use fewer groups, more requests or longer prompts");
  }
  return std::vector<PrefixLevel>{{groups, blocks * block_tokens}};
}

}  // namespace pawl::workload
