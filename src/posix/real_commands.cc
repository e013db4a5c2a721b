#include "posix/real_commands.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "posix/real_clock.h"

extern char** environ;  // NOLINT: POSIX

namespace pawl::posix {
namespace {

/// A descriptor that is closed when it goes.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  [[nodiscard]] int get() const { return number_; }
  void set(int number) {
    close();
    number_ = number;
  }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

struct Pipe {
  Descriptor read, write;
  [[nodiscard]] bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read.set(ends[0]);
    write.set(ends[1]);
    return true;
  }
};

struct SpawnActions {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  SpawnActions() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
};

std::vector<std::string> environment_of(const io::CommandSpec& spec) {
  std::vector<std::string> all;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view entry(*e);
    bool replaced = false;
    for (const auto& [name, value] : spec.env) replaced |= name == entry.substr(0, entry.find('='));
    if (!replaced) all.emplace_back(entry);
  }
  for (const auto& [name, value] : spec.env) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));  // NOLINT: exec's signature
  all.push_back(nullptr);
  return all;
}

/// Reads what is there. False at the end of the stream.
bool drain(int descriptor, std::string& into) {
  std::array<char, 65536> block;
  for (;;) {
    const ssize_t n = ::read(descriptor, block.data(), block.size());
    if (n > 0) {
      into.append(block.data(), static_cast<std::size_t>(n));
      return true;
    }
    if (n < 0 && errno == EINTR) continue;
    return n < 0 && errno == EAGAIN;
  }
}

}  // namespace

Result<io::CommandOutput> RealCommands::run(const io::CommandSpec& spec, Nanos limit, std::stop_token stop) {
  if (spec.argv.empty()) return internal_error("a command needs a program");
  const std::string& program = spec.argv[0];
  Pipe out, err;
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!out.open() || !err.open() || wake.get() < 0)
    return machine_error(fmt::format("cannot start {}: {}", program, std::strerror(errno)), "raise the limit of open files (ulimit -n)");

  SpawnActions actions;
  ::posix_spawn_file_actions_addopen(&actions.files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions.files, out.write.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions.files, err.write.get(), 2);
  if (!spec.folder.empty()) ::posix_spawn_file_actions_addchdir_np(&actions.files, spec.folder.c_str());
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigmask(&actions.attributes, &none);
  ::posix_spawnattr_setsigdefault(&actions.attributes, &defaults);
  ::posix_spawnattr_setpgroup(&actions.attributes, 0);
  ::posix_spawnattr_setflags(&actions.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  const std::vector<std::string> environment = environment_of(spec);
  pid_t pid = 0;
  const int code = ::posix_spawnp(&pid, program.c_str(), &actions.files, &actions.attributes, pointers(spec.argv).data(), pointers(environment).data());
  if (code == ENOENT) return not_found(fmt::format("cannot start {}: no such program", program), "install it, or add its folder to PATH");
  if (code != 0) return machine_error(fmt::format("cannot start {}: {}", program, std::strerror(code)));
  out.write.close();
  err.write.close();

  const std::stop_callback on_stop(stop, [&] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(wake.get(), &one, sizeof one);
  });
  const RealClock clock;
  const MonoTime deadline = clock.now() + limit;
  io::CommandOutput output;
  std::optional<Error> trouble;
  bool out_open = true, err_open = true;
  while ((out_open || err_open) && !trouble) {
    const Nanos left = deadline - clock.now();
    if (stop.stop_requested()) {
      trouble = cancelled();
    } else if (left <= Nanos{0}) {
      trouble = Error{ErrorClass::kUnknownOutcome, ExitStatus::kPeer, fmt::format("{} did not end within {:.0f} s", program, seconds_of(limit)), {}};
    } else {
      std::array<pollfd, 3> waiting{pollfd{out_open ? out.read.get() : -1, POLLIN, 0}, pollfd{err_open ? err.read.get() : -1, POLLIN, 0},
                                    pollfd{wake.get(), POLLIN, 0}};
      const auto ms = std::chrono::ceil<Millis>(left).count();
      (void)::poll(waiting.data(), waiting.size(), static_cast<int>(std::min<std::int64_t>(ms, 60'000)));
      if (waiting[0].revents != 0) out_open = drain(out.read.get(), output.out);
      if (waiting[1].revents != 0) err_open = drain(err.read.get(), output.err);
      if (std::max(output.out.size(), output.err.size()) > spec.max_output_bytes)
        trouble = machine_error(fmt::format("{} printed more than {} bytes", program, spec.max_output_bytes));
    }
  }
  if (trouble) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (trouble) return std::move(*trouble);
  if (WIFSIGNALED(status)) {
    output.end.signal = WTERMSIG(status);
  } else {
    output.end.code = WEXITSTATUS(status);
  }
  return output;
}

}  // namespace pawl::posix
