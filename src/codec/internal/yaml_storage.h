#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "codec/yaml.h"

namespace pawl::codec::internal {

/// What a document points into: the bytes of the file, and what had to be made beside them.
struct YamlStorage {
  explicit YamlStorage(std::string text) : bytes(std::move(text)) {}
  const std::string bytes;
  std::pmr::monotonic_buffer_resource arena{std::max<std::size_t>(1024, bytes.size())};

  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    char* copy = static_cast<char*>(arena.allocate(text.size(), 1));
    std::memcpy(copy, text.data(), text.size());
    return {copy, text.size()};
  }
  const char* keep_terminated(std::string_view text) {
    char* copy = static_cast<char*>(arena.allocate(text.size() + 1, 1));
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
    return copy;
  }
  /// Children lie one behind the other. Nodes hold nothing of their own, so they are never destroyed.
  template <class T>
  YamlList<T> keep_all(const T* first, std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count == 0) return {};
    T* copy = static_cast<T*>(arena.allocate(count * sizeof(T), alignof(T)));
    std::uninitialized_copy_n(first, count, copy);
    return {copy, count};
  }
};

}  // namespace pawl::codec::internal
