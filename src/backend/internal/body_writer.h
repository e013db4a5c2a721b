#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace pawl::backend {

/// Writes one JSON object key by key. A key that the user's extra object names is left out here and comes from there, at
/// the end (BC-11.4).
class BodyWriter {
 public:
  /// Both must outlive the writer. `extra`: an object or null.
  BodyWriter(std::string& out, const codec::Json& extra);

  void raw(std::string_view key, std::string_view json);
  void text(std::string_view key, std::string_view value);
  void integer(std::string_view key, std::int64_t value);
  void number(std::string_view key, double value);
  void boolean(std::string_view key, bool value) { raw(key, value ? "true" : "false"); }
  void null(std::string_view key) { raw(key, "null"); }
  void ids(std::string_view key, const std::vector<std::int32_t>& values);
  /// The one length key; left out when the user names any of `aliases` (or `key` itself): never two (BC-11.1).
  void length(std::string_view key, std::int64_t tokens, std::initializer_list<std::string_view> aliases);
  /// An object inside: built-in members first, those of the user's object of the same key override and follow.
  template <class Fill>
  void object(std::string_view key, Fill&& fill) {
    const codec::Json* own = given(key);
    if (own != nullptr && !own->is_object()) return;  // the user replaces it altogether
    if (own != nullptr) merged_.emplace_back(key);
    begin(key);
    BodyWriter inner(*out_, own != nullptr ? *own : none());
    fill(inner);
    inner.finish();
  }
  /// Appends the user's keys and closes the object.
  void finish();
  [[nodiscard]] bool is_given(std::string_view key) const { return given(key) != nullptr; }

 private:
  static const codec::Json& none();
  [[nodiscard]] const codec::Json* given(std::string_view key) const;
  void begin(std::string_view key);

  std::string* out_;
  const codec::Json* extra_;
  bool first_ = true;
  std::vector<std::string> merged_;  ///< keys of `extra` that stand in the object already
};

/// `value` as a JSON text with its quotes.
void append_json_text(std::string& out, std::string_view value);

}  // namespace pawl::backend
