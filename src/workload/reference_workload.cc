#include "workload/reference_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/mersenne_twister.hpp>

#include "workload/lengths.h"
#include "workload/split_mix.h"

namespace pawl::workload {
namespace {

constexpr std::int64_t kMostRequests = 10'000'000;
constexpr int kRounds = 10;
constexpr std::uint64_t kPadding = 0x52454650414444ull;

/// NumPy's legacy generator and its bounded integers: the range is covered with a mask of ones, and what falls outside
/// is drawn again. A range of one value draws nothing.
class LegacyDraws {
 public:
  explicit LegacyDraws(std::uint32_t seed) : twister_(seed) {}
  /// Uniform over [low, high], both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const auto range = static_cast<std::uint32_t>(high - low);
    if (range == 0) return low;
    std::uint32_t mask = range;
    for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    std::uint32_t value = 0;
    do value = static_cast<std::uint32_t>(twister_()) & mask;
    while (value > range);
    return low + value;
  }

 private:
  boost::random::mt19937 twister_;
};

class ReferenceWorkload final : public Workload {
 public:
  ReferenceWorkload(const ReferenceOptions& options, ReferenceDraws draws) : options_(options), draws_(std::move(draws)) {}

  std::optional<std::int64_t> size() const override { return options_.requests; }
  Prompt warmup(std::int64_t) const override { return prompt(0); }

  Prompt prompt(std::int64_t index) const override {
    const auto at = static_cast<std::size_t>(index);
    const tokenizer::Tokenizer& vocabulary = *options_.tokenizer;
    const auto wanted = static_cast<std::size_t>(draws_.inputs[at]);
    SplitMix64 padding = generator_at(static_cast<std::uint64_t>(options_.seed), kPadding, index);
    std::vector<std::int32_t> ids(wanted);
    for (std::size_t j = 0; j < wanted; ++j) {
      ids[j] = static_cast<std::int32_t>((draws_.offsets[at] + index + static_cast<std::int64_t>(j)) % vocabulary.vocab_size());
    }
    const auto encoder = vocabulary.encoder();
    std::string text;
    for (int round = 0; round <= kRounds; ++round) {
      auto decoded = vocabulary.decode(ids);
      if (!decoded) break;
      text = std::move(*decoded);
      ids.clear();
      if (!encoder->encode(text, ids) || ids.size() == wanted || round == kRounds) break;
      while (ids.size() < wanted) ids.push_back(static_cast<std::int32_t>(padding.between(0, vocabulary.vocab_size() - 1)));
      ids.resize(wanted);
    }
    Prompt out;
    out.session = index;
    out.asked_isl = draws_.inputs[at];
    out.isl = static_cast<std::int64_t>(ids.size()) + options_.template_tokens;
    out.osl = std::max<std::int64_t>(1, draws_.outputs[at]);
    if (options_.form == Form::kMessages) {
      out.messages.push_back({"user", std::move(text)});
    } else {
      out.text = std::move(text);
    }
    return out;
  }

  Description describe() const override {
    Description out;
    out.dataset = "reference";
    out.tokenizer = options_.tokenizer->name();
    out.seed = options_.seed;
    out.requests = options_.requests;
    const auto mean = [](const std::vector<std::int64_t>& values) {
      double sum = 0;
      for (const std::int64_t value : values) sum += static_cast<double>(value);
      return sum / static_cast<double>(values.size());
    };
    out.mean_isl = mean(draws_.inputs) + static_cast<double>(options_.template_tokens);
    out.mean_osl = mean(draws_.outputs);
    out.notes.emplace_back("warm-ups are copies of the first measured prompt: with prefix caching that one is a hit");
    out.notes.emplace_back("padding depends on seed and index, not on the host's cores as in the reference");
    return out;
  }

 private:
  ReferenceOptions options_;
  ReferenceDraws draws_;
};

}  // namespace

ReferenceDraws reference_draws(std::int64_t seed, std::int64_t n, std::int64_t isl, std::int64_t osl, double ratio, std::int64_t vocabulary) {
  LegacyDraws draws(static_cast<std::uint32_t>(seed));
  const auto vector_of = [&](std::int64_t low, std::int64_t high) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(n));
    for (std::int64_t& value : out) value = draws.between(low, high);
    return out;
  };
  ReferenceDraws out;
  out.inputs = vector_of(static_cast<std::int64_t>(static_cast<double>(isl) * ratio), isl);
  out.outputs = vector_of(static_cast<std::int64_t>(static_cast<double>(osl) * ratio), osl);
  out.offsets = vector_of(0, vocabulary - 1);
  return out;
}

Result<std::unique_ptr<Workload>> make_reference_workload(const ReferenceOptions& options) {
  if (!options.tokenizer) return bad_input("the reference's data set is text of a tokenizer", "give the tokenizer.json of the model");
  if (options.form == Form::kIds) return bad_input("the reference sends its prompts as text", "choose text or a chat back end");
  if (options.requests < 1 || options.requests > kMostRequests) return bad_input(fmt::format("{} requests: between 1 and {}", options.requests, kMostRequests));
  if (options.seed < 0 || options.seed > UINT32_MAX) return bad_input(fmt::format("seed {}: the reference's generator takes 0 to 4294967295", options.seed));
  PAWL_TRY(length_ranges({RangeProfile::kInferencex, options.isl, options.osl, options.ratio, options.template_tokens}));
  return std::unique_ptr<Workload>(std::make_unique<ReferenceWorkload>(
      options,
      reference_draws(options.seed, options.requests, options.isl - options.template_tokens, options.osl, options.ratio, options.tokenizer->vocab_size())));
}

}  // namespace pawl::workload
