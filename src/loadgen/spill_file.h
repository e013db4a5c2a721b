#pragma once

#include <mutex>

#include "loadgen/socket.h"
#include "measure/samples.h"

namespace pawl::loadgen {

/// Rows that memory should not hold, in a temporary file without a name: it is gone with the process, however that ends.
/// Made with the first row. Thread-safe.
class SpillFile final : public measure::Spill {
 public:
  Result<std::uint64_t> append(std::span<const std::byte> bytes) override;
  Status read(std::uint64_t offset, std::span<std::byte> into) const override;

 private:
  mutable std::mutex mutex_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace pawl::loadgen
