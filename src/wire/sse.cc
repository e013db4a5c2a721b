#include "wire/sse.h"

#include <utility>

namespace pawl::wire {
namespace {

std::string_view without_leading_spaces(std::string_view text) {
  const auto at = text.find_first_not_of(' ');
  return at == std::string_view::npos ? std::string_view{} : text.substr(at);
}

bool is_done(std::string_view data) {
  data = without_leading_spaces(data);
  const auto last = data.find_last_not_of(' ');
  return last != std::string_view::npos && data.substr(0, last + 1) == "[DONE]";
}

}  // namespace

Status SseReader::feed(std::string_view bytes, std::vector<SseEvent>& events) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (skip_lf_) {
      skip_lf_ = false;
      if (bytes[at] == '\n') {
        ++at;
        continue;
      }
    }
    if (done_) {
      bytes_after_done_ += static_cast<std::int64_t>(bytes.size() - at);
      return {};
    }
    const auto end = bytes.find_first_of("\r\n", at);
    const auto stop = end == std::string_view::npos ? bytes.size() : end;
    if (line_.size() + data_.size() + (stop - at) > max_event_bytes_) return peer_error("event stream: an event over the limit");
    line_.append(bytes.substr(at, stop - at));
    if (end == std::string_view::npos) return {};
    skip_lf_ = bytes[end] == '\r';
    at = end + 1;
    PAWL_TRY(end_of_line(events));
  }
  return {};
}

Status SseReader::finish(std::vector<SseEvent>& events) {
  if (done_) return {};
  if (!line_.empty()) PAWL_TRY(end_of_line(events));
  dispatch(false, events);
  return {};
}

Status SseReader::end_of_line(std::vector<SseEvent>& events) {
  std::string_view line = line_;
  if (std::exchange(first_line_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.empty()) {
    dispatch(true, events);
  } else if (line.front() == ':') {
    ++comments_;
  } else {
    const auto colon = line.find(':');
    const std::string_view field = line.substr(0, colon);
    std::string_view value = colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (field == "data") {
      const std::string_view inner = without_leading_spaces(value);
      if (!has_data_ && (inner.empty() || inner.front() == ':')) {
        dropped_data_ = true;
      } else {
        if (has_data_) data_ += '\n';
        data_ += value;
        has_data_ = true;
      }
    } else if (field == "event") {
      name_ = value;
    }
  }
  line_.clear();
  return {};
}

void SseReader::dispatch(bool terminated, std::vector<SseEvent>& events) {
  if (has_data_ || name_ == "error") {
    const bool marker = name_ != "error" && is_done(data_);
    events.push_back({std::move(name_), std::move(data_), marker, terminated});
    done_ = marker;
  } else if (dropped_data_) {
    ++keepalive_data_;
  }
  name_.clear();
  data_.clear();
  has_data_ = dropped_data_ = false;
}

}  // namespace pawl::wire
