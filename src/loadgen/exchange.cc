#include "loadgen/exchange.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"

namespace pawl::loadgen {

using measure::Outcome;
using measure::RequestRecord;

namespace {

constexpr std::size_t kKeptBytes = 4096;
constexpr std::size_t kJsonLimit = 64u << 20;
constexpr std::size_t kErrorBodyLimit = 1u << 20;  ///< of an answer that has failed already: more of it tells nothing

bool contains(std::optional<std::string_view> value, std::string_view part) { return value && value->find(part) != std::string_view::npos; }

std::uint32_t saturated(Nanos late) { return static_cast<std::uint32_t>(std::clamp<std::int64_t>(late.count(), 0, std::numeric_limits<std::uint32_t>::max())); }

}  // namespace

void Exchange::begin(const backend::Backend& backend, const backend::ReadOptions& options, RequestRecord record) {
  record_ = std::move(record);
  tokens_.emplace(backend, options);
  http_.reset();
  sse_.reset();
  body_ = Body::kUnknown;
  head_seen_ = false;
  reusable_ = true;
  body_bytes_ = 0;
  first_bytes_.clear();
  json_ = {};
}

void Exchange::prefetch() const {
  constexpr std::size_t kLine = 64;
  const auto lines = [](const void* from, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) __builtin_prefetch(static_cast<const char*>(from) + i * kLine);
  };
  lines(&record_, 3);   // the list of events and the moments
  lines(&scratch_, 5);  // from the kind of the body to the readers' states
  lines(&tokens_, 1);
}

void Exchange::prefetch_tails(std::size_t bytes) const {
  constexpr std::size_t kLine = 64;
  __builtin_prefetch(record_.events.data() + record_.events.size(), 1);
  if (first_bytes_.size() >= kKeptBytes) return;
  const char* tail = first_bytes_.data() + first_bytes_.size();
  for (std::size_t i = 0; i <= std::min<std::size_t>(bytes, 512); i += kLine) __builtin_prefetch(tail + i, 1);
}

std::size_t Exchange::on_bytes(std::string_view bytes, MonoTime at, Nanos late) {
  const std::size_t size = bytes.size();
  record_.bytes += static_cast<std::int64_t>(size);
  while (!over() && !bytes.empty()) {
    std::string_view piece;
    Status framed = http_.next(bytes, piece);
    if (!head_seen_ && http_.head_complete()) on_head(at);
    if (!over() && !piece.empty()) on_body(piece, at, late);
    if (over()) break;
    if (!framed) {
      give_up("frame", std::move(framed).error().message, at);
    } else if (http_.complete()) {
      finish_events(at, late);
      record_.end = at;
      settle();
    }
  }
  if (over()) record_.end_late_ns = saturated(late);
  return size - bytes.size();
}

void Exchange::on_head(MonoTime at) {
  head_seen_ = true;
  record_.head = at;
  record_.status = http_.head().status;
  if (record_.status < 200 || record_.status > 299) {
    body_ = Body::kError;
    record_.fail("http_status", "HTTP " + std::to_string(record_.status));
    return;
  }
  const auto coding = http_.head().field("content-encoding");
  if (coding && !coding->empty() && *coding != "identity") {
    give_up("content_type", "compressed reply (" + std::string(coding->substr(0, 40)) + ") although identity was asked for", at);
  }
}

/// The content type is only a first guess (BC-4.9).
void Exchange::guess_body(std::string_view seen, MonoTime at) {
  const auto type = http_.head().field("content-type");
  const bool looks_json = seen.front() == '{' || seen.front() == '[';
  const bool looks_events = std::string_view(":deir\xEF").find(seen.front()) != std::string_view::npos;
  if (contains(type, "html") || (!looks_json && !looks_events)) {
    give_up("content_type", "neither an event stream nor JSON: content-type " + std::string(type.value_or("absent").substr(0, 80)), at);
    return;
  }
  body_ = looks_json ? Body::kJson : Body::kEvents;
  if (type && !contains(type, looks_json ? "json" : "event-stream")) ++record_.flags["type_mismatch"];
}

