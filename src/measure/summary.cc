#include "measure/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "codec/describe.h"
#include "measure/describe.h"
#include "measure/metric_table.h"
#include "measure/steady.h"

namespace pawl::measure {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kExampleBytes = 4096, kShownBytes = 240;
constexpr Nanos kTenth = Millis(100);
constexpr std::size_t kTimelineLimit = 7 * 86400;  ///< seconds; what comes later is counted in the last one

enum SpanColumn : std::size_t { kSendColumn, kEndColumn, kOkColumn, kLagColumn, kQueueColumn, kSpanColumns };
enum PartialColumn : std::size_t { kPartialTtft, kPartialAlive, kPartialTokens, kPartialColumns };

/// No two prompts of a run are alike, so a server can know only what it wraps around them (the chat template) and a few
/// first tokens that are equal by chance. More than that, and it has seen the prompt before: in an earlier run with this
/// seed, or because the workload shares prefixes.
bool prompt_was_cached(const RequestRecord& record, const std::optional<InputTokens>& input) {
  const auto cached = cached_tokens(record);
  if (!cached) return false;
  const std::int64_t wrapping = std::max<std::int64_t>(0, (input ? input->count : record.asked_input) - record.asked_input);
  return static_cast<double>(*cached - wrapping) > 0.05 * static_cast<double>(record.asked_input);
}

}  // namespace

