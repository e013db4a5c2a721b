#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>

#include "base/shown.h"
#include "base/text.h"
#include "cli.h"
#include "posix/embedded_assets.h"
#include "posix/real_clock.h"
#include "posix/real_commands.h"
#include "posix/real_files.h"
#include "posix/real_processes.h"
#include "version.h"

namespace pawl::app {
namespace {

/// Turns the first SIGINT or SIGTERM into a stop request; a second one ends the process at once. The signals are
/// blocked in every thread and taken by one thread of ours, so no handler runs in the middle of anything.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    watcher_ = std::jthread([this](std::stop_token own) {
      int seen = 0, signal = 0;
      while (sigwait(&set_, &signal) == 0 && !own.stop_requested()) {
        if (signal == SIGUSR1) continue;  // only our own destructor has a use for it
        if (++seen > 1) ::_exit(static_cast<int>(ExitStatus::kInterrupted));
        if (::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\nstopping: ending what was started (once more to leave at once)\n");
        source_.request_stop();
      }
    });
  }
  ~Signals() {
    watcher_.request_stop();
    pthread_kill(watcher_.native_handle(), SIGUSR1);  // a command must not wait for a tick to end
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  sigset_t set_{};
  std::stop_source source_;
  std::jthread watcher_;
};

void print_error(const Error& error, bool json, bool colour) {
  if (json) {
    codec::Json body{{"message", error.message}};
    if (!error.remedy.empty()) body["remedy"] = error.remedy;
    if (error.place) body["place"] = {{"file", error.place->file}, {"line", error.place->line}, {"column", error.place->column}, {"text", error.place->text}};
    body["exit_status"] = static_cast<int>(error.exit);
    fmt::print(stderr, "{}", codec::write_json_pretty({{"schema", "pawl.error/1"}, {"error", body}}));
    return;
  }
  const std::string where = error.place ? fmt::format("{}:{}:{}: ", error.place->file, error.place->line, error.place->column) : "";
  // Messages and lines hold what files and other services say.
  fmt::print(stderr, "{}{}{}\n", colour ? "\033[31mpawl:\033[0m " : "pawl: ", shown_text(where), shown_text(error.message));
  if (error.place && !error.place->text.empty()) {
    fmt::print(stderr, "  | {}\n  | {:>{}}\n", shown_line(error.place->text), "^", std::max(1, error.place->column));
  }
  if (!error.remedy.empty()) fmt::print(stderr, "  {}\n", shown_text(error.remedy));
}

/// The command that the parser got to.
const CLI::App& deepest(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

/// "pawl upgrade plan"
std::string path_of(const CLI::App& app) { return app.get_parent() == nullptr ? app.get_name() : path_of(*app.get_parent()) + " " + app.get_name(); }

/// What CLI11 could not parse, in its words, except that it does not name an unknown command.
std::string parse_message(const CLI::App& root, const CLI::ParseError& error, int argc, char** argv) {
  if (error.get_name() != "RequiredError") return error.what();
  const CLI::App& app = deepest(root);
  if (app.get_subcommands([](const CLI::App*) { return true; }).empty()) return error.what();
  const std::string path = path_of(app);
  const auto next = static_cast<int>(std::ranges::count(path, ' ')) + 1;
  if (next < argc && argv[next][0] != '-') return fmt::format("there is no command \"{} {}\"", path, argv[next]);
  return fmt::format("{} needs a command after it", path);
}

/// A remedy for what CLI11 could not parse: the nearest flag or command.
std::string suggestion(const CLI::App& root, int argc, char** argv) {
  const CLI::App* app = &deepest(root);
  std::vector<std::string> known;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const CLI::App* sub : app->get_subcommands([](const CLI::App*) { return true; })) known.push_back(sub->get_name());
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = std::string_view(argv[i]).substr(0, std::string_view(argv[i]).find('='));
    if (std::ranges::find(known, word) != known.end()) continue;
    if (!word.starts_with("--") && app->get_subcommands([](const CLI::App*) { return true; }).empty()) continue;
    if (const auto near = nearest(word, known)) {
      if (*near != word) return fmt::format("did you mean {}?", *near);
    }
  }
  return fmt::format("see {} --help", path_of(*app));
}