void Exchange::on_body(std::string_view piece, MonoTime at, Nanos late) {
  body_bytes_ += piece.size();
  if (first_bytes_.empty()) first_bytes_.reserve(kKeptBytes);  // growing by doubling would take almost twice that
  if (first_bytes_.size() < kKeptBytes) first_bytes_.append(piece.substr(0, kKeptBytes - first_bytes_.size()));
  if (body_ == Body::kUnknown) {
    // Blanks before the first byte that tells are dropped, in whichever reads they come.
    piece.remove_prefix(std::min(piece.find_first_not_of(" \t\r\n"), piece.size()));
    if (!piece.empty()) guess_body(piece, at);
  }
  if (over()) return;
  switch (body_) {
    case Body::kUnknown:
      if (body_bytes_ > kErrorBodyLimit) give_up("content_type", "a body of blanks", at);
      return;
    case Body::kEvents:
      return take_events(piece, at, late);
    case Body::kJson:
      if (json_.size() + piece.size() > kJsonLimit) return give_up("json", "a body over the limit", at);
      json_.append(piece);
      return;
    case Body::kError:
      if (body_bytes_ > kErrorBodyLimit) give_up("http_status", {}, at);
      return;
  }
}

void Exchange::take_events(std::string_view piece, MonoTime at, Nanos late) {
  wire::SseEvent event;
  while (!piece.empty()) {
    auto found = sse_.next(piece, event);
    if (!found) return give_up("sse", std::move(found).error().message, at);
    // After a failure the rest is read only to see where the answer ends.
    if (*found && record_.failure.empty()) tokens_->take(event.name, event.data, event.done, event.terminated, at, late, record_, *scratch_);
  }
}

void Exchange::finish_events(MonoTime at, Nanos late) {
  wire::SseEvent event;
  if (body_ != Body::kEvents || !sse_.finish(event) || !record_.failure.empty()) return;
  tokens_->take(event.name, event.data, event.done, event.terminated, at, late, record_, *scratch_);
}

/// A fault after which the rest of the answer cannot be read, or is not worth it.
void Exchange::give_up(std::string cls, std::string what, MonoTime at) {
  record_.fail(std::move(cls), std::move(what));
  record_.end = at;
  reusable_ = false;
  settle();
}

void Exchange::on_close(MonoTime at) {
  if (over()) return;
  if (const Status clean = http_.finish(); !clean) {
    // An error that the server named before it hung up says more than the cut: `fail` keeps the first.
    return give_up("early_eof", clean.error().message, at);
  }
  finish_events(at, Nanos(0));
  record_.end = at;
  settle();
}

void Exchange::abandon(Outcome outcome, std::string cls, std::string what, MonoTime at) {
  if (over()) return;
  record_.outcome = outcome;
  if (outcome != Outcome::kFailed) record_.failure.clear();
  if (!cls.empty()) record_.fail(std::move(cls), std::move(what));
  record_.end = at;
  reusable_ = false;
  settle();
}

void Exchange::settle() {
  if (sse_.keepalive_data() > 0) record_.flags["keepalive_data"] = sse_.keepalive_data();
  if (sse_.bytes_after_done() > 0) record_.flags["bytes_after_done"] = sse_.bytes_after_done();
  if (record_.outcome != Outcome::kFailed) return;  // ended by us: no judgement of the answer
  if (record_.failure.empty() && body_ == Body::kJson) {
    tokens_->take_body(json_, record_, *scratch_);
    if (record_.failure.empty()) ++record_.flags["not_streamed"];
  }
  json_ = {};
  if (record_.failure.empty()) tokens_->finish(body_ == Body::kEvents, record_);
  if (record_.failure.empty()) {
    record_.outcome = Outcome::kOk;
  } else if (!first_bytes_.empty()) {
    record_.detail += (record_.detail.empty() ? "" : ": ") + first_bytes_;
  }
}

}  // namespace pawl::loadgen
