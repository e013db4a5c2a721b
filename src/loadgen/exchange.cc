#include "loadgen/exchange.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace pawl::loadgen {
namespace {

constexpr std::size_t kKeptBytes = 4096;
constexpr std::size_t kJsonLimit = 64u << 20;

bool contains(std::optional<std::string_view> value, std::string_view part) { return value && value->find(part) != std::string_view::npos; }

}  // namespace

std::size_t Exchange::on_bytes(std::string_view bytes, MonoTime at) {
  record_.bytes += static_cast<std::int64_t>(bytes.size());
  std::string body;
  const auto taken = http_.feed(bytes, body);
  if (!head_seen_ && http_.head_complete()) on_head(at);
  if (!body.empty() && !over()) on_body(body, at);
  if (over()) return bytes.size();
  if (!taken) {
    record_.end = at;
    record_.fail("frame", taken.error().message);
    return bytes.size();
  }
  if (http_.complete()) {
    finish_events(at);
    record_.end = at;
  }
  return *taken;
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
    record_.fail("content_type", "compressed reply (" + std::string(*coding) + ") although identity was asked for");
    record_.end = at;
    reusable_ = false;
  }
}

void Exchange::on_body(std::string_view bytes, MonoTime at) {
  if (first_bytes_.size() < kKeptBytes) first_bytes_.append(bytes.substr(0, kKeptBytes - first_bytes_.size()));
  if (body_ == Body::kUnknown) {
    const std::string_view seen = trim(first_bytes_);
    if (seen.empty()) return;  // blank so far: nothing of an event stream or of JSON is lost with it
    const auto type = http_.head().field("content-type");
    const bool looks_json = seen.front() == '{' || seen.front() == '[';
    const bool looks_events = std::string_view(":deir\xEF").find(seen.front()) != std::string_view::npos;
    if (contains(type, "html") || (!looks_json && !looks_events)) {
      record_.fail("content_type", "neither an event stream nor JSON: content-type " + std::string(type.value_or("absent")));
      record_.end = at;
      reusable_ = false;
      return;
    }
    body_ = looks_json ? Body::kJson : Body::kEvents;
    if (type && !contains(type, looks_json ? "json" : "event-stream")) ++record_.flags["type_mismatch"];
  }
  if (body_ == Body::kEvents) {
    std::vector<wire::SseEvent> events;
    const auto status = sse_.feed(bytes, events);
    queue(events, at);
    if (!status) {
      record_.fail("sse", status.error().message);
      record_.end = at;
      reusable_ = false;
    }
  } else if (body_ == Body::kJson) {
    if (json_.size() + bytes.size() > kJsonLimit) {
      record_.fail("json", "a body over the limit");
      record_.end = at;
      reusable_ = false;
      return;
    }
    json_.append(bytes);
  }
}

void Exchange::queue(std::vector<wire::SseEvent>& events, MonoTime at) {
  for (wire::SseEvent& event : events) waiting_.push_back({std::move(event), at});
}

void Exchange::finish_events(MonoTime at) {
  if (body_ != Body::kEvents) return;
  std::vector<wire::SseEvent> events;
  if (const auto status = sse_.finish(events); !status) record_.fail("sse", status.error().message);
  queue(events, at);
}

void Exchange::on_close(MonoTime at) {
  if (over()) return;
  const Status clean = http_.finish();
  if (clean) {
    finish_events(at);
  } else {
    interpret();  // an error that the server named before it hung up says more than the cut
    record_.fail("early_eof", clean.error().message);
  }
  record_.end = at;
}

void Exchange::abandon(Outcome outcome, std::string cls, std::string what, MonoTime at) {
  if (over()) return;
  interpret();
  record_.outcome = outcome;
  if (outcome == Outcome::kTimeout) record_.failure.clear();
  record_.fail(std::move(cls), std::move(what));
  record_.end = at;
  reusable_ = false;
}

void Exchange::interpret() {
  backend::EventFacts facts;
  for (Timed& item : std::exchange(waiting_, {})) {
    tokens_.take(item.event.name, item.event.data, item.event.done, item.event.terminated, item.at, Nanos(0), record_, facts);
  }
  if (over() && !settled_) settle();
}

void Exchange::settle() {
  settled_ = true;
  if (record_.outcome == Outcome::kTimeout) return;
  if (sse_.keepalive_data() > 0) record_.flags["keepalive_data"] = sse_.keepalive_data();
  if (sse_.bytes_after_done() > 0) record_.flags["bytes_after_done"] = sse_.bytes_after_done();
  if (record_.failure.empty() && body_ == Body::kJson) {
    backend::EventFacts facts;
    tokens_.take_body(json_, record_, facts);
    if (record_.failure.empty()) ++record_.flags["not_streamed"];
  }
  json_ = {};
  if (record_.failure.empty()) tokens_.finish(body_ == Body::kEvents, record_);
  if (record_.failure.empty()) {
    record_.outcome = Outcome::kOk;
  } else {
    record_.outcome = Outcome::kFailed;
    if (!first_bytes_.empty()) record_.detail += (record_.detail.empty() ? "" : ": ") + first_bytes_;
  }
}

}  // namespace pawl::loadgen