Result<SloTerm> parse_slo(std::string_view text) {
  const auto colon = text.find(':');
  std::string known;
  for (const RequestMetric& metric : kRequestMetrics) known += (known.empty() ? "" : ", ") + std::string(metric.key);
  if (colon == std::string_view::npos) return bad_input(fmt::format("\"{}\" is no objective", text), "write METRIC:BOUND, for instance ttft_ms:500");
  std::string key(text.substr(0, colon));
  const auto is_known = [](std::string_view name) { return std::ranges::find(kRequestMetrics, name, &RequestMetric::key) != kRequestMetrics.end(); };
  if (!is_known(key) && is_known(key + "_ms")) key += "_ms";
  if (key == "e2e") key = "e2el_ms";
  if (!is_known(key)) return bad_input(fmt::format("no metric \"{}\"", key), "one of " + known);
  std::string bound(text.substr(colon + 1));
  if (bound.ends_with("ms")) bound.resize(bound.size() - 2);
  double value = 0;
  std::size_t used = 0;
  try {
    value = std::stod(bound, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != bound.size() || !std::isfinite(value) || value < 0) return bad_input(fmt::format("\"{}\" is no bound", text.substr(colon + 1)));
  return SloTerm{std::move(key), value};
}

Summary::Summary(SummaryOptions options, MonoTime origin)
    : options_(std::move(options)),
      origin_(origin),
      ok_(kRequestMetrics.size(), options_.spill),
      partial_(kPartialColumns, options_.spill),
      spans_(kSpanColumns, options_.spill) {
  for (const Profile profile : options_.profiles) profiles_.emplace_back(profile, options_.chat);
}

Summary::Second& Summary::second_of(MonoTime at) {
  const auto number = std::max<std::int64_t>(0, (at - origin_) / Seconds(1));
  const auto index = std::min(static_cast<std::size_t>(number), kTimelineLimit);
  if (index >= seconds_.size()) seconds_.resize(index + 1);
  return seconds_[index];
}

void Summary::count(const RequestRecord& record) {
  ++counts_.planned;
  switch (record.outcome) {
    case Outcome::kOk:
      ++counts_.ok;
      return;
    case Outcome::kFailed:
      ++counts_.failed;
      break;
    case Outcome::kTimeout:
      ++counts_.timeout;
      break;
    case Outcome::kCancelled:
      ++counts_.cancelled;
      return;
    case Outcome::kCensored:
      ++counts_.censored;
      return;
    case Outcome::kSkipped:
      ++counts_.skipped;
      return;
  }
  ++failures_[record.failure];
  auto& example = failure_examples_[record.failure];
  if (example.empty()) example = record.detail.substr(0, kExampleBytes);
}

void Summary::add(const RequestRecord& record) {
  ++phases_[codec::enum_text(record.phase)];
  if (record.phase != Phase::kMeasured) return;
  count(record);
  for (const auto& [flag, n] : record.flags) flags_[flag] += n;
  if (const auto violation = order_violation(record); !violation.empty()) ++flags_["order_violation"];
  for (ProfileSummary& profile : profiles_) profile.add(record);
  if (!record.send) return;

  ++sends_;
  if (!first_send_ || *record.send < *first_send_) first_send_ = record.send;
  if (!last_send_ || *record.send > *last_send_) last_send_ = record.send;
  if (record.end && (!last_end_ || *record.end > *last_end_)) last_end_ = record.end;
  compute(record, {options_.allow_approximate}, metrics_);
  if (metrics_.coalesced_reads > 0) flags_["coalesced_reads"] += metrics_.coalesced_reads;
  const bool ok = record.outcome == Outcome::kOk;
  std::array<double, kSpanColumns> span{};
  span[kSendColumn] = since_origin_ms(*record.send);
  span[kEndColumn] = record.end ? since_origin_ms(*record.end) : kUnknown;
  span[kOkColumn] = ok ? 1 : 0;
  span[kLagColumn] = metrics_.lag_ms.value_or(kUnknown);
  span[kQueueColumn] = metrics_.queue_client_ms.value_or(kUnknown);
  spans_.add(span);
  ++second_of(*record.send).started;
  if (record.end) ++(ok ? second_of(*record.end).ok : second_of(*record.end).failed);
  add_events(record);
  if (ok) {
    add_ok(record);
  } else {
    add_partial(record);
  }
}

void Summary::add_events(const RequestRecord& record) {
  if (metrics_.token_events == 0) return;
  // Where the server does not say which event had how many, the tokens are spread evenly: only the steady window uses it.
  const double evenly = static_cast<double>(output_tokens(record).count) / static_cast<double>(metrics_.token_events);
  // As many events as tokens leave one for each, where none says (as in `compute`).
  const bool one_each = metrics_.k_residual == 0 && output_tokens(record).count == metrics_.token_events;
  std::optional<MonoTime> before;
  for (const StreamEvent& event : record.events) {
    if (!event.is(kToken)) continue;
    Second& second = second_of(event.at);
    ++second.token_events;
    auto k = event.tokens();
    if (!k && one_each) k = 1;
    second.tokens += k.value_or(0);
    if (before) {
      second.gap_sum += millis_of(event.at - *before);
      ++second.gap_n;
    } else {
      second.ttft_sum += millis_of(event.at - *record.send);
      ++second.ttft_n;
    }
    before = event.at;
    if (record.outcome != Outcome::kOk) continue;
    const auto tenth = static_cast<std::size_t>(std::clamp<std::int64_t>((event.at - origin_) / kTenth, 0, static_cast<std::int64_t>(10 * kTimelineLimit)));
    if (tenth >= tenths_.size()) tenths_.resize(tenth + 1);
    tenths_[tenth] += k ? static_cast<double>(*k) : evenly;
  }
}

bool Summary::is_good(const RequestRecord& record) const {
  for (const SloTerm& term : options_.slo) {
    const auto metric = std::ranges::find(kRequestMetrics, term.metric, &RequestMetric::key);
    if (metric == kRequestMetrics.end()) return false;
    const std::optional<double>& value = metrics_.*(metric->value);
    if (value ? *value > term.bound : !(term.metric == "tpot_ms" && output_tokens(record).count <= 1)) return false;
  }
  return true;
}

void Summary::add_ok(const RequestRecord& record) {
  std::array<double, kRequestMetrics.size()> row{};
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = (metrics_.*(kRequestMetrics[i].value)).value_or(kUnknown);
  ok_.add(row);
  for (const Sample& gap : metrics_.gap) gap_.add(gap.ms, 1, gap.coalesced);
  for (const Sample& itl : metrics_.itl) itl_.add(itl.ms, itl.weight, itl.coalesced);
  if (!options_.slo.empty() && is_good(record)) ++good_;

  flags_["token_events"] += metrics_.token_events;
  if (metrics_.coalesced_events > 0) flags_["coalesced_events"] += metrics_.coalesced_events;
  if (metrics_.single_burst) ++flags_["single_burst"];
  if (metrics_.k_residual && *metrics_.k_residual != 0) ++flags_["k_residual"];

  const OutputTokens output = output_tokens(record);
  ++osl_source_[std::string(output.source)];
  if (output.approximate()) ++flags_["approximate"];
  if (!output.approximate() || options_.allow_approximate) {
    ++counted_ok_;
    output_tokens_ += output.count;
    if (record.ignores_eos && output.count != record.asked_output) ++flags_["osl_mismatch"];
  }
  const auto input = input_tokens(record);
  if (input) {
    input_tokens_ += input->count;
    ++isl_source_[std::string(input->source)];
    if (record.input_exact && input->count != record.asked_input) ++flags_["isl_mismatch"];
  } else {
    ++flags_["isl_unknown"];
  }
  if (const auto cached = cached_tokens(record)) {
    cached_tokens_ = cached_tokens_.value_or(0) + *cached;
    if (*cached > 0) ++flags_["cached_input"];
    if (prompt_was_cached(record, input)) ++flags_["cached_prompt"];
  }
  if (metrics_.token_events > 0 && !metrics_.k_residual) every_event_counted_ = false;
}

void Summary::add_partial(const RequestRecord& record) {
  std::array<double, kPartialColumns> row{metrics_.ttft_ms.value_or(kUnknown), record.end ? millis_of(*record.end - *record.send) : kUnknown, kUnknown};
  if (metrics_.token_events > 0) {
    const std::int64_t tokens = output_tokens(record).count;
    row[kPartialTokens] = static_cast<double>(tokens);
    partial_tokens_ += tokens;
    flags_["partial_tokens"] += tokens;
  }
  partial_.add(row);
}

void Summary::merge(const Summary& other) {
  const auto add_counts = [](std::map<std::string, std::int64_t>& to, const std::map<std::string, std::int64_t>& from) {
    for (const auto& [key, n] : from) to[key] += n;
  };
  counts_.planned += other.counts_.planned;
  counts_.ok += other.counts_.ok;
  counts_.failed += other.counts_.failed;
  counts_.timeout += other.counts_.timeout;
  counts_.cancelled += other.counts_.cancelled;
  counts_.censored += other.counts_.censored;
  counts_.skipped += other.counts_.skipped;
  add_counts(phases_, other.phases_);
  add_counts(failures_, other.failures_);
  add_counts(flags_, other.flags_);
  add_counts(osl_source_, other.osl_source_);
  add_counts(isl_source_, other.isl_source_);
  for (const auto& [cls, example] : other.failure_examples_) failure_examples_.try_emplace(cls, example);
  input_tokens_ += other.input_tokens_;
  output_tokens_ += other.output_tokens_;
  partial_tokens_ += other.partial_tokens_;
  if (other.cached_tokens_) cached_tokens_ = cached_tokens_.value_or(0) + *other.cached_tokens_;
  counted_ok_ += other.counted_ok_;
  every_event_counted_ = every_event_counted_ && other.every_event_counted_;
  good_ += other.good_;
  if (other.first_send_ && (!first_send_ || *other.first_send_ < *first_send_)) first_send_ = other.first_send_;
  if (other.last_send_ && (!last_send_ || *other.last_send_ > *last_send_)) last_send_ = other.last_send_;
  if (other.last_end_ && (!last_end_ || *other.last_end_ > *last_end_)) last_end_ = other.last_end_;
  sends_ += other.sends_;
  ok_.merge(other.ok_);
  partial_.merge(other.partial_);
  spans_.merge(other.spans_);
  gap_.merge(other.gap_);
  itl_.merge(other.itl_);
  if (other.seconds_.size() > seconds_.size()) seconds_.resize(other.seconds_.size());
  for (std::size_t i = 0; i < other.seconds_.size(); ++i) {
    Second& to = seconds_[i];
    const Second& from = other.seconds_[i];
    to.started += from.started;
    to.ok += from.ok;
    to.failed += from.failed;
    to.token_events += from.token_events;
    to.tokens += from.tokens;
    to.ttft_n += from.ttft_n;
    to.gap_n += from.gap_n;
    to.ttft_sum += from.ttft_sum;
    to.gap_sum += from.gap_sum;
  }
  if (other.tenths_.size() > tenths_.size()) tenths_.resize(other.tenths_.size());
  for (std::size_t i = 0; i < other.tenths_.size(); ++i) tenths_[i] += other.tenths_[i];
  for (std::size_t i = 0; i < profiles_.size() && i < other.profiles_.size(); ++i) profiles_[i].merge(other.profiles_[i]);
}

std::string Summary::failure_example() const {
  const std::pair<const std::string, std::int64_t>* worst = nullptr;
  for (const auto& item : failures_) {
    if (worst == nullptr || item.second > worst->second) worst = &item;
  }
  if (worst == nullptr) return {};
  const auto found = failure_examples_.find(worst->first);
  if (found == failure_examples_.end()) return {};
  // A server's bytes: only what a terminal shows harmlessly, on one line.
  std::string out;
  for (const char c : found->second) {
    if (out.size() == kShownBytes) return out + "…";
    const bool plain = c >= ' ' && c <= '~';
    if (plain || (!out.empty() && out.back() != ' ')) out += plain ? c : ' ';
  }
  return std::string(trim(out));
}

void Summary::fill_rates(model::BenchResult& result) const {
  model::BenchDetails& details = *result.details;
  if (sends_ > 1 && *last_send_ > *first_send_) details.attempted_rate = static_cast<double>(sends_ - 1) / seconds_of(*last_send_ - *first_send_);
  if (!first_send_ || !last_end_ || *last_end_ <= *first_send_) return;
  result.duration_s = seconds_of(*last_end_ - *first_send_);
  result.request_throughput = static_cast<double>(counts_.ok) / result.duration_s;
  // A rate over tokens that nobody counted would be a guess: with no trustworthy count there is none.
  if (counted_ok_ > 0) {
    result.output_throughput = static_cast<double>(output_tokens_) / result.duration_s;
    if (!flags_.contains("isl_unknown")) result.total_token_throughput = static_cast<double>(input_tokens_ + output_tokens_) / result.duration_s;
  }
  if (!options_.slo.empty()) {
    model::BenchGoodput goodput;
    for (const SloTerm& term : options_.slo) goodput.slo[term.metric] = term.bound;
    goodput.good = good_;
    goodput.good_per_s = static_cast<double>(good_) / result.duration_s;
    const std::int64_t attempted = counts_.planned - counts_.skipped;
    if (attempted > 0) goodput.good_share = static_cast<double>(good_) / static_cast<double>(attempted);
    details.goodput = std::move(goodput);
  }
}

void Summary::fill_in_flight(model::BenchResult& result) const {
  if (!first_send_ || !last_end_) return;
  model::BenchDetails& details = *result.details;
  double threshold = 0;
  std::optional<InFlight::Window> window;
  {
    // The most that a run of millions takes at its end, 16 bytes a request: given back before anything else is read.
    const InFlight steps(spans_.column(kSendColumn), spans_.column(kEndColumn));
    details.peak_in_flight = steps.peak();
    details.mean_in_flight = steps.mean(since_origin_ms(*first_send_), since_origin_ms(*last_end_));
    threshold = options_.steady_share * static_cast<double>(options_.target_in_flight.value_or(steps.peak()));
    window = steps.longest_at_least(threshold);
  }
  if (!window) return;
  model::BenchSteady steady;
  const double first = since_origin_ms(*first_send_);
  steady.start_s = (window->from - first) / 1000;
  steady.end_s = (window->to - first) / 1000;
  steady.threshold = threshold;
  // Rows of `ok_` are the ok rows of `spans_`, in the same order within a worker; both tables are merged alike.
  std::vector<bool> inside;  // of the ok ones
  spans_.visit([&](std::span<const double> row) {
    if (row[kOkColumn] == 0) return;
    inside.push_back(row[kSendColumn] >= window->from && row[kEndColumn] <= window->to);
    if (inside.back()) ++steady.requests;
  });
  const double seconds = (window->to - window->from) / 1000;
  if (seconds > 0) {
    steady.request_throughput = static_cast<double>(steady.requests) / seconds;
    if (counted_ok_ > 0) steady.output_throughput = sum_between(tenths_, window->from / 100, window->to / 100) / seconds;
  }
  for (std::size_t c = 0; c < kRequestMetrics.size(); ++c) {
    const auto key = kRequestMetrics[c].key;
    if (key != "ttft_ms" && key != "tpot_ms" && key != "e2el_ms") continue;
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(steady.requests));
    std::size_t i = 0;
    ok_.visit([&](std::span<const double> row) {
      if (i < inside.size() && inside[i] && !std::isnan(row[c])) values.push_back(row[c]);
      ++i;
    });
    steady.metrics[std::string(key)] = describe(std::move(values));
  }
  details.steady = std::move(steady);
}

