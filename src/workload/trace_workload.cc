#include "workload/trace_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "codec/json.h"
#include "workload/internal/blocks.h"
#include "workload/internal/row_numbers.h"
#include "workload/rows.h"

namespace pawl::workload {
namespace {

constexpr std::int64_t kMooncakeBlock = 512;
constexpr std::uint64_t kWarmupStream = 0x5741524D55505F31ull;

/// One request of a trace; its blocks lie in a list of all rows.
struct Row {
  double time_s = 0;
  std::uint32_t first_block = 0, blocks = 0;
  std::int32_t input = 0, output = 0;
};

struct Trace {
  std::string dataset;
  std::optional<std::int64_t> block_tokens;
  std::vector<Row> rows;
  std::vector<std::uint32_t> blocks;
  std::map<std::string, std::int64_t> dropped;
  std::int64_t read = 0;  ///< rows of the file
};

class TraceWorkload final : public Workload {
 public:
  TraceWorkload(const TraceOptions& options, Trace trace, std::shared_ptr<const Filler> filler)
      : options_(options),
        trace_(std::move(trace)),
        blocks_(filler, trace_.block_tokens.value_or(kMooncakeBlock), options.seed, options.salt),
        filler_(filler) {
    requests_ = options.requests > 0 ? options.requests : static_cast<std::int64_t>(trace_.rows.size());
    // The next round begins one mean gap after the last request.
    const double span = trace_.rows.back().time_s - trace_.rows.front().time_s;
    round_s_ = trace_.rows.size() > 1 ? span * static_cast<double>(trace_.rows.size()) / static_cast<double>(trace_.rows.size() - 1) : 1;
    if (trace_.block_tokens) {
      HitCounter hits(*trace_.block_tokens);
      for (std::int64_t i = 0; i < std::min<std::int64_t>(requests_, 10'000'000); ++i) {
        const Row& row = row_of(i);
        hits.add(0, ids_of(row), row.input);
      }
      hit_ratio_ = hits.ratio();
    }
  }

  std::optional<std::int64_t> size() const override { return requests_; }
  bool has_arrivals() const override { return true; }

  Prompt prompt(std::int64_t index) const override {
    const Row& row = row_of(index);
    Prompt out;
    out.session = index;
    out.osl = row.output;
    const auto round = static_cast<double>(index / static_cast<std::int64_t>(trace_.rows.size()));
    const double at = (row.time_s - trace_.rows.front().time_s + round * round_s_) / options_.speed;
    out.arrival = Nanos(std::llround(at * 1e9));
    blocks_.fill(options_.form, 0, ids_of(row), row.input, static_cast<std::uint64_t>(index), out);
    return out;
  }

  Prompt warmup(std::int64_t index) const override {
    const Row& row = row_of(index);
    Prompt out;
    out.session = index;
    out.osl = row.output;
    SplitMix64 random = generator_at(static_cast<std::uint64_t>(options_.seed), kWarmupStream ^ options_.salt, index);
    filler_->fill(options_.form, random, row.input, out);
    return out;
  }

  Description describe() const override {
    Description out;
    out.dataset = trace_.dataset;
    out.path = options_.path;
    out.tokenizer = filler_->tokenizer_name();
    out.seed = options_.seed;
    out.salt = options_.salt;
    out.rows = trace_.read;
    out.kept = static_cast<std::int64_t>(trace_.rows.size());
    out.dropped = trace_.dropped;
    out.requests = requests_;
    out.repeats = std::max<std::int64_t>(0, requests_ - *out.kept);
    double input = 0, output = 0;
    const auto n = std::min<std::int64_t>(requests_, *out.kept);
    for (std::int64_t i = 0; i < n; ++i) {
      input += row_of(i).input;
      output += row_of(i).output;
    }
    out.mean_isl = input / static_cast<double>(n);
    out.mean_osl = output / static_cast<double>(n);
    out.predicted_hit_ratio = trace_.block_tokens ? hit_ratio_ : 0;
    out.block_tokens = trace_.block_tokens;
    if (options_.form != Form::kIds && filler_->tokenizer() != nullptr && !filler_->additive()) {
      out.notes.emplace_back("words of this tokenizer do not add up: blocks of text are not aligned to its tokens");
    }
    return out;
  }

 private:
  const Row& row_of(std::int64_t index) const { return trace_.rows[static_cast<std::size_t>(index) % trace_.rows.size()]; }
  std::span<const std::uint32_t> ids_of(const Row& row) const { return std::span(trace_.blocks).subspan(row.first_block, row.blocks); }

