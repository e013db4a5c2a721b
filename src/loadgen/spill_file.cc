#include "loadgen/spill_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace pawl::loadgen {

Result<std::uint64_t> SpillFile::append(std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  if (!file_) {
    std::error_code none;
    const auto folder = std::filesystem::temp_directory_path(none);
    file_ = Descriptor(::open(none ? "/tmp" : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!file_) return machine_error(fmt::format("cannot make a temporary file: {}", std::strerror(errno)));
  }
  const std::uint64_t offset = size_;
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return machine_error(fmt::format("cannot write a temporary file: {}", std::strerror(errno)));
    size_ += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return offset;
}

Status SpillFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  const std::lock_guard lock(mutex_);
  while (!into.empty()) {
    const ssize_t n = ::pread(file_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return machine_error(fmt::format("cannot read a temporary file back: {}", std::strerror(n < 0 ? errno : EIO)));
    offset += static_cast<std::uint64_t>(n);
    into = into.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace pawl::loadgen
