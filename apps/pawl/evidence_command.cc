#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>

#include "base/hash.h"
#include "base/shown.h"
#include "base/text.h"
#include "cli.h"
#include "codec/describe.h"
#include "evidence/difference.h"
#include "evidence/extraction.h"
#include "playbook/playbook.h"
#include "telemetry/metrics_difference.h"
#include "workbench.h"

namespace pawl::app {
namespace {

using codec::Json;
namespace fs = std::filesystem;

struct EvidenceFlags {
  std::vector<std::string> subjects;
  std::string against, job, role;
  fs::path state;
  std::vector<std::string> signatures;
  bool notices = false, settings = false;
};

/// One log of a run and what stands beside it.
struct Source {
  std::string name;  ///< of the job or the file: what two runs are paired by
  std::string role;  ///< prefill, decode, router, frontend; empty: one engine does all
  fs::path log;
};

/// A log with all that was read from it.
struct Read {
  Source source;
  evidence::Evidence evidence;
  std::optional<telemetry::MetricsPage> metrics;
  std::optional<playbook::Diagnosis> diagnosis;
};

bool is_log(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const char* end : {".log", ".out", ".err", ".log.gz", ".out.gz", ".err.gz"}) {
    if (name.ends_with(end)) return true;
  }
  return false;
}

std::string role_of(const std::string& name) {
  for (const char* role : {"prefill", "decode", "router", "frontend"}) {
    if (name.find(role) != std::string::npos) return role;
  }
  return {};
}

/// "A1.log.gz" → "A1"
std::string stem_of(const fs::path& path) {
  std::string name = path.filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name.substr(0, name.rfind('.'));
}

/// Reads a file in pieces, packed with gzip or not.
class Pieces {
 public:
  static Result<Pieces> open(const fs::path& path) {
    std::error_code ec;
    if (fs::is_directory(path, ec)) return bad_input(fmt::format("{} is a folder", path.string()));
    gzFile file = gzopen(path.c_str(), "rb");
    if (file == nullptr) return not_found(fmt::format("{} cannot be read", path.string()));
    gzbuffer(file, 256u << 10);
    return Pieces(path, file);
  }
  /// Less than the room at the end of the file.
  Result<std::string_view> next() {
    const int got = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
    int code = Z_OK;
    const char* const why = gzerror(file_.get(), &code);
    if (got < 0 || code == Z_BUF_ERROR) return bad_input(fmt::format("{} is packed and ends too early, or is damaged: {}", path_.string(), why));
    return std::string_view(buffer_.data(), static_cast<std::size_t>(got));
  }
  /// Leaves out what an earlier reading has seen. False: the file is shorter than that.
  bool skip(std::int64_t bytes) { return gzseek(file_.get(), bytes, SEEK_SET) == bytes; }

 private:
  Pieces(fs::path path, gzFile file) : path_(std::move(path)), file_(file, &gzclose), buffer_(1u << 20) {}

