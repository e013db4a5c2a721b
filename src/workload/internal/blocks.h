#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>

#include "workload/filler.h"

namespace pawl::workload {

/// Content by block id: the same id under the same seed and salt is the same block.
class Blocks {
 public:
  Blocks(std::shared_ptr<const Filler> filler, std::int64_t block_tokens, std::int64_t seed, std::uint64_t salt)
      : filler_(std::move(filler)), block_tokens_(block_tokens), seed_(seed), salt_(salt) {}

  /// Makes `tokens` tokens of the blocks `ids` in `scope`. Where there are more tokens than blocks the rest is made for
  /// `rest`, a number of its own for each request.
  void fill(Form form, std::uint64_t scope, std::span<const std::uint32_t> ids, std::int64_t tokens, std::uint64_t rest, Prompt& prompt) const;

  [[nodiscard]] const Filler& filler() const { return *filler_; }

 private:
  std::shared_ptr<const Filler> filler_;
  std::int64_t block_tokens_ = 512, seed_ = 0;
  std::uint64_t salt_ = 0;
};

/// What an infinite cache of whole blocks would hold (BC-10.7), fed with requests in their order.
class HitCounter {
 public:
  explicit HitCounter(std::int64_t block_tokens) : block_tokens_(block_tokens) {}
  void add(std::uint64_t scope, std::span<const std::uint32_t> ids, std::int64_t tokens);
  [[nodiscard]] double ratio() const { return input_ == 0 ? 0 : static_cast<double>(hits_) / static_cast<double>(input_); }

 private:
  std::int64_t block_tokens_ = 512, hits_ = 0, input_ = 0;
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace pawl::workload
