#pragma once

#include <map>
#include <mutex>

#include "io/processes.h"

namespace pawl::posix {

/// Processes of this machine, through posix_spawn and /proc.
class RealProcesses final : public io::Processes {
 public:
  Result<io::ProcessId> launch(const io::ProcessSpec& spec) override;
  Result<std::optional<io::ProcessEnd>> wait(const io::ProcessId& id, Nanos limit, std::stop_token stop) override;
  [[nodiscard]] bool alive(const io::ProcessId& id) const override;
  Status end_group(const io::ProcessId& id, Nanos grace) override;

 private:
  /// Reaps a child that has ended; its end is kept so that every later wait gets the same answer.
  std::optional<io::ProcessEnd> reap(const io::ProcessId& id);

  std::mutex mutex_;
  std::map<std::int64_t, io::ProcessEnd> ended_;  ///< children of ours that were reaped, by pid; guarded by mutex_
};

}  // namespace pawl::posix
