#pragma once

#include <string_view>

#include "measure/record.h"

namespace pawl::measure {

/// Watches a load run from outside. Calls come from the threads of the run, one at a time or not: an implementation locks.
/// It must not block for long and must not fail the run.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// The measured phase begins. `origin`: no later than its first send; `wall`: the same moment on the calendar.
  virtual void begin(MonoTime origin, WallTime wall) = 0;
  /// The first measured request as it goes out, secrets masked (BC-11.4).
  virtual void first_request(std::string_view head, std::string_view body) = 0;
  /// A request is over, of any phase. Nothing of the record lives longer than the call.
  virtual void take(const RequestRecord& record) = 0;
};

}  // namespace pawl::measure
