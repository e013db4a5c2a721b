#include "posix/real_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace pawl::posix {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool ok() const { return fd_ >= 0; }
  /// Close errors matter after a write: the last bytes may be refused only then.
  int close() {
    const int rc = ::close(fd_);
    fd_ = -1;
    return rc;
  }

 private:
  int fd_;
};

Error file_error(int code, const std::string& doing, const fs::path& path) {
  const std::string message = fmt::format("{} {}: {}", doing, path.string(), std::strerror(code));
  switch (code) {
    case ENOENT:
      return not_found(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return machine_error(message, "give the user that runs pawl the right to write there, or choose another folder with --workspace");
    case ENOSPC:
    case EDQUOT:
      return machine_error(message, "free disk space, then run the same command again: nothing was half-written");
    case EMFILE:
    case ENFILE:
      return machine_error(message, "raise the limit of open files (ulimit -n)");
    default:
      return machine_error(message);
  }
}

}  // namespace

Result<std::string> RealFiles::read(const fs::path& path, std::uint64_t max_bytes) const {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return file_error(errno, "cannot open", path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return file_error(errno, "cannot read", path);
  if (S_ISDIR(info.st_mode)) return bad_input(fmt::format("{} is a folder, not a file", path.string()));
  std::string bytes;
  const auto too_large = [&] { return bad_input(fmt::format("{} is larger than the {} bytes allowed", path.string(), max_bytes)); };
  if (S_ISREG(info.st_mode) && static_cast<std::uint64_t>(info.st_size) > max_bytes) return too_large();
  if (S_ISREG(info.st_mode)) bytes.reserve(static_cast<std::size_t>(info.st_size));
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_error(errno, "cannot read", path);
    if (n == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(n));
    if (bytes.size() > max_bytes) return too_large();
  }
}

Status RealFiles::write_atomic(const fs::path& path, std::string_view bytes) const {
  if (path.has_parent_path()) PAWL_TRY(make_folder(path.parent_path()));
  // The temporary lies beside the target: a rename is atomic only inside one file system.
  std::string temporary = path.string() + ".XXXXXX";
  Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.ok()) return file_error(errno, "cannot write", path);
  const auto give_up = [&](int code) {
    ::unlink(temporary.c_str());
    return file_error(code, "cannot write", path);
  };
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t n = ::write(file.get(), left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return give_up(errno);
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fchmod(file.get(), 0644) != 0 || ::fsync(file.get()) != 0) return give_up(errno);
  if (file.close() != 0) return give_up(errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return give_up(errno);
  Descriptor folder(::open(path.has_parent_path() ? path.parent_path().c_str() : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.ok()) ::fsync(folder.get());
  return {};
}

Status RealFiles::make_folder(const fs::path& path) const {
  std::error_code ec;
  fs::create_directories(path, ec);
  std::error_code ignored;
  if (ec && !fs::is_directory(path, ignored)) {
    // Also when a parent is missing: a folder that cannot be made is no wrong input but a place that does not take it.
    return machine_error(fmt::format("cannot create the folder {}: {}", path.string(), ec.message()),
                         "choose another folder, or give the user that runs pawl the right to write there");
  }
  return {};
}

bool RealFiles::exists(const fs::path& path) const {
  std::error_code ec;
  return fs::exists(path, ec);
}

Result<std::vector<std::string>> RealFiles::list_tree(const fs::path& folder) const {
  std::vector<std::string> names;
  std::error_code ec;
  fs::recursive_directory_iterator it(folder, fs::directory_options::none, ec);
  if (ec) return file_error(ec.value(), "cannot list", folder);
  for (const fs::recursive_directory_iterator end; it != end; it.increment(ec)) {
    if (ec) return file_error(ec.value(), "cannot list", folder);
    if (it->is_regular_file(ec) && !it->is_symlink(ec)) names.push_back(it->path().lexically_relative(folder).string());
  }
  std::ranges::sort(names);
  return names;
}

Status RealFiles::remove_tree(const fs::path& path) const {
  std::error_code ec;
  fs::remove_all(path, ec);
  if (ec) return file_error(ec.value(), "cannot remove", path);
  return {};
}

}  // namespace pawl::posix
