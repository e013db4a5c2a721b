#include "wire/http_response.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace pawl::wire {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

constexpr int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/// The parts of a comma list, in lower case.
std::vector<std::string> list_of(std::string_view value) {
  std::vector<std::string> items;
  for (const std::string_view part : split(value, ',')) {
    if (!trim(part).empty()) items.push_back(lower(trim(part)));
  }
  return items;
}

}  // namespace

std::optional<std::string_view> HttpHead::field(std::string_view name) const {
  for (const auto& [key, value] : fields) {
    if (key == name) return value;
  }
  return std::nullopt;
}

Error HttpResponseReader::fail(std::string what) {
  state_ = State::kFailed;
  keep_alive_ = false;
  return peer_error("HTTP response: " + std::move(what));
}

void HttpResponseReader::reset() {
  state_ = State::kStatusLine;
  head_.status = 0;
  head_.minor_version = 1;
  head_.reason.clear();
  head_.fields.clear();
  line_.clear();
  head_bytes_ = 0;
  left_ = 0;
  started_ = head_done_ = until_close_ = false;
  keep_alive_ = true;
}

/// The common case in one step: a chunk whose size line, data and line end are all there.
bool HttpResponseReader::whole_chunk(std::string_view& bytes, std::string_view& piece) {
  constexpr std::size_t kDigits = 6;
  std::size_t size = 0, at = 0;
  for (; at < kDigits && at < bytes.size(); ++at) {
    const int digit = hex_digit(bytes[at]);
    if (digit < 0) break;
    size = size * 16 + static_cast<std::size_t>(digit);
  }
  if (size == 0 || bytes.size() < at + size + 4 || bytes[at] != '\r' || bytes[at + 1] != '\n') return false;
  const std::size_t end = at + 2 + size;
  if (bytes[end] != '\r' || bytes[end + 1] != '\n') return false;
  piece = bytes.substr(at + 2, size);
  bytes.remove_prefix(end + 2);
  return true;
}

Status HttpResponseReader::next(std::string_view& bytes, std::string_view& piece) {
  piece = {};
  if (state_ == State::kChunkSize && line_.empty() && whole_chunk(bytes, piece)) return {};
  if (state_ == State::kFailed) return fail("read on after an error");
  started_ = started_ || !bytes.empty();
  while (!bytes.empty() && state_ != State::kComplete) {
    if (state_ == State::kUntilClose) {
      piece = std::exchange(bytes, {});
      return {};
    }
    if (state_ == State::kBody || state_ == State::kChunkData) {
      piece = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
      bytes.remove_prefix(piece.size());
      left_ -= piece.size();
      if (left_ == 0) state_ = state_ == State::kBody ? State::kComplete : State::kChunkEnd;
      return {};
    }
    const bool chunk_line = state_ == State::kChunkSize || state_ == State::kChunkEnd;
    const std::size_t limit = chunk_line ? limits_.chunk_line_bytes : limits_.head_bytes - head_bytes_;
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() > limit) return fail("a line or head over the limit");
    if (end == std::string_view::npos) {
      line_.append(part);
      bytes = {};
      return {};
    }
    bytes.remove_prefix(end + 1);
    std::string_view line = part;  // in place, unless it came in parts
    if (!line_.empty()) {
      line_.append(part);
      line = line_;
    }
    if (!chunk_line) head_bytes_ += line.size();
    if (line.ends_with('\r')) line.remove_suffix(1);
    PAWL_TRY(take_line(line));
    line_.clear();
  }
  return {};
}

Status HttpResponseReader::take_line(std::string_view line) {
  switch (state_) {
    case State::kStatusLine:
      return take_status_line(line);
    case State::kFields:
      return line.empty() ? end_of_head() : take_field(line);
    case State::kChunkSize:
      return take_chunk_size(line);
    case State::kChunkEnd:
      if (!line.empty()) return fail("no line end after a chunk");
      state_ = State::kChunkSize;
      return {};
    case State::kTrailers:
      if (line.empty()) state_ = State::kComplete;
      return {};
    default:
      return fail("a line where none belongs");
  }
}