  fs::path path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
  std::vector<char> buffer_;
};

/// Where an extraction of one log stands, on disk.
struct State {
  std::string schema = "pawl.evidence-state/1";
  std::string log;
  std::string head_sha256;  ///< of the first bytes: a log that was begun anew is read anew
  std::int64_t head_bytes = 0;
  evidence::Evidence evidence;
  evidence::Position position;
};
BOOST_DESCRIBE_STRUCT(State, (), (schema, log, head_sha256, head_bytes, evidence, position))

constexpr std::size_t kHead = 4096;

Result<evidence::Evidence> extract(const World& world, const evidence::SignatureBook& book, const fs::path& log, const fs::path& state_file,
                                   io::Progress& progress) {
  State state;
  if (!state_file.empty() && world.files.exists(state_file)) {
    PAWL_ASSIGN(const std::string text, world.files.read(state_file));
    PAWL_ASSIGN(const Json json, codec::parse_json(text, state_file.string()));
    PAWL_ASSIGN(State read, codec::from_json<State>(json, state_file.string()));
    PAWL_ASSIGN(Pieces pieces, Pieces::open(log));
    PAWL_ASSIGN(const std::string_view head, pieces.next());
    const auto length = static_cast<std::size_t>(read.head_bytes);
    if (length <= head.size() && sha256_hex(head.substr(0, length)) == read.head_sha256) {
      state = std::move(read);
    } else {
      progress.report({"evidence", fmt::format("{} was begun anew since {} was written: it is read from its beginning", log.string(), state_file.string())});
    }
  }
  PAWL_ASSIGN(Pieces pieces, Pieces::open(log));
  evidence::Extractor extractor(book, {}, std::move(state.evidence), std::move(state.position));
  const std::int64_t begun = extractor.so_far().bytes;
  if (begun > 0 && !pieces.skip(begun)) return bad_input(fmt::format("{} is shorter than what {} has read of it", log.string(), state_file.string()));
  std::string head;
  std::int64_t reported = 0;
  for (;;) {
    if (world.stop.stop_requested()) break;  // what was read is kept
    PAWL_ASSIGN(const std::string_view piece, pieces.next());
    if (piece.empty()) break;
    if (begun == 0 && head.size() < kHead) head += piece.substr(0, kHead - head.size());
    extractor.feed(piece);
    if (extractor.so_far().bytes - reported >= (64 << 20)) {
      reported = extractor.so_far().bytes;
      progress.report({"evidence", fmt::format("{}: {} MB", log.filename().string(), reported >> 20)});
    }
  }
  if (!state_file.empty()) {
    State now;
    now.log = log.string();
    now.head_sha256 = begun == 0 ? sha256_hex(head) : state.head_sha256;
    now.head_bytes = begun == 0 ? static_cast<std::int64_t>(head.size()) : state.head_bytes;
    now.evidence = extractor.so_far();
    now.position = extractor.position();
    PAWL_TRY(world.files.write_atomic(state_file, codec::write_json(codec::to_json(now), codec::JsonForm::kCompactUtf8)));
  }
  if (world.stop.stop_requested()) return cancelled();
  return extractor.evidence();
}

/// `/metrics` of the same engine, kept beside its log under the same name: X.metrics or X.metrics.gz.
Result<std::optional<telemetry::MetricsPage>> metrics_beside(const fs::path& log) {
  for (const char* end : {".metrics", ".metrics.gz"}) {
    const fs::path path = log.parent_path() / (stem_of(log) + end);
    std::error_code ec;
    if (!fs::exists(path, ec)) continue;
    PAWL_ASSIGN(Pieces pieces, Pieces::open(path));
    std::string text;
    for (;;) {
      PAWL_ASSIGN(const std::string_view piece, pieces.next());
      if (piece.empty()) break;
      text += piece;
      if (text.size() > (64u << 20)) return bad_input(fmt::format("{} is larger than 64 MB", path.string()));
    }
    return std::optional(telemetry::parse_metrics(text));
  }
  return std::optional<telemetry::MetricsPage>();
}

/// What a subject stands for: the number of a run of the workspace, a folder of logs, or a log.
Result<std::vector<Source>> sources_of(World& world, const CommonFlags& common, const std::string& subject, const std::string& job) {
  std::vector<Source> out;
  std::error_code ec;
  if (fs::is_directory(subject, ec)) {
    PAWL_ASSIGN(const std::vector<std::string> files, world.files.list_tree(subject));
    for (const std::string& file : files) {
      // A job's own output is no engine's.
      if (!is_log(file) || fs::path(file).filename() == "job.log") continue;
      out.push_back({file, role_of(file), fs::path(subject) / file});
    }
    if (out.empty()) return not_found(fmt::format("{} holds no log", subject), "logs are named *.log, *.out or *.err, also with .gz");
    if (out.size() == 1) out[0].name = stem_of(out[0].log);
    return out;
  }
  if (fs::exists(subject, ec)) return std::vector<Source>{{stem_of(subject), role_of(fs::path(subject).filename().string()), subject}};
  const auto number = parse_int(subject);
  if (!number) return not_found(fmt::format("there is no file or folder {}, and it is not the number of a run", subject));
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kReading));
  PAWL_ASSIGN(const std::vector<runner::JobState> jobs, bench->runner.jobs(RunId{*number}));
  std::vector<std::string> names;
  for (const runner::JobState& one : jobs) {
    names.push_back(one.job);
    if (!job.empty() && one.job != job) continue;
    if (one.folder.empty()) continue;  // pawl does it itself
    const auto files = world.files.list_tree(one.folder);
    if (!files) continue;  // it has not started
    // A launch script may send the output of its engine elsewhere than to its own.
    for (const std::string& file : *files) {
      if (!is_log(file) || file == "job.log") continue;
      out.push_back({file == "server.log" ? one.job : one.job + "/" + file, role_of(one.job + file), fs::path(one.folder) / file});
    }
  }
  if (out.empty() && !job.empty() && std::ranges::find(names, job) == names.end()) {
    return not_found(fmt::format("run {} has no job {}", *number, job), "pawl sweep logs RUN lists them");
  }
  if (out.empty()) return not_found(fmt::format("no job of run {} has a log of its engine yet", *number));
  return out;
}

