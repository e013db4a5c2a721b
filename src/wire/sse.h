#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::wire {

struct SseEvent {
  std::string name;        ///< of the `event:` line; empty without one
  std::string data;        ///< data lines joined with LF
  bool done = false;       ///< the terminal marker `[DONE]`
  bool terminated = true;  ///< false: the body ended before the blank line
};

/// Splits a byte stream into server-sent events. Line ends are LF, CR LF or CR; an event is out with the byte that
/// completes it (a CR is not held back to see whether LF follows). Any split is legal at any byte.
/// Comments and keep-alives sent as data (empty, or starting with a colon) give no event. An event named "error" is
/// always one, also without data.
class SseReader {
 public:
  explicit SseReader(std::size_t max_event_bytes = 64u << 20) : max_event_bytes_(max_event_bytes) {}

  /// Appends the events that `bytes` complete. Error (kTransient): a line or an event over the limit.
  Status feed(std::string_view bytes, std::vector<SseEvent>& events);

  /// The body ended. What stands unterminated comes out as one last event with `terminated` false; whether it is whole
  /// is for the caller to find out.
  Status finish(std::vector<SseEvent>& events);

  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] std::int64_t keepalive_data() const { return keepalive_data_; }      ///< events that were keep-alives sent as data
  [[nodiscard]] std::int64_t comments() const { return comments_; }                  ///< comment lines
  [[nodiscard]] std::int64_t bytes_after_done() const { return bytes_after_done_; }  ///< ignored

 private:
  Status end_of_line(std::vector<SseEvent>& events);
  void dispatch(bool terminated, std::vector<SseEvent>& events);

  std::size_t max_event_bytes_;
  std::string line_;
  std::string name_, data_;
  bool has_data_ = false;      ///< a data line that counts was seen
  bool dropped_data_ = false;  ///< a keep-alive data line was seen
  bool skip_lf_ = false;       ///< the last byte was a CR that ended a line
  bool first_line_ = true;
  bool done_ = false;
  std::int64_t keepalive_data_ = 0, comments_ = 0, bytes_after_done_ = 0;
};

}  // namespace pawl::wire
