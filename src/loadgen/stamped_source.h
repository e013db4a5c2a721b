#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace pawl::loadgen {

/// What truly happened to one answer.
struct TrueTimes {
  MonoTime arrived;              ///< the kernel had the last byte of the request
  std::vector<MonoTime> events;  ///< just before each token event was given to the kernel
};

/// A server inside this program that answers completions with one token an event at known times, to measure the client by
/// (BC-12.6). It listens on a free port of 127.0.0.1 and runs on a thread of its own.
class StampedSource {
 public:
  struct Options {
    Nanos ttft = Millis(50);  ///< of the first token, plus a part of one gap that differs from request to request
    Nanos gap = Millis(25);
    int core = -1;  ///< to stay on; −1: wherever it is put
  };
  /// Error: kExhausted when it cannot listen.
  static Result<std::unique_ptr<StampedSource>> start(const Options& options);
  ~StampedSource();
  StampedSource(const StampedSource&) = delete;
  StampedSource& operator=(const StampedSource&) = delete;

  [[nodiscard]] std::string url() const;
  /// Ends it and gives the true times by the x-request-id of the request. Once only.
  std::map<std::string, TrueTimes> stop();

 private:
  class Loop;
  explicit StampedSource(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace pawl::loadgen