/// The image that a job of a run started; empty when none did.
Result<std::string> image_of(World& world, Workbench& bench, RunId run) {
  PAWL_ASSIGN(const std::vector<runner::JobState> jobs, bench.runner.jobs(run));
  for (const runner::JobState& one : jobs) {
    const fs::path spec = fs::path(one.folder) / "spec.json";
    if (one.folder.empty() || !world.files.exists(spec)) continue;
    PAWL_ASSIGN(const std::string text, world.files.read(spec));
    PAWL_ASSIGN(const Json json, codec::parse_json(text, spec.string()));
    const Json::json_pointer at("/row/image");
    if (json.contains(at) && json.at(at).is_string()) return json.at(at).get<std::string>();
  }
  return std::string();
}

/// The newest run before `subject` of the same recipe on another image; nothing when the workspace has none.
Result<std::optional<std::int64_t>> older_run(World& world, const CommonFlags& common, const std::string& subject) {
  const auto number = parse_int(subject);
  std::error_code ec;
  if (!number || fs::exists(subject, ec)) return std::optional<std::int64_t>();
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kReading));
  PAWL_ASSIGN(const io::RunStatus run, bench->runner.status(RunId{*number}));
  PAWL_ASSIGN(const std::string image, image_of(world, *bench, run.id));
  PAWL_ASSIGN(std::vector<io::RunStatus> runs, bench->runner.list());
  std::ranges::sort(runs, std::greater(), [](const io::RunStatus& one) { return one.id.value; });
  for (const io::RunStatus& other : runs) {
    if (other.id.value >= *number || other.recipe != run.recipe) continue;
    PAWL_ASSIGN(const std::string theirs, image_of(world, *bench, other.id));
    if (!theirs.empty() && theirs != image) return std::optional(other.id.value);
  }
  return std::optional<std::int64_t>();
}

Result<std::vector<Read>> read_all(World& world, const evidence::SignatureBook& book, const playbook::Playbook& playbook, const std::vector<Source>& sources,
                                   const fs::path& state, io::Progress& progress) {
  std::vector<Read> out;
  for (const Source& source : sources) {
    Read read{source, {}, {}, {}};
    PAWL_ASSIGN(read.evidence, extract(world, book, source.log, state, progress));
    PAWL_ASSIGN(read.metrics, metrics_beside(source.log));
    read.diagnosis = playbook.classify(evidence::suspect_lines(read.evidence));
    out.push_back(std::move(read));
  }
  return out;
}

/// The log of the other run that answers to this one: the same name, or the only one.
const Read* partner(const std::vector<Read>& all, const std::vector<Read>& others, const Read& one) {
  if (others.empty()) return nullptr;
  if (all.size() == 1 && others.size() == 1) return &others[0];
  const auto found = std::ranges::find_if(others, [&](const Read& other) { return other.source.name == one.source.name; });
  return found == others.end() ? nullptr : &*found;
}

std::string counted(const std::map<std::string, std::int64_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", count, name);
  return text.empty() ? "none" : text;
}

