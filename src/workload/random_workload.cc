#include "workload/random_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "workload/split_mix.h"

namespace pawl::workload {
namespace {

/// Everyday words that the usual vocabularies hold as one token with the blank before it.
constexpr std::array<std::string_view, 64> kWords{
    "time",  "year", "people", "way",   "day",  "man",  "thing", "woman", "life", "child", "world", "school", "state",  "family", "student", "group",
    "hand",  "part", "place",  "case",  "week", "work", "night", "point", "home", "water", "room",  "mother", "area",   "money",  "story",   "fact",
    "month", "lot",  "right",  "study", "book", "eye",  "job",   "word",  "side", "kind",  "head",  "house",  "friend", "father", "power",   "hour",
    "game",  "line", "end",    "law",   "car",  "city", "name",  "team",  "idea", "body",  "back",  "face",   "level",  "office", "door",    "health"};

/// The first token ids of a vocabulary are special or single bytes.
constexpr std::int64_t kFirstToken = 100;
constexpr std::uint64_t kWarmupStream = 0x5741524D55505F31ull;

class RandomWorkload final : public Workload {
 public:
  RandomWorkload(const RandomOptions& options, const LengthRanges& ranges) : options_(options), ranges_(ranges) {}

  Prompt prompt(std::int64_t index) const override { return make(0, index); }
  Prompt warmup(std::int64_t index) const override { return make(kWarmupStream, index); }

  Description describe() const override {
    Description out;
    out.dataset = "random";
    out.seed = options_.seed;
    out.salt = options_.salt;
    out.mean_isl = std::max(1.0, ranges_.input.mean() - static_cast<double>(ranges_.removed));
    out.mean_osl = ranges_.output.mean();
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
    out.asked_isl = std::max<std::int64_t>(1, drawn(ranges_.input) - ranges_.removed);
    out.isl = out.asked_isl;
    out.osl = drawn(ranges_.output);
    if (options_.form == Form::kIds) {
      out.input_exact = true;
      out.ids.resize(static_cast<std::size_t>(out.isl));
      for (std::int32_t& id : out.ids) id = static_cast<std::int32_t>(random.between(kFirstToken, options_.vocabulary - 1));
      return out;
    }
    std::string text;
    text.reserve(static_cast<std::size_t>(out.isl) * 7);
    for (std::int64_t i = 0; i < out.isl; ++i) {
      if (i > 0) text += ' ';
      text += kWords[random.next() % kWords.size()];
    }
    if (options_.form == Form::kText) {
      out.text = std::move(text);
    } else {
      out.messages.push_back({"user", std::move(text)});
    }
    return out;
  }

  RandomOptions options_;
  LengthRanges ranges_;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_random_workload(const RandomOptions& options) {
  PAWL_ASSIGN(const LengthRanges ranges, length_ranges(options.lengths));
  if (options.vocabulary <= kFirstToken || options.vocabulary > INT32_MAX) {
    return bad_input(fmt::format("a vocabulary of {} tokens has none to draw from", options.vocabulary), fmt::format("more than {} are needed", kFirstToken));
  }
  return std::unique_ptr<Workload>(std::make_unique<RandomWorkload>(options, ranges));
}

}  // namespace pawl::workload
