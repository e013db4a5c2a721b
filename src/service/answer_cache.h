#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "results/api.h"
#include "service/compression.h"

namespace pawl::service {

/// An answer with its forms, each made once.
struct CachedAnswer {
  results::ApiAnswer answer;
  std::string etag;      ///< strong, with quotes, of the body as it is without compression
  std::string modified;  ///< HTTP date; may be empty
  std::array<std::string, 3> compressed;
  std::mutex mutex;  ///< for `compressed`

  [[nodiscard]] std::string form(Encoding encoding);
};

/// Answers of the newest state of the store, the ones used last within a limit of memory. Thread-safe.
class AnswerCache {
 public:
  explicit AnswerCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  /// The answer to `key` at this state of the store, or null.
  std::shared_ptr<CachedAnswer> find(const std::string& key, std::int64_t generation);
  void put(const std::string& key, std::int64_t generation, std::shared_ptr<CachedAnswer> answer);
  std::size_t clear();
  [[nodiscard]] std::size_t bytes();

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<CachedAnswer> answer;
  };
  const std::size_t bytes_max_;
  std::mutex mutex_;
  std::int64_t generation_ = -1;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  ///< used last first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
};

}  // namespace pawl::service
