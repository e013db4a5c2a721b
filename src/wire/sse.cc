#include "wire/sse.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pawl::wire {
namespace {

constexpr std::size_t kKeptCapacity = 64 << 10;  ///< of a buffer: what one large event made it grow beyond is given back

std::string_view without_leading_spaces(std::string_view text) {
  const auto at = text.find_first_not_of(' ');
  return at == std::string_view::npos ? std::string_view{} : text.substr(at);
}

bool is_done(std::string_view data) {
  data = without_leading_spaces(data);
  const auto last = data.find_last_not_of(' ');
  return last != std::string_view::npos && data.substr(0, last + 1) == "[DONE]";
}

/// The place of the first CR or LF. Block by block, so that a text with only one of the two is not searched again and
/// again for the other.
std::size_t find_line_end(std::string_view text) {
  constexpr std::size_t kBlock = 512;
  for (std::size_t at = 0; at < text.size(); at += kBlock) {
    const std::size_t size = std::min(kBlock, text.size() - at);
    const char* block = text.data() + at;
    const auto* lf = static_cast<const char*>(std::memchr(block, '\n', size));
    const std::size_t before = lf != nullptr ? static_cast<std::size_t>(lf - block) : size;
    if (const auto* cr = static_cast<const char*>(std::memchr(block, '\r', before)); cr != nullptr) return at + static_cast<std::size_t>(cr - block);
    if (lf != nullptr) return at + before;
  }
  return std::string_view::npos;
}

void empty(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptCapacity) buffer.shrink_to_fit();
}

}  // namespace

/// The common case in one step: `data: …`, a blank line, nothing before it and neither CR nor a name.
bool SseReader::whole_event(std::string_view& bytes, SseEvent& event) {
  constexpr std::string_view kField = "data: ";
  if (!line_.empty() || has_data_ || dropped_data_ || skip_lf_ || done_ || !name_.empty() || !bytes.starts_with(kField)) return false;
  const char* begin = bytes.data() + kField.size();
  const std::size_t most = std::min(bytes.size() - kField.size(), max_event_bytes_ - std::min(max_event_bytes_, kField.size()));
  const auto* end = static_cast<const char*>(std::memchr(begin, '\n', most));
  if (end == nullptr || end + 1 == bytes.data() + bytes.size() || end[1] != '\n') return false;
  const std::string_view value(begin, static_cast<std::size_t>(end - begin));
  // What is no JSON object may be a keep-alive or the terminal marker.
  if (!value.starts_with('{') || std::memchr(begin, '\r', value.size()) != nullptr) return false;
  first_line_ = false;
  event = {.name = {}, .data = value, .done = false, .terminated = true};
  bytes.remove_prefix(kField.size() + value.size() + 2);
  return true;
}

Result<bool> SseReader::next(std::string_view& bytes, SseEvent& event) {
  if (given_) drop_event();
  if (whole_event(bytes, event)) return true;
  while (!bytes.empty()) {
    if (skip_lf_) {
      skip_lf_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    if (done_) {
      bytes_after_done_ += static_cast<std::int64_t>(bytes.size());
      bytes = {};
      return false;
    }
    const std::size_t end = find_line_end(bytes);
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + data_.size() + view_.size() + part.size() > max_event_bytes_) return peer_error("event stream: an event over the limit");
    if (end == std::string_view::npos) {
      line_.append(part);
      bytes = {};
      break;
    }
    skip_lf_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    const bool in_place = line_.empty();
    if (!in_place) line_.append(part);
    std::string_view line = in_place ? part : std::string_view(line_);
    if (std::exchange(first_line_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    if (line.empty()) {
      empty(line_);
      if (dispatch(true, event)) return true;
      continue;
    }
    take_field(line, in_place);
    if (!in_place) empty(line_);
  }
  own_data();
  return false;
}

bool SseReader::finish(SseEvent& event) {
  if (given_) drop_event();
  if (done_) return false;
  if (!line_.empty()) {
    std::string_view line = line_;
    if (std::exchange(first_line_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    if (!line.empty()) take_field(line, false);
    line_.clear();
  }
  return dispatch(false, event);
}

void SseReader::reset() {
  empty(line_);
  drop_event();
  skip_lf_ = done_ = false;
  first_line_ = true;
  keepalive_data_ = comments_ = bytes_after_done_ = 0;
}

/// What a data line left in the caller's bytes goes into a buffer of ours.
void SseReader::own_data() {
  if (view_.empty()) return;
  data_.assign(view_);
  view_ = {};
}

void SseReader::take_field(std::string_view line, bool in_place) {
  if (line.front() == ':') {
    ++comments_;
    return;
  }
  const auto colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    const std::string_view inner = without_leading_spaces(value);
    if (!has_data_ && (inner.empty() || inner.front() == ':')) {
      dropped_data_ = true;
    } else if (!has_data_ && in_place) {
      view_ = value;
      has_data_ = true;
    } else {
      own_data();
      if (has_data_) data_ += '\n';
      data_ += value;
      has_data_ = true;
    }
  } else if (field == "event") {
    name_ = value;
  }
}

bool SseReader::dispatch(bool terminated, SseEvent& event) {
  if (!has_data_ && name_ != "error") {
    if (dropped_data_) ++keepalive_data_;
    drop_event();
    return false;
  }
  event = {.name = name_, .data = view_.empty() ? std::string_view(data_) : view_, .done = false, .terminated = terminated};
  event.done = name_ != "error" && is_done(event.data);
  done_ = event.done;
  given_ = true;
  return true;
}

void SseReader::drop_event() {
  name_.clear();
  if (!data_.empty()) empty(data_);
  view_ = {};
  has_data_ = dropped_data_ = given_ = false;
}

}  // namespace pawl::wire