Status HttpResponseReader::take_status_line(std::string_view line) {
  if (line.empty() && head_.status == 0) return {};  // an empty line before a status line is to be ignored
  const bool shaped =
      line.size() >= 12 && line.starts_with("HTTP/1.") && line[7] >= '0' && line[7] <= '9' && line[8] == ' ' && (line.size() == 12 || line[12] == ' ');
  const auto status = shaped ? parse_int(line.substr(9, 3)) : std::nullopt;
  if (!status || *status < 100) return fail("bad status line \"" + std::string(line.substr(0, 80)) + "\"");
  head_ = {};
  head_.status = static_cast<int>(*status);
  head_.minor_version = line[7] - '0';
  head_.reason = line.size() > 13 ? line.substr(13) : std::string_view{};
  state_ = State::kFields;
  return {};
}

Status HttpResponseReader::take_field(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return fail("bad field line \"" + std::string(line.substr(0, 80)) + "\"");
  head_.fields.emplace_back(lower(line.substr(0, colon)), trim(line.substr(colon + 1)));
  return {};
}

Status HttpResponseReader::end_of_head() {
  head_bytes_ = 0;
  if (head_.status == 101) return fail("the server wants to switch protocols");
  if (head_.status < 200) {
    state_ = State::kStatusLine;
    head_ = {};
    return {};
  }
  keep_alive_ = head_.minor_version >= 1;
  bool chunked = false, coded = false;
  std::optional<std::uint64_t> length;
  for (const auto& [name, value] : head_.fields) {
    if (name == "connection") {
      for (const std::string& option : list_of(value)) {
        if (option == "close") keep_alive_ = false;
        if (option == "keep-alive" && head_.minor_version == 0) keep_alive_ = true;
      }
    } else if (name == "transfer-encoding") {
      for (const std::string& coding : list_of(value)) {
        if (coding != "chunked" || chunked) return fail("transfer coding \"" + coding + "\" is not supported");
        coded = chunked = true;
      }
    } else if (name == "content-length") {
      for (const std::string& item : list_of(value)) {
        const auto n = parse_int(item);
        if (!n || *n < 0 || item[0] == '+' || (length && *length != static_cast<std::uint64_t>(*n)))
          return fail("bad content-length \"" + value.substr(0, 80) + "\"");
        length = static_cast<std::uint64_t>(*n);
      }
    }
  }
  head_done_ = true;
  if (coded && length) keep_alive_ = false;  // two lengths: read the coded one, trust nothing after it
  left_ = length.value_or(0);
  if (head_.status == 204 || head_.status == 304) {
    state_ = State::kComplete;
  } else if (chunked) {
    state_ = State::kChunkSize;
  } else if (length) {
    state_ = *length == 0 ? State::kComplete : State::kBody;
  } else {
    until_close_ = true;
    state_ = State::kUntilClose;
  }
  return {};
}

Status HttpResponseReader::take_chunk_size(std::string_view line) {
  const std::string_view digits = trim(line.substr(0, line.find(';')));
  std::uint64_t size = 0;
  if (digits.empty() || digits.size() > 15) return fail("bad chunk size \"" + std::string(line.substr(0, 80)) + "\"");
  for (const char c : digits) {
    const int digit = hex_digit(c);
    if (digit < 0) return fail("bad chunk size \"" + std::string(line.substr(0, 80)) + "\"");
    size = size * 16 + static_cast<std::uint64_t>(digit);
  }
  left_ = size;
  state_ = size == 0 ? State::kTrailers : State::kChunkData;
  return {};
}

Status HttpResponseReader::finish() {
  if (state_ == State::kUntilClose) state_ = State::kComplete;
  if (state_ == State::kComplete) return {};
  return fail(started_ ? "the connection closed before its end" : "the connection closed before its first byte");
}

}  // namespace pawl::wire