  TraceOptions options_;
  Trace trace_;
  Blocks blocks_;
  std::shared_ptr<const Filler> filler_;
  std::int64_t requests_ = 0;
  double round_s_ = 1, hit_ratio_ = 0;
};

Result<std::unique_ptr<Workload>> finish(const TraceOptions& options, Trace trace) {
  if (!(std::isfinite(options.speed) && options.speed > 0)) return bad_input(fmt::format("speed {} is not above 0", options.speed));
  std::ranges::stable_sort(trace.rows, {}, &Row::time_s);
  PAWL_TRY(check_usable(options.path, static_cast<std::int64_t>(trace.rows.size()), options.requests, options.repeat, trace.dropped));
  PAWL_ASSIGN(auto filler, Filler::make(options.tokenizer, options.vocabulary));
  return std::unique_ptr<Workload>(std::make_unique<TraceWorkload>(options, std::move(trace), std::move(filler)));
}

/// The reason to drop a row of these lengths; empty: none.
const char* bad_lengths(std::int64_t input, std::int64_t output, const TraceOptions& options) {
  if (input < 1 || output < 1) return "empty";
  if (input > kLongestRow || output > kLongestRow) return "malformed";
  if (options.max_input > 0 && input > options.max_input) return "input_long";
  return "";
}

/// "2023-11-16 18:17:03.9799600", "…T…", a zone of "Z" or "+00:00": seconds since 1970.
std::optional<double> calendar_seconds(std::string_view text) {
  if (text.ends_with('Z')) text.remove_suffix(1);
  if (text.ends_with("+00:00")) text.remove_suffix(6);
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T') || text[13] != ':' || text[16] != ':') return std::nullopt;
  const auto year = parse_int(text.substr(0, 4)), month = parse_int(text.substr(5, 2)), day = parse_int(text.substr(8, 2));
  const auto hour = parse_int(text.substr(11, 2)), minute = parse_int(text.substr(14, 2));
  const auto second = parse_double(text.substr(17));
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour < 0 || *hour > 23 || *minute < 0 || *minute > 59 || *second < 0 || *second >= 61) return std::nullopt;
  const auto days = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
  return days * 86400 + static_cast<double>(*hour * 3600 + *minute * 60) + *second;
}

}  // namespace

Result<std::unique_ptr<Workload>> make_mooncake_workload(const TraceOptions& options, std::string_view file) {
  PAWL_ASSIGN(const auto rows, split_rows(file, options.path));
  Trace trace;
  trace.dataset = "mooncake";
  trace.block_tokens = kMooncakeBlock;
  trace.read = static_cast<std::int64_t>(rows.size());
  for (const std::string_view text : rows) {
    const auto json = codec::parse_json(text, options.path);
    const auto time = json ? number_at(*json, "timestamp") : std::nullopt;
    const auto input = json ? integer_at(*json, "input_length") : std::nullopt, output = json ? integer_at(*json, "output_length") : std::nullopt;
    const std::size_t first = trace.blocks.size();
    if (!time || *time < 0 || !input || !output || !add_blocks(*json, trace.blocks)) {
      ++trace.dropped["malformed"];
      continue;
    }
    const std::size_t blocks = trace.blocks.size() - first;
    const char* reason = bad_lengths(*input, *output, options);
    if (*reason == '\0' && static_cast<std::int64_t>(blocks) != (*input + kMooncakeBlock - 1) / kMooncakeBlock) reason = "blocks";
    if (*reason != '\0') {
      ++trace.dropped[reason];
      trace.blocks.resize(first);
      continue;
    }
    trace.rows.push_back({*time / 1000, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(blocks), static_cast<std::int32_t>(*input),
                          static_cast<std::int32_t>(*output)});
  }
  return finish(options, std::move(trace));
}

Result<std::unique_ptr<Workload>> make_azure_workload(const TraceOptions& options, std::string_view file) {
  Trace trace;
  trace.dataset = "azure";
  std::optional<std::size_t> time_column, input_column, output_column;
  for (std::size_t begin = 0; begin < file.size();) {
    const std::size_t end = std::min(file.find('\n', begin), file.size());
    const std::string_view line = trim(file.substr(begin, end - begin));
    begin = end + 1;
    if (line.empty()) continue;
    const auto cells = split(line, ',');
    if (!time_column) {
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (cells[i] == "TIMESTAMP" || cells[i] == "\xEF\xBB\xBFTIMESTAMP") time_column = i;
        if (cells[i] == "ContextTokens") input_column = i;
        if (cells[i] == "GeneratedTokens") output_column = i;
      }
      if (!time_column || !input_column || !output_column) {
        return bad_input(options.path + ": the first line does not name TIMESTAMP, ContextTokens and GeneratedTokens", "expected an Azure LLM inference trace");
      }
      continue;
    }
    ++trace.read;
    const auto cell = [&](std::size_t column) { return column < cells.size() ? trim(cells[column]) : std::string_view(); };
    const auto time = calendar_seconds(cell(*time_column));
    const auto input = parse_int(cell(*input_column)), output = parse_int(cell(*output_column));
    if (!time || !input || !output) {
      ++trace.dropped["malformed"];
      continue;
    }
    if (const char* reason = bad_lengths(*input, *output, options); *reason != '\0') {
      ++trace.dropped[reason];
      continue;
    }
    trace.rows.push_back({*time, 0, 0, static_cast<std::int32_t>(*input), static_cast<std::int32_t>(*output)});
  }
  return finish(options, std::move(trace));
}

}  // namespace pawl::workload