void Summary::fill_timeline(model::BenchDetails& details) const {
  model::BenchTimeline& timeline = details.timeline;
  std::int64_t in_flight = 0, best_tokens = 0, best_events = 0;
  for (const Second& second : seconds_) {
    in_flight += second.started - second.ok - second.failed;
    timeline.started.push_back(second.started);
    timeline.ok.push_back(second.ok);
    timeline.failed.push_back(second.failed);
    timeline.in_flight.push_back(in_flight);
    timeline.token_events.push_back(second.token_events);
    timeline.tokens.push_back(second.tokens);
    timeline.ttft_ms.push_back(second.ttft_n == 0 ? std::nullopt : std::optional(second.ttft_sum / static_cast<double>(second.ttft_n)));
    timeline.gap_ms.push_back(second.gap_n == 0 ? std::nullopt : std::optional(second.gap_sum / static_cast<double>(second.gap_n)));
    best_tokens = std::max(best_tokens, second.tokens);
    best_events = std::max(best_events, second.token_events);
  }
  if (best_events > 0) details.peak_events_per_s = static_cast<double>(best_events);
  if (best_events > 0 && every_event_counted_) details.peak_tokens_per_s = static_cast<double>(best_tokens);
}

void Summary::fill(model::BenchResult& result) const {
  result.counts = counts_;
  for (const auto& [cls, n] : failures_) result.failures[cls] += n;
  for (const auto& [flag, n] : flags_) result.flags[flag] += n;
  if (ok_.damaged()) ++result.flags["rows_lost"];
  result.total_input_tokens = input_tokens_;
  result.total_output_tokens = output_tokens_;
  result.osl_source = osl_source_;
  if (!result.details) result.details.emplace();
  model::BenchDetails& details = *result.details;
  details.phases = phases_;
  details.isl_source = isl_source_;
  details.cached_tokens = cached_tokens_;
  details.partial_tokens = partial_tokens_;
  details.failure_examples = failure_examples_;
  fill_rates(result);
  fill_in_flight(result);
  fill_timeline(details);
  result.flags["peak_in_flight"] = details.peak_in_flight;

  const auto describe_column = [&](std::string_view key, std::vector<double> values, bool plotted) {
    if (values.empty() && key != "ttft_ms" && key != "tpot_ms" && key != "e2el_ms" && key != "lag_ms") return;
    if (plotted) {
      details.histograms[std::string(key)] = plot_buckets([&](const std::function<void(double, std::int64_t)>& put) {
        for (const double value : values) put(value, 1);
      });
    }
    result.metrics[std::string(key)] = describe(std::move(values));
  };
  for (std::size_t c = 0; c < kRequestMetrics.size(); ++c) {
    const auto key = kRequestMetrics[c].key;
    describe_column(key, ok_.known(c), key == "ttft_ms" || key == "tpot_ms" || key == "e2el_ms");
  }
  describe_column("lag_ms", spans_.known(kLagColumn), false);
  describe_column("queue_client_ms", spans_.known(kQueueColumn), false);
  result.metrics["gap_ms"] = gap_.describe(false);
  details.histograms["gap_ms"] = gap_.buckets();
  if (itl_.count() > 0) {
    result.metrics["itl_ms"] = itl_.describe(true);
    details.histograms["itl_ms"] = itl_.buckets();
    details.coalesced_share["itl_ms"] = itl_.coalesced_share();
  }
  if (gap_.count() > 0) details.coalesced_share["gap_ms"] = gap_.coalesced_share();
  details.partial.clear();
  if (partial_.rows() > 0) {
    details.partial["ttft_ms"] = describe(partial_.known(kPartialTtft));
    details.partial["alive_ms"] = describe(partial_.known(kPartialAlive));
    details.partial["tokens"] = describe(partial_.known(kPartialTokens));
  }
  for (const ProfileSummary& profile : profiles_) details.compat[codec::enum_text(profile.profile())] = profile.result(result.duration_s);
}

}  // namespace pawl::measure
