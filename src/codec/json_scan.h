#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::codec {

/// Walks one JSON text from front to back without building a tree and without allocating: for texts of which a few
/// members matter and which come by the million. As strict as `parse_json`: whoever walks to the end and finds
/// `finish()` true has read a well-formed text of valid UTF-8, not nested over 300 deep. One difference: an escaped
/// surrogate without its partner is taken (RFC 8259 allows it; servers that cut a text in the middle send it) and reads
/// as U+FFFD.
///
/// Every call that takes a value consumes exactly one. After the first fault every call answers "nothing" and `failed()`
/// is true. All views point into the text given.
///
///     JsonScan scan(text);
///     if (scan.enter_object()) {
///       for (std::string_view key; scan.next_key(key);) {
///         if (key == "usage") read_usage(scan); else scan.skip();
///       }
///     }
///     if (!scan.finish()) …
class JsonScan {
 public:
  explicit JsonScan(std::string_view text) : text_(text) {}

  enum class Kind { kObject, kArray, kString, kNumber, kTrue, kFalse, kNull, kBroken };
  /// What value comes next; takes nothing.
  [[nodiscard]] Kind peek();

  /// Takes `{`. False, with the value skipped, when the next one is something else.
  bool enter_object();
  /// The next key of the object entered last, as it stands between its quotes (a key written with escapes does not equal
  /// the one it means: no server writes its member names so); false at the end of the object.
  bool next_key(std::string_view& key);
  /// Takes `[`. False, with the value skipped, when the next one is something else.
  bool enter_array();
  /// Whether another element follows in the array entered last; false takes its end.
  bool next_element();

  /// Takes a string and gives what stands between its quotes, escapes as they are. Nothing, with the value skipped, for
  /// another kind.
  std::optional<std::string_view> raw_string();
  /// Takes a number without fraction and exponent that fits. Nothing, with the value skipped, for anything else.
  std::optional<std::int64_t> integer();
  /// Takes any number. Nothing, with the value skipped, for anything else.
  std::optional<double> number();
  /// Takes `true` or `false`. Nothing, with the value skipped, for anything else.
  std::optional<bool> boolean();
  /// Takes any value and gives its text.
  std::string_view skip();

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::size_t position() const { return at_; }
  /// Nothing but blanks follows, all that was entered was left, and nothing was wrong.
  [[nodiscard]] bool finish();

 private:
  void blanks();
  void fail() { failed_ = true; }
  bool value();
  bool string_value();
  bool number_value(bool& integral);
  bool word(std::string_view expected);
  bool open(char kind);

  static constexpr int kDepthLimit = 300;
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool first_ = false;  ///< nothing of the container entered last was taken yet
  bool failed_ = false;
};

/// Appends a raw string of JsonScan with its escapes resolved. `raw` must have come from `raw_string` or `next_key`.
void append_unescaped(std::string_view raw, std::string& out);

}  // namespace pawl::codec
