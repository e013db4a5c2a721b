#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "cli.h"
#include "codec/describe.h"
#include "exec/process_record.h"
#include "runner/job_runner.h"

namespace pawl::app {
namespace {

namespace fs = std::filesystem;

/// The lock of a job's folder: held as long as this process lives, and naming it.
class JobLock {
 public:
  static Result<JobLock> take(const fs::path& folder, World& world) {
    const fs::path path = folder / exec::kLockFile;
    // Close-on-exec, or the engine would keep the lock when this process dies.
    JobLock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (lock.fd_ < 0) return machine_error(fmt::format("cannot open {}: {}", path.string(), std::strerror(errno)), "pawl must be able to write there");
    // The holder may be just about to end, or to write its name.
    const MonoTime patience = world.clock.now() + Seconds{2};
    while (::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return machine_error(fmt::format("cannot lock {}: {}", path.string(), std::strerror(errno)));
      if (world.clock.now() >= patience) {
        const auto holder = exec::read_record(world.files, path);
        return conflict(fmt::format("this job is running already{}", holder && *holder ? fmt::format(" as process {}", (*holder)->process.pid) : ""),
                        "wait for its result.json, or end that process");
      }
      if (!world.clock.sleep_for(Millis{50}, world.stop)) return cancelled();
    }
    PAWL_ASSIGN(const io::ProcessId self, exec::own_process(world.files));
    const std::string text = exec::write_record({"", self});
    // In place: a renamed file would be another file than the locked one.
    if (::ftruncate(lock.fd_, 0) != 0 || ::pwrite(lock.fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
      return machine_error(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)), "free disk space, then run it again");
    }
    return lock;
  }

  JobLock(JobLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  JobLock& operator=(JobLock&&) = delete;
  ~JobLock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  explicit JobLock(int fd) : fd_(fd) {}
  int fd_;
};

std::string metric(const model::BenchResult& bench, const std::string& name) {
  const auto found = bench.metrics.find(name);
  if (found == bench.metrics.end() || !std::isfinite(found->second.p50)) return "unknown";
  return fmt::format("{:.1f} ms", found->second.p50);
}

std::string summary(const model::JobResult& result) {
  std::string text = fmt::format("job {} (run {}, attempt {}) on {}: ", result.job, result.run, result.attempt, result.node);
  if (result.failure) {
    text += fmt::format("failed ({}): {}\n", codec::enum_text(result.failure->cls), result.failure->message);
    for (const std::string& line : result.failure->evidence) text += "  | " + line + "\n";
  } else if (result.bench) {
    const model::BenchResult& bench = *result.bench;
    text += fmt::format("{}, {} of {} requests, {:.1f} tokens/s, median TTFT {}, median TPOT {}\n", bench.verdict, bench.counts.ok, bench.counts.planned,
                        bench.output_throughput, metric(bench, "ttft_ms"), metric(bench, "tpot_ms"));
    for (const model::VerdictReason& reason : bench.reasons) text += fmt::format("  {}: {}\n", reason.code, reason.text);
  } else if (result.eval) {
    const model::EvalResult& eval = *result.eval;
    text += fmt::format("{} {}, strict {:.3f}, flexible {:.3f} (threshold {:.2f}), {} of {} questions answered\n", eval.task,
                        eval.passed ? "passed" : "not passed", eval.em_strict, eval.em_flexible, eval.threshold, eval.n_eff, eval.n_requested);
  }
  return text;
}

ExitStatus show(const model::JobResult& result, const CommonFlags& flags) {
  if (flags.json) {
    print_json(codec::to_json(result));
  } else {
    fmt::print("{}", summary(result));
  }
  return result.ok() ? ExitStatus::kDone : ExitStatus::kRunFailed;
}

Result<ExitStatus> run(const fs::path& spec_file, World& world, const CommonFlags& flags) {
  const fs::path path = fs::absolute(spec_file);
  const fs::path folder = path.parent_path();
  if (path.filename() != "spec.json") {
    return bad_input(fmt::format("{}: the file of a job must be called spec.json", spec_file.string()), "its folder is where result.json and server.log go");
  }
  PAWL_ASSIGN(const std::string text, world.files.read(path));
  PAWL_ASSIGN(const model::JobSpec spec, runner::parse_spec(text, spec_file.string()));
  PAWL_ASSIGN(auto known, runner::finished_result(world.files, folder));
  if (known) return show(*known, flags);
  PAWL_ASSIGN(const JobLock lock, JobLock::take(folder, world));
  // Whoever held the lock until now may have done the job.
  PAWL_ASSIGN(known, runner::finished_result(world.files, folder));
  if (known) return show(*known, flags);
  const auto progress = make_progress(world, flags);
  PAWL_ASSIGN(const model::JobResult result,
              runner::run_job(spec, folder, {world.clock, world.files, world.processes, *world.assets, world.commands}, *progress, world.stop));
  return show(result, flags);
}

}  // namespace

void add_job_command(Cli& cli) {
  CLI::App* app = cli.command(cli.root, "job", "Run one job of a sweep: start its engine, measure or evaluate, leave result.json beside the spec",
                              "  pawl job runs/12/1/tp2-conc4/spec.json\n"
                              "  pawl job spec.json --json\n"
                              "\nA job whose result.json answers its spec.json already is not run again.");
  auto spec = std::make_shared<std::string>();
  app->add_option("SPEC", *spec, "The spec.json of the job")->required();
  app->callback([&cli, spec] { cli.selected = [spec](World& world, const CommonFlags& flags) { return run(*spec, world, flags); }; });
}

}  // namespace pawl::app
