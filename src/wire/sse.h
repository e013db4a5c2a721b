#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::wire {

/// One event. The views point into the bytes that were given or into the reader; they live until its next call.
struct SseEvent {
  std::string_view name;   ///< of the `event:` line; empty without one
  std::string_view data;   ///< data lines joined with LF
  bool done = false;       ///< the terminal marker `[DONE]`
  bool terminated = true;  ///< false: the body ended before the blank line
};

/// Splits a byte stream into server-sent events. Line ends are LF, CR LF or CR; an event is out with the byte that
/// completes it (a CR is not held back to see whether LF follows). Any split is legal at any byte.
/// Comments and keep-alives sent as data (empty, or starting with a colon) give no event. An event named "error" is
/// always one, also without data.
/// An event of one data line that came in one piece is not copied, and nothing is allocated for it.
class SseReader {
 public:
  explicit SseReader(std::size_t max_event_bytes = 64u << 20) : max_event_bytes_(max_event_bytes) {}

  /// Takes bytes off the front of `bytes` up to the end of the next event. True: `event` is it; call again for more.
  /// False: all were taken and none is complete. Error (kTransient): a line or an event over the limit.
  Result<bool> next(std::string_view& bytes, SseEvent& event);

  /// The body ended. What stands unterminated comes out as one last event with `terminated` false (true is returned);
  /// whether it is whole is for the caller to find out.
  bool finish(SseEvent& event);

  /// Ready for the next stream; buffers are kept unless they grew large.
  void reset();

  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] std::int64_t keepalive_data() const { return keepalive_data_; }      ///< events that were keep-alives sent as data
  [[nodiscard]] std::int64_t comments() const { return comments_; }                  ///< comment lines
  [[nodiscard]] std::int64_t bytes_after_done() const { return bytes_after_done_; }  ///< ignored

 private:
  bool whole_event(std::string_view& bytes, SseEvent& event);
  void take_field(std::string_view line, bool in_place);
  bool dispatch(bool terminated, SseEvent& event);
  void drop_event();
  void own_data();

  bool has_data_ = false;      ///< a data line that counts was seen
  bool dropped_data_ = false;  ///< a keep-alive data line was seen
  bool given_ = false;         ///< the event that went out last still stands in the buffers
  bool skip_lf_ = false;       ///< the last byte was a CR that ended a line
  bool first_line_ = true;
  bool done_ = false;
  std::size_t max_event_bytes_;
  std::string line_;  ///< the unfinished line
  std::string name_, data_;
  std::string_view view_;  ///< the only data line so far, in the bytes of the call that goes on; data_ is empty meanwhile
  std::int64_t keepalive_data_ = 0, comments_ = 0, bytes_after_done_ = 0;
};

}  // namespace pawl::wire
