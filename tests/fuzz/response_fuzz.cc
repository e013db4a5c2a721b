// An answer of a server: HTTP framing, events, tokens, for every protocol. Any bytes give one settled outcome of a known class, the same however the bytes
// are cut into reads and whatever was read before.
#include <array>
#include <string>

#include "backend/backend.h"
#include "fuzz_target.h"
#include "loadgen/exchange.h"
#include "measure/request_metrics.h"

namespace pawl::fuzz {

const std::size_t kInputMax = 2048;

namespace {

using measure::Outcome;
using measure::RequestRecord;

constexpr std::array<std::string_view, 10> kClasses{"http_status",  "content_type", "frame",        "sse",        "json",
                                                    "inband_error", "early_eof",    "empty_output", "bad_finish", ""};
constexpr std::string_view kEventHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

MonoTime moment(std::int64_t ns) { return {Nanos(1'000'000'000 + ns)}; }

/// What does not depend on how the bytes were cut. The detail of a failure does: it shows what had arrived when it was seen.
std::string fingerprint(const RequestRecord& record) {
  std::string out = std::to_string(static_cast<int>(record.outcome)) + ' ' + record.failure + ' ' + std::to_string(record.status) + ' ' + record.finish_reason;
  for (const measure::StreamEvent& event : record.events) {
    out += ' ' + std::to_string(event.marks & ~unsigned{measure::kCoalesced}) + ':' + std::to_string(event.raw_tokens) + ':' + std::to_string(event.choice);
  }
  for (const auto& count : {record.usage_input, record.usage_output, record.usage_cached, record.usage_reasoning, record.meta_input, record.meta_output,
                            record.meta_cached, record.ids_output}) {
    out += count ? ' ' + std::to_string(*count) : " -";
  }
  for (const auto& [flag, n] : record.flags) out += ' ' + flag + '=' + std::to_string(n);
  return out + ' ' + std::to_string(record.text_bytes) + ' ' + record.text + '|' + record.reasoning_text;
}

void check(const RequestRecord& record) {
  PAWL_FUZZ_CHECK(record.end.has_value());
  bool known = false;
  for (const std::string_view cls : kClasses) known = known || record.failure == cls;
  PAWL_FUZZ_CHECK(known);
  PAWL_FUZZ_CHECK((record.outcome == Outcome::kOk) == record.failure.empty());
  PAWL_FUZZ_CHECK(record.detail.size() <= 16'384);
  MonoTime before{};
  for (const measure::StreamEvent& event : record.events) {
    PAWL_FUZZ_CHECK(before <= event.at && event.at <= *record.end);
    before = event.at;
  }
  PAWL_FUZZ_CHECK(record.first_token.has_value() == record.last_token.has_value());
  PAWL_FUZZ_CHECK(record.first_token.has_value() == (record.token_events() > 0));
  PAWL_FUZZ_CHECK(measure::order_violation(record).empty());
  const auto metrics = measure::metrics_of(record);
  PAWL_FUZZ_CHECK(metrics.gap.empty() || static_cast<std::int64_t>(metrics.gap.size()) < metrics.token_events);
}

/// Plays the bytes in pieces of lengths that `cut` gives, then lets the server close.
RequestRecord play(loadgen::Exchange& exchange, const backend::Backend& backend, std::string_view bytes, std::uint64_t cut) {
  RequestRecord record;
  record.asked_output = 3;
  record.ready = record.send.emplace(moment(0));
  record.sent = moment(0);
  exchange.begin(backend, {.keep_text = true}, std::move(record));
  std::int64_t now = 0;
  while (!bytes.empty() && !exchange.over()) {
    std::size_t size = bytes.size();
    if (cut != 0) {
      cut = cut * 6364136223846793005ull + 1442695040888963407ull;
      size = std::min<std::size_t>(size, 1 + (cut >> 59));
    }
    // A copy of its own for each read: views into an earlier one must not be used any more.
    const std::string own(bytes.substr(0, size));
    const std::size_t taken = exchange.on_bytes(own, moment(++now), Nanos(5));
    PAWL_FUZZ_CHECK(taken <= size && (taken == size || exchange.over()));
    bytes.remove_prefix(size);
  }
  exchange.on_close(moment(++now));
  PAWL_FUZZ_CHECK(exchange.over());
  check(exchange.record());
  return exchange.record();
}

}  // namespace

bool one_input(std::string_view input) {
  if (input.size() < 3) return false;
  static backend::EventFacts scratch;
  static loadgen::Exchange exchange(scratch);
  const auto backends = backend::all_backends();
  const auto choice = static_cast<unsigned char>(input[0]);
  const backend::Backend& backend = *backends[(choice >> 1) % backends.size()];
  const std::uint64_t cut = static_cast<unsigned char>(input[1]) + 1u;
  // Half of them begin behind a head, where most of the work is done.
  const std::string bytes = std::string((choice & 1) != 0 ? kEventHead : std::string_view{}) + std::string(input.substr(2));
  const std::string whole = fingerprint(play(exchange, backend, bytes, 0));
  // The one scratch knows the shapes of events of all inputs before it; another knows none: what it knows must not matter.
  backend::EventFacts nothing_known;
  loadgen::Exchange other(nothing_known);
  PAWL_FUZZ_CHECK(fingerprint(play(other, backend, bytes, cut)) == whole);
  return true;
}

}  // namespace pawl::fuzz
