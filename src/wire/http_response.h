#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace pawl::wire {

struct HttpHead {
  int status = 0;
  int minor_version = 1;  ///< of HTTP/1.x
  std::string reason;
  std::vector<std::pair<std::string, std::string>> fields;  ///< names in lower case, in the order of arrival

  /// The first value of the field `name` (lower case), or nothing.
  [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const;
};

struct HttpLimits {
  std::size_t head_bytes = 64 << 10;       ///< status line and fields, interim responses and trailers each
  std::size_t chunk_line_bytes = 4 << 10;  ///< one chunk size with its extensions
};

/// Reads one HTTP/1.x response to a request that has a body in its answer (anything but HEAD and CONNECT). Bytes in,
/// body bytes out; any split is legal at any byte. Interim responses (1xx) are skipped. No socket, no clock. Nothing of
/// the body is copied, and nothing is allocated once the head is read.
/// After an error the reader stays failed; errors are ErrorClass::kTransient and name what broke.
class HttpResponseReader {
 public:
  explicit HttpResponseReader(HttpLimits limits = {}) : limits_(limits) {}

  /// Takes bytes off the front of `bytes` up to the next piece of the body, which goes to `piece` (a view into `bytes`),
  /// transfer coding removed. An empty piece: there is none in what was given. Call it until `bytes` is empty; what is
  /// left of them once the response is complete belongs to whatever comes next.
  Status next(std::string_view& bytes, std::string_view& piece);

  /// Ready for the next response; buffers are kept.
  void reset();

  /// The peer closed. An error unless the response is complete or one that ends so.
  Status finish();

  [[nodiscard]] bool head_complete() const { return head_done_; }
  [[nodiscard]] const HttpHead& head() const { return head_; }
  [[nodiscard]] bool complete() const { return state_ == State::kComplete; }
  /// The connection may carry another request. Means something once complete.
  [[nodiscard]] bool keep_alive() const { return keep_alive_ && !until_close_; }
  /// Any byte at all arrived.
  [[nodiscard]] bool started() const { return started_; }

 private:
  enum class State { kStatusLine, kFields, kBody, kChunkSize, kChunkData, kChunkEnd, kTrailers, kUntilClose, kComplete, kFailed };

  bool whole_chunk(std::string_view& bytes, std::string_view& piece);
  Status take_line(std::string_view line);
  Status take_status_line(std::string_view line);
  Status take_field(std::string_view line);
  Status end_of_head();
  Status take_chunk_size(std::string_view line);
  Error fail(std::string what);

  // What every read looks at comes first: one line of the cache.
  State state_ = State::kStatusLine;
  bool started_ = false;
  bool head_done_ = false;
  bool keep_alive_ = true;
  bool until_close_ = false;
  std::uint64_t left_ = 0;  ///< of the body or chunk
  std::string line_;        ///< the unfinished line
  HttpLimits limits_;
  std::size_t head_bytes_ = 0;  ///< of the part being read: head or trailers
  HttpHead head_;
};

}  // namespace pawl::wire
