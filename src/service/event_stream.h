#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "http/server.h"
#include "store/database.h"

namespace pawl::service {

/// Server-sent events of one store: `store` when something was written (id: the store's generation; data: at, kind,
/// source, counts), `job` when a job of a sweep in the workspace changed its state. One thread looks at the database
/// twice a second while anybody listens.
class EventStream {
 public:
  using Open = std::function<Result<store::Database>()>;
  explicit EventStream(Open open);
  ~EventStream();

  /// Begins the answer and keeps the responder; with `after` the writes since that generation are told first. False: as
  /// many listen as may (200).
  bool add(std::shared_ptr<http::Responder> responder, std::optional<std::int64_t> after);
  /// Ends every stream.
  void stop();
  [[nodiscard]] std::size_t listeners();

 private:
  struct Listener {
    std::shared_ptr<http::Responder> responder;
    std::int64_t told = 0;  ///< generation
    bool fresh = true;
  };
  void watch(const std::stop_token& stop);
  Status look(store::Database& db);

  const Open open_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<Listener> listeners_;
  std::map<std::string, std::string> jobs_;  ///< state of each job, by "run attempt job"
  bool jobs_known_ = false;
  int quiet_ticks_ = 0;
  std::jthread thread_;
};

}  // namespace pawl::service