/// `lines_each`: lines that one thing takes.
void print_list(const char* title, const std::vector<std::string>& lines, std::size_t most, std::size_t lines_each = 1) {
  if (lines.empty()) return;
  fmt::print("  {} ({})\n", title, lines.size() / lines_each);
  for (std::size_t i = 0; i < lines.size() && i < most; ++i) fmt::print("    {}\n", shown_line(lines[i]));
  if (lines.size() > most) fmt::print("    … {} more: --notices or --json shows all\n", lines.size() - most);
}

void print_evidence(const Read& read, const EvidenceFlags& flags) {
  const evidence::Evidence& e = read.evidence;
  fmt::print("{}{}: {}, {} lines, {:.1f} MB\n", shown_line(read.source.log.string()), read.source.role.empty() ? "" : " (" + read.source.role + ")",
             e.engines.empty() ? "no engine recognised" : join(e.engines, " + "), e.lines, static_cast<double>(e.bytes) / 1e6);
  if (e.ready) {
    fmt::print("  ready        line {}{}: {}\n", e.ready->line, e.ready->after_s ? fmt::format(", after {:.0f} s", *e.ready->after_s) : "",
               shown_line(e.ready->text));
  } else {
    fmt::print("  ready        never\n");
  }
  if (!e.processes.empty()) fmt::print("  processes    {}\n", shown_line(join(e.processes, ", ")));
  std::map<std::string, std::string> facts;
  for (const evidence::Fact& fact : e.facts) facts[fact.name] += (facts[fact.name].empty() ? "" : ", ") + fact.value;
  for (const auto& [name, value] : facts) fmt::print("  {:<20} {}\n", name, shown_line(value));
  fmt::print("  answers      before readiness {}; after it {}\n", counted(e.http_before_ready), counted(e.http_after_ready));
  if (e.restarts > 0) fmt::print("  restarts     {}\n", e.restarts);
  fmt::print("  settings     {}{}\n", e.settings.size(), flags.settings || e.settings.empty() ? "" : " (--settings shows them)");
  if (flags.settings) {
    for (const auto& [name, value] : e.settings) fmt::print("    {} = {}\n", shown_line(name), shown_line(value));
  }
  std::vector<std::string> lines;
  for (const evidence::Deprecation& one : e.deprecations) {
    lines.push_back(fmt::format("line {}: {}{}{}", one.line, one.old_name.empty() ? one.text : one.old_name, one.new_name.empty() ? "" : " → " + one.new_name,
                                one.count > 1 ? fmt::format(" (× {})", one.count) : ""));
  }
  print_list("deprecated", lines, 100);
  lines.clear();
  for (const evidence::Traceback& one : e.tracebacks) {
    lines.push_back(fmt::format("line {}, {}: {}{}{}", one.line, codec::enum_text(one.phase), one.process.empty() ? "" : one.process + ": ", one.error,
                                one.count > 1 ? fmt::format(" (× {})", one.count) : ""));
  }
  print_list("tracebacks", lines, 100);
  if (flags.notices) {
    lines.clear();
    for (const evidence::Notice& one : e.notices) {
      lines.push_back(
          fmt::format("line {}{}: {}{}", one.line, one.level.empty() ? "" : " " + one.level, one.text, one.count > 1 ? fmt::format(" (× {})", one.count) : ""));
    }
    print_list("notices", lines, std::string::npos);
  } else {
    fmt::print("  notices      {} (--notices shows them)\n", e.notices.size());
  }
  for (const auto& [what, count] : e.not_kept) fmt::print("  not kept     {} lines: too many different {}\n", count, what);
  if (read.diagnosis) fmt::print("  diagnosis    {}: {}\n               {}\n", read.diagnosis->row, read.diagnosis->summary, shown_line(read.diagnosis->line));
}

