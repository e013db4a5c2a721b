#include "workload/internal/blocks.h"

#include <algorithm>

namespace pawl::workload {
namespace {

constexpr std::uint64_t kBlockStream = 0x424C4F434B53ull;
constexpr std::uint64_t kRestStream = 0x52455354ull;

}  // namespace

void Blocks::fill(Form form, std::uint64_t scope, std::span<const std::uint32_t> ids, std::int64_t tokens, std::uint64_t rest, Prompt& prompt) const {
  prompt.asked_isl = prompt.isl = tokens;
  prompt.input_exact = form == Form::kIds;
  std::string text;
  std::int64_t left = tokens;
  const auto add = [&](SplitMix64 random, std::int64_t count) {
    if (form == Form::kIds) {
      filler_->add_ids(random, count, prompt.ids);
    } else {
      filler_->add_words(random, count, text);
    }
    left -= count;
  };
  const auto seed = static_cast<std::uint64_t>(seed_);
  for (std::size_t i = 0; i < ids.size() && left > 0; ++i) {
    add(generator_at(seed, kBlockStream ^ salt_ ^ SplitMix64(scope).next(), ids[i]), std::min(left, block_tokens_));
  }
  if (left > 0) add(generator_at(seed, kRestStream ^ salt_, static_cast<std::int64_t>(rest)), left);
  if (form == Form::kIds) return;
  if (filler_->tokenizer() != nullptr && !filler_->additive()) prompt.isl = filler_->count(text).value_or(tokens);
  if (form == Form::kText) {
    prompt.text = std::move(text);
  } else {
    prompt.messages.push_back({"user", std::move(text)});
  }
}

void HitCounter::add(std::uint64_t scope, std::span<const std::uint32_t> ids, std::int64_t tokens) {
  input_ += tokens;
  // Whole blocks only: a partial one is not kept.
  const std::size_t whole = std::min(ids.size(), static_cast<std::size_t>(tokens / block_tokens_));
  bool leading = true;
  std::uint64_t chain = SplitMix64(scope).next();
  for (std::size_t i = 0; i < whole; ++i) {
    chain = SplitMix64(chain ^ ids[i]).next();
    const bool known = !seen_.insert(chain).second;
    leading = leading && known;
    if (leading) hits_ += block_tokens_;
  }
}

}  // namespace pawl::workload
