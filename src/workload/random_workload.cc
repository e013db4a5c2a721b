#include "workload/random_workload.h"

#include <algorithm>

#include "workload/filler.h"
#include "workload/split_mix.h"

namespace pawl::workload {
namespace {

constexpr std::uint64_t kWarmupStream = 0x5741524D55505F31ull;

class RandomWorkload final : public Workload {
 public:
  RandomWorkload(const RandomOptions& options, const LengthRanges& ranges, std::shared_ptr<const Filler> filler)
      : options_(options), ranges_(ranges), filler_(std::move(filler)) {}

  Prompt prompt(std::int64_t index) const override { return make(0, index); }
  Prompt warmup(std::int64_t index) const override { return make(kWarmupStream, index); }

  Description describe() const override {
    Description out;
    out.dataset = "random";
    out.seed = options_.seed;
    out.salt = options_.salt;
    out.mean_isl = std::max(1.0, ranges_.input.mean() - static_cast<double>(ranges_.removed));
    out.mean_osl = ranges_.output.mean();
    out.tokenizer = filler_->tokenizer_name();
    out.predicted_hit_ratio = 0;
    return out;
  }

 private:
  Prompt make(std::uint64_t stream, std::int64_t index) const {
    SplitMix64 random = generator_at(static_cast<std::uint64_t>(options_.seed), stream ^ options_.salt, index);
    Prompt out;
    out.session = index;
    const auto drawn = [&random](const LengthRange& range) {
      const std::int64_t low = std::max<std::int64_t>(1, range.low);
      return random.between(low, std::max(low, range.high));
    };
    const std::int64_t input = std::max<std::int64_t>(1, drawn(ranges_.input) - ranges_.removed);
    out.osl = drawn(ranges_.output);
    filler_->fill(options_.form, random, input, out);
    return out;
  }

  RandomOptions options_;
  LengthRanges ranges_;
  std::shared_ptr<const Filler> filler_;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_random_workload(const RandomOptions& options) {
  PAWL_ASSIGN(const LengthRanges ranges, length_ranges(options.lengths));
  PAWL_ASSIGN(auto filler, Filler::make(options.tokenizer, options.vocabulary));
  return std::unique_ptr<Workload>(std::make_unique<RandomWorkload>(options, ranges, std::move(filler)));
}

}  // namespace pawl::workload