void print_difference(const evidence::Difference& d, const std::optional<telemetry::MetricsDifference>& metrics, bool all) {
  const std::size_t most = all ? std::string::npos : 30;
  const auto changes = [&](const char* title, const std::vector<evidence::ValueChange>& list) {
    std::vector<std::string> lines;
    for (const evidence::ValueChange& one : list) {
      lines.push_back(one.old_value.empty()   ? fmt::format("{} = {}", one.name, one.new_value)
                      : one.new_value.empty() ? fmt::format("{} (was {})", one.name, one.old_value)
                                              : fmt::format("{}: {} → {}", one.name, one.old_value, one.new_value));
    }
    print_list(title, lines, most);
  };
  const auto renamings = [&](const char* title, const std::vector<evidence::Renaming>& list) {
    std::vector<std::string> lines;
    for (const evidence::Renaming& one : list) {
      lines.push_back("- " + one.old_text);
      lines.push_back("+ " + one.new_text);
    }
    print_list(title, lines, most, 2);
  };
  const auto notices = [&](const char* title, const std::vector<evidence::Notice>& list) {
    std::vector<std::string> lines;
    for (const evidence::Notice& one : list) lines.push_back(one.text + (one.count > 1 ? fmt::format(" (× {})", one.count) : ""));
    print_list(title, lines, most);
  };
  changes("facts that differ", d.facts);
  changes("settings with another value", d.settings_changed);
  renamings("settings renamed, as it seems", d.settings_renamed);
  changes("settings that are new", d.settings_new);
  changes("settings that are gone", d.settings_gone);
  const auto deprecations = [&](const char* title, const std::vector<evidence::Deprecation>& list) {
    std::vector<std::string> lines;
    for (const evidence::Deprecation& one : list) lines.push_back(one.text);
    print_list(title, lines, most);
  };
  deprecations("deprecations that are new", d.deprecations_new);
  deprecations("deprecations that are gone", d.deprecations_gone);
  notices("notices that are new", d.notices_new);
  notices("notices that are gone", d.notices_gone);
  renamings("notices worded otherwise, as it seems", d.notices_renamed);
  fmt::print("  unchanged: {} notices, {} deprecations\n", d.notices_unchanged, d.deprecations_unchanged);
  if (!metrics) return;
  std::vector<std::string> lines;
  for (const telemetry::LabelChange& one : metrics->labels) {
    lines.push_back(fmt::format("{}: {}{} ({} → {} series, summed)", one.name, one.gained.empty() ? "" : "+" + join(one.gained, " +"),
                                one.lost.empty() ? "" : " -" + join(one.lost, " -"), one.old_series, one.new_series));
  }
  print_list("metrics with other labels", lines, most);
  print_list("metrics that are new", metrics->added, most);
  print_list("metrics that are gone", metrics->gone, most);
  fmt::print("  unchanged: {} metrics\n", metrics->unchanged);
}

Result<evidence::SignatureBook> load_book(const World& world) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& name : world.assets->list("evidence/")) {
    PAWL_ASSIGN(std::string text, world.assets->read(name));
    files.emplace_back("data/" + name, std::move(text));
  }
  return evidence::SignatureBook::parse(files);
}

