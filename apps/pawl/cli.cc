#include "cli.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>

#include "base/text.h"

namespace pawl::app {
namespace {

/// One line a step on standard error, with the time since the start.
class TextProgress final : public io::Progress {
 public:
  TextProgress(const io::Clock& clock, bool colour) : clock_(clock), start_(clock.now()), colour_(colour) {}
  void report(const io::ProgressLine& line) override {
    const std::lock_guard lock(mutex_);
    const double at = seconds_of(clock_.now() - start_);
    std::string count;
    if (line.done && line.total) count = fmt::format(" [{}/{}]", *line.done, *line.total);
    const std::string head = fmt::format("{:6.1f}s  {:<9}{}", at, line.stage, count);
    fmt::print(stderr, "{}  {}\n", colour_ ? "\033[2m" + head + "\033[0m" : head, line.message);
    std::fflush(stderr);
  }

 private:
  const io::Clock& clock_;
  const MonoTime start_;
  const bool colour_;
  std::mutex mutex_;
};

/// One JSON object a line on standard error, so that standard output stays one document.
class JsonProgress final : public io::Progress {
 public:
  explicit JsonProgress(const io::Clock& clock) : clock_(clock) {}
  void report(const io::ProgressLine& line) override {
    codec::Json json{{"schema", "pawl.progress/1"}, {"time", iso_utc(clock_.wall())}, {"stage", line.stage}, {"message", line.message}};
    if (line.done) json["done"] = *line.done;
    if (line.total) json["total"] = *line.total;
    for (const auto& [name, value] : line.numbers) json[name] = value;
    const std::lock_guard lock(mutex_);
    fmt::print(stderr, "{}\n", codec::write_json(json, codec::JsonForm::kCompactUtf8));
    std::fflush(stderr);
  }

 private:
  const io::Clock& clock_;
  std::mutex mutex_;
};

}  // namespace

CLI::App* Cli::command(CLI::App& parent, const std::string& name, const std::string& what, const std::string& examples) {
  CLI::App* app = parent.add_subcommand(name, what);
  app->add_option("--workspace", flags.workspace, "Folder with pawl.yaml, the database and the runs")
      ->each([this](const std::string&) { flags.workspace_given = true; })
      ->envname("PAWL_WORKSPACE");
  app->add_flag("--json", flags.json, "Print one JSON document instead of text");
  app->add_option("--progress", flags.progress, "How to show progress of long work: text, json, none")->check(CLI::IsMember({"text", "json", "none"}));
  app->add_option("--data", flags.data, "Folder whose files replace those built in (profiles, tasks, policies)")->check(CLI::ExistingDirectory);
  if (!examples.empty()) app->footer("Examples:\n" + examples);
  return app;
}

void print_json(const codec::Json& document) {
  const std::string text = codec::write_json_pretty(document);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

std::unique_ptr<io::Progress> make_progress(const World& world, const CommonFlags& flags) {
  if (flags.progress == "none") return std::make_unique<io::NoProgress>();
  if (flags.progress == "json") return std::make_unique<JsonProgress>(world.clock);
  return std::make_unique<TextProgress>(world.clock, ::isatty(STDERR_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr);
}

}  // namespace pawl::app