void add_all_commands(Cli& cli) {
  add_demo_command(cli);
  add_upgrade_commands(cli);
  add_catalog_commands(cli);
  add_matrix_commands(cli);
  add_image_commands(cli);
  add_priority_command(cli);
  add_changelog_commands(cli);
  add_compat_commands(cli);
  add_upstream_commands(cli);
  add_change_request_commands(cli);
  add_sweep_commands(cli);
  add_bench_command(cli);
  add_power_commands(cli);
  add_evidence_command(cli);
  add_eval_commands(cli);
  add_tokenize_command(cli);
  add_twin_command(cli);
  add_job_command(cli);
  add_serve_command(cli);
  add_results_commands(cli);
  add_store_commands(cli);
  add_baseline_commands(cli);
  add_schema_command(cli);
  add_completion_command(cli);
}

/// Commands that a CI calls over and over, and that end by themselves soon: only theirs are built, and a signal ends them the usual way.
struct Family {
  std::string_view name;
  void (*add)(Cli&);
};
constexpr Family kQuick[] = {
    {"catalog", add_catalog_commands}, {"changelog", add_changelog_commands}, {"matrix", add_matrix_commands}, {"priority", add_priority_command}};

int run(int argc, char** argv) {
  const auto* quick = std::ranges::find(kQuick, argc > 1 ? std::string_view(argv[1]) : std::string_view(), &Family::name);
  ::signal(SIGPIPE, SIG_IGN);
  std::optional<Signals> signals;
  if (quick == std::end(kQuick)) signals.emplace();
  posix::RealClock clock;
  posix::RealFiles files;
  posix::RealProcesses processes;
  posix::RealCommands commands;
  std::error_code ec;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", ec).string();
  World world{clock,
              files,
              processes,
              commands,
              nullptr,
              ec ? std::string(argv[0]) : self,
              signals ? signals->token() : std::stop_token(),
              ::isatty(STDOUT_FILENO) != 0};

  CLI::App root("pawl keeps the serving images of LLM-inference recipes moving forward, and never backward.", "pawl");
  root.set_version_flag("--version", std::string("pawl ") + kVersion);
  root.require_subcommand(1);
  CommonFlags flags;
  Cli cli{root, flags, {}};
  if (quick != std::end(kQuick))
    quick->add(cli);
  else
    add_all_commands(cli);
  // Last: a command copies the footer that its parent has when it is added.
  root.footer(
      "Start here:\n"
      "  pawl demo                      the whole story on this machine, with simulated engines, in half a minute\n"
      "  pawl upgrade plan --help       what an upgrade of a recipe would change and measure\n"
      "  pawl bench --help              measure an LLM server\n"
      "\nExit statuses: 0 done, 1 found wanting, 2 usage, 3 bad input, 4 this machine, 5 a peer, 6 engine or run failed,\n"
      "7 deferred, 8 stopped, 130 interrupted.");

  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return root.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return root.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return root.exit(e);
  } catch (const CLI::ParseError& e) {
    const bool json = std::ranges::any_of(std::span(argv, static_cast<std::size_t>(argc)), [](const char* a) { return std::string_view(a) == "--json"; });
    print_error(usage_error(parse_message(root, e, argc, argv), suggestion(root, argc, argv)), json, ::isatty(STDERR_FILENO) != 0);
    return static_cast<int>(ExitStatus::kUsage);
  }
  world.assets = std::make_unique<posix::EmbeddedAssets>(flags.data);
  auto outcome = cli.selected(world, flags);
  std::fflush(stdout);
  // The reference knows 0, 1 for whatever is refused or fails, 2 for usage.
  const auto status = [&](ExitStatus s) { return flags.compat && s != ExitStatus::kDone && s != ExitStatus::kUsage ? 1 : static_cast<int>(s); };
  if (!outcome) {
    if (flags.compat && !flags.json) fmt::print(stderr, "ERROR: {}\n", shown_text(outcome.error().message));
    print_error(outcome.error(), flags.json, ::isatty(STDERR_FILENO) != 0);
    return status(outcome.error().exit);
  }
  return status(*outcome);
}

}  // namespace
}  // namespace pawl::app

int main(int argc, char** argv) {
  try {
    return pawl::app::run(argc, argv);
  } catch (const std::system_error& e) {
    // Whoever read our output wanted no more of it (`pawl matrix … --table | head`): nothing to report.
    if (e.code() == std::errc::broken_pipe) return static_cast<int>(pawl::ExitStatus::kMachine);
    fmt::print(stderr, "pawl: {}\n", e.what());
    return static_cast<int>(pawl::ExitStatus::kMachine);
  } catch (const std::exception& e) {
    fmt::print(stderr, "pawl: defect: {}\n  please report it with the command that you ran\n", e.what());
    return static_cast<int>(pawl::ExitStatus::kRunFailed);
  }
}