Result<ExitStatus> run_evidence(const EvidenceFlags& flags, World& world, const CommonFlags& common) {
  const auto progress = make_progress(world, common);
  PAWL_ASSIGN(const evidence::SignatureBook book, load_book(world));
  PAWL_ASSIGN(const std::string signatures, world.assets->read("playbook/signatures.yaml"));
  PAWL_ASSIGN(const std::string flag_changes, world.assets->read("playbook/flags.yaml"));
  PAWL_ASSIGN(const playbook::Playbook playbook, playbook::Playbook::parse(signatures, flag_changes));
  std::vector<Source> sources, other_sources;
  for (const std::string& subject : flags.subjects) {
    PAWL_ASSIGN(std::vector<Source> found, sources_of(world, common, subject, flags.job));
    std::ranges::move(found, std::back_inserter(sources));
  }
  std::string against = flags.against;
  if (against.empty() && flags.subjects.size() == 1) {
    PAWL_ASSIGN(const std::optional<std::int64_t> older, older_run(world, common, flags.subjects[0]));
    if (older) against = std::to_string(*older);
  }
  if (!against.empty() && against != "none") {
    PAWL_ASSIGN(other_sources, sources_of(world, common, against, flags.job));
  }
  if (!flags.state.empty() && sources.size() != 1) {
    return usage_error(fmt::format("--state goes with one log, and there are {}", sources.size()), "name one log, or one job of the run with --job");
  }
  PAWL_ASSIGN(const std::vector<Read> all, read_all(world, book, playbook, sources, flags.state, *progress));
  PAWL_ASSIGN(const std::vector<Read> others, read_all(world, book, playbook, other_sources, {}, *progress));
  Json logs = Json::array(), found = Json::array();
  bool first = true, wanting = false;
  for (const Read& read : all) {
    const Read* other = partner(all, others, read);
    const auto points = evidence::findings(read.evidence, other == nullptr ? nullptr : &other->evidence);
    wanting = wanting || !points.empty();
    std::optional<evidence::Difference> difference;
    std::optional<telemetry::MetricsDifference> metrics;
    if (other != nullptr) {
      difference = evidence::difference(other->evidence, read.evidence);
      if (other->metrics && read.metrics) metrics = telemetry::metrics_difference(*other->metrics, *read.metrics);
    }
    if (common.json) {
      Json one{{"name", read.source.name}, {"log", read.source.log.string()}};
      if (!read.source.role.empty()) one["role"] = read.source.role;
      one["evidence"] = codec::to_json(read.evidence);
      if (read.diagnosis) one["diagnosis"] = {{"row", read.diagnosis->row}, {"summary", read.diagnosis->summary}, {"line", read.diagnosis->line}};
      if (difference) {
        one["against"] = other->source.log.string();
        one["difference"] = codec::to_json(*difference);
        if (metrics) one["metrics_difference"] = codec::to_json(*metrics);
      }
      one["findings"] = codec::to_json(points);
      logs.push_back(std::move(one));
      continue;
    }
    if (!first) fmt::print("\n");
    first = false;
    print_evidence(read, flags);
    if (difference) {
      fmt::print("\nagainst {}\n", shown_line(other->source.log.string()));
      print_difference(*difference, metrics, flags.notices);
    } else if (!other_sources.empty()) {
      fmt::print("  against      {} has no log of this name\n", shown_line(against));
    }
    fmt::print("\nfindings: {}\n", points.empty() ? "none" : "");
    for (const evidence::Finding& point : points) {
      fmt::print("  line {:<8} {:<12} {}{}\n", point.line, point.kind, shown_line(point.text), point.count > 1 ? fmt::format(" (× {})", point.count) : "");
    }
  }
  if (common.json) print_json({{"schema", "pawl.evidence/1"}, {"logs", std::move(logs)}});
  return wanting ? ExitStatus::kFoundWanting : ExitStatus::kDone;
}

}  // namespace

void add_evidence_command(Cli& cli) {
  CLI::App* command =
      cli.command(cli.root, "evidence", "What an engine's log says of a run, and what another version says otherwise",
                  "  pawl evidence 3 --workspace w                       every job of a run, against the newest older run of its recipe on another image\n"
                  "  pawl evidence 3 --against 2 --workspace w           and what the other run's engines said otherwise\n"
                  "  pawl evidence new/server.log --against old/server.log.gz\n"
                  "  pawl evidence server.log --state server.state       goes on where the last call stopped\n"
                  "\nRUN is the number of a run of the workspace, a folder of logs, or a log (plain or gzip). X.metrics beside X.log is compared too.\n"
                  "Exit status 1: there is something to look at: a traceback, a crash, an error after readiness, a restart, no readiness; with --against\n"
                  "also a deprecation that is new.");
  auto flags = std::make_shared<EvidenceFlags>();
  command->add_option("RUN", flags->subjects, "Number of a run, folder of logs, or log")->required();
  command->add_option(
      "--against", flags->against,
      "The older one: number of a run, folder, or log. Of a run, by default the newest one before it of its recipe on another image; none: nothing");
  command->add_option("--job", flags->job, "Of a run: one job only");
  command->add_option("--state", flags->state, "File that keeps where the reading stands; the next call goes on there");
  command->add_flag("--notices", flags->notices, "Every line that is neither routine nor read otherwise");
  command->add_flag("--settings", flags->settings, "Every setting that the engine printed");
  command->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return run_evidence(*flags, world, common); }; });
}

}  // namespace pawl::app
