#include "posix/real_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "posix/real_clock.h"

extern char** environ;  // NOLINT: POSIX

namespace pawl::posix {
namespace {

std::string boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  in >> id;
  return id;
}

struct StatLine {
  char state = '?';
  std::int64_t group = 0;
  std::int64_t start_ticks = 0;
};

/// Fields 3, 5 and 22 of /proc/PID/stat; the command in field 2 may hold blanks and parentheses.
std::optional<StatLine> stat_of(std::int64_t pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  const auto close = line.rfind(')');
  if (close == std::string::npos || close + 2 >= line.size()) return std::nullopt;
  const auto fields = split(std::string_view(line).substr(close + 2), ' ');
  if (fields.size() < 20) return std::nullopt;
  return StatLine{fields[0].empty() ? '?' : fields[0][0], parse_int(fields[2]).value_or(0), parse_int(fields[19]).value_or(0)};
}

/// Whether the group has a member that still runs. Zombies do not count: signalling them succeeds, but whoever adopted
/// them decides when they are reaped.
bool group_runs(std::int64_t pgid) {
  if (::kill(static_cast<pid_t>(-pgid), 0) != 0 && errno != EPERM) return false;
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ec)) {
    const auto pid = parse_int(entry.path().filename().string());
    if (!pid) continue;
    const auto stat = stat_of(*pid);
    if (stat && stat->group == pgid && stat->state != 'Z' && stat->state != 'X') return true;
  }
  return false;
}

}  // namespace

Result<io::ProcessId> RealProcesses::launch(const io::ProcessSpec& spec) {
  if (spec.argv.empty()) return internal_error("a process needs a program");
  std::vector<std::string> env_text;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view entry(*e);
    const std::string_view name = entry.substr(0, entry.find('='));
    bool replaced = false;
    for (const auto& [key, value] : spec.env) replaced |= key == name;
    if (!replaced) env_text.emplace_back(entry);
  }
  for (const auto& [key, value] : spec.env) env_text.push_back(key + "=" + value);
  std::vector<char*> argv, envp;
  for (const std::string& a : spec.argv) argv.push_back(const_cast<char*>(a.c_str()));  // NOLINT: exec's signature
  argv.push_back(nullptr);
  for (const std::string& e : env_text) envp.push_back(const_cast<char*>(e.c_str()));  // NOLINT: exec's signature
  envp.push_back(nullptr);

  // The child reports a failed exec through this pipe; a good exec closes it.
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0)
    return machine_error(fmt::format("cannot start {}: {}", spec.argv[0], std::strerror(errno)), "raise the limit of open files (ulimit -n)");
  const std::string folder = spec.folder.string();
  const std::string output = spec.output_file.empty() ? "/dev/null" : spec.output_file.string();
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    const int code = errno;
    ::close(report[0]);
    ::close(report[1]);
    return machine_error(fmt::format("cannot start {}: {}", spec.argv[0], std::strerror(code)), "too many processes? see ulimit -u");
  }
  if (pid == 0) {
    // Between fork and exec only async-signal-safe calls are allowed.
    const auto fail = [&] {
      const int code = errno;
      [[maybe_unused]] const ssize_t n = ::write(report[1], &code, sizeof code);
      ::_exit(127);
    };
    ::setpgid(0, 0);
    if (spec.ends_with_parent) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(127);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
    ::signal(SIGPIPE, SIG_DFL);
    const int in = ::open("/dev/null", O_RDONLY);
    const int out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (in < 0 || out < 0) fail();
    ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    if (in > 2) ::close(in);
    if (out > 2) ::close(out);
    if (!folder.empty() && ::chdir(folder.c_str()) != 0) fail();
    ::execvpe(argv[0], argv.data(), envp.data());
    fail();
  }
  ::setpgid(pid, pid);  // also here, so that the group exists before anyone signals it
  ::close(report[1]);
  int code = 0;
  ssize_t n = 0;
  do n = ::read(report[0], &code, sizeof code);
  while (n < 0 && errno == EINTR);
  ::close(report[0]);
  if (n > 0) {
    ::waitpid(pid, nullptr, 0);
    if (code == ENOENT) return not_found(fmt::format("cannot start {}: no such program", spec.argv[0]));
    return machine_error(fmt::format("cannot start {}: {}", spec.argv[0], std::strerror(code)));
  }
  {
    const std::lock_guard lock(mutex_);
    ended_.erase(pid);
  }
  const auto stat = stat_of(pid);
  return io::ProcessId{pid, stat ? stat->start_ticks : 0, boot_id()};
}

std::optional<io::ProcessEnd> RealProcesses::reap(const io::ProcessId& id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = ended_.find(id.pid); found != ended_.end()) return found->second;
  int status = 0;
  const pid_t got = ::waitpid(static_cast<pid_t>(id.pid), &status, WNOHANG);
  if (got != id.pid) return std::nullopt;
  io::ProcessEnd end;
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  ended_[id.pid] = end;
  return end;
}

bool RealProcesses::alive(const io::ProcessId& id) const {
  const auto stat = stat_of(id.pid);
  return stat && stat->state != 'Z' && stat->state != 'X' && stat->start_ticks == id.start_ticks && boot_id() == id.boot;
}

Result<std::optional<io::ProcessEnd>> RealProcesses::wait(const io::ProcessId& id, Nanos limit, std::stop_token stop) {
  const RealClock clock;
  const MonoTime deadline = clock.now() + limit;
  Nanos pause = Millis{1};
  for (;;) {
    if (auto end = reap(id)) return end;
    if (!alive(id)) {
      // Not a child of this pawl (an earlier one started it), or reaped between the two looks.
      if (auto end = reap(id)) return end;
      return std::optional<io::ProcessEnd>(io::ProcessEnd{});
    }
    const MonoTime now = clock.now();
    if (now >= deadline || stop.stop_requested()) return std::optional<io::ProcessEnd>();
    clock.sleep_until(std::min(deadline, now + pause), stop);
    pause = std::min<Nanos>(pause * 2, Millis{20});
  }
}

Status RealProcesses::end_group(const io::ProcessId& id, Nanos grace) {
  if (boot_id() != id.boot) return {};
  // The group outlives its leader; but once the leader's id names another process, the group is not ours any more.
  const auto ours = [&] {
    const auto stat = stat_of(id.pid);
    return !stat || stat->start_ticks == id.start_ticks;
  };
  if (!ours()) return {};
  const RealClock clock;
  for (const int signal : {SIGTERM, SIGKILL}) {
    const bool known = alive(id);
    if (!known) {
      (void)reap(id);
      if (!group_runs(id.pid)) return {};
    }
    if (!ours()) return {};
    ::kill(static_cast<pid_t>(-id.pid), signal);
    const MonoTime deadline = clock.now() + (signal == SIGTERM ? grace : Nanos{Seconds{5}});
    while (clock.now() < deadline) {
      (void)reap(id);
      if (!alive(id) && !group_runs(id.pid)) return {};
      clock.sleep_for(Millis{2}, {});
    }
  }
  if (alive(id)) return machine_error(fmt::format("process {} does not end, not even when killed", id.pid), "look at it with ps; it may hang in a driver");
  return {};
}

}  // namespace pawl::posix
