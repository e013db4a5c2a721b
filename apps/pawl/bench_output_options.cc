#include "bench_output_options.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "benchout/html.h"
#include "codec/describe.h"
#include "version.h"

namespace pawl::app {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : text + ",") {
    if (c != ',') {
      word += c;
    } else if (!word.empty()) {
      out.push_back(std::exchange(word, {}));
    }
  }
  return out;
}

Result<double> percentile_from(const std::string& text) {
  for (const double known : {1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9}) {
    if (text == fmt::format("{}", known)) return known;
  }
  return usage_error(fmt::format("no percentile {}", text), "out of 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9");
}

/// The words of the command line, without what may be secret: the value of a header.
std::vector<std::string> masked_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> out;
  std::string word;
  for (const char c : all) {
    if (c != '\0') {
      word += c;
      continue;
    }
    const bool after_header = !out.empty() && (out.back() == "--header" || out.back() == "-H");
    if (after_header || word.starts_with("--header=")) {
      const auto colon = word.find(':');
      word = word.substr(0, colon == std::string::npos ? 0 : colon + 1) + " ***";
    }
    out.push_back(std::exchange(word, {}));
  }
  return out;
}

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> out{{"pawl", kVersion}};
  utsname system{};
  if (::uname(&system) == 0) {
    out["host"] = system.nodename;
    out["kernel"] = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  }
  out["cores"] = fmt::format("{}", ::sysconf(_SC_NPROCESSORS_ONLN));
  return out;
}

}  // namespace

void add_bench_output_options(CLI::App& app, BenchOutputFlags& flags) {
  const std::string group = "What is made of the run";
  app.add_option("--output", flags.outputs,
                 "Write FORMAT:PATH; may be given several times. Formats: " + join(codec::enum_texts<benchout::Format>(), ", ") +
                     " (aiperf: a folder; sglang: a line is appended). A path alone is our own JSON")
      ->allow_extra_args(false)
      ->group(group)
      ->type_name("FORMAT:PATH");
  app.add_option("--records", flags.records, "Write every request as a line of JSON, as it ends")->group(group)->type_name("FILE");
  app.add_option("--report", flags.report, "Write a page with plots that needs no network")->group(group)->type_name("FILE");
  app.add_option("--goodput", flags.slo, "An objective each request should meet, for instance ttft:500 (ms); may be given several times")
      ->allow_extra_args(false)
      ->group(group)
      ->type_name("METRIC:BOUND");
  app.add_option("--compat", flags.profiles, "Also compute what other tools would have printed: " + join(codec::enum_texts<measure::Profile>(), ", ") + ", all")
      ->allow_extra_args(false)
      ->group(group)
      ->delimiter(',')
      ->type_name("PROFILE");
  app.add_option("--percentile-metrics", flags.metrics, "Metrics in the file of vLLM, out of ttft, tpot, itl, e2el")->group(group)->capture_default_str();
  app.add_option("--metric-percentiles", flags.percentiles, "Percentiles in the file of vLLM")->group(group)->capture_default_str();
  app.add_flag("--save-detailed", flags.detailed, "Put the numbers of every request into the files of vLLM, SGLang and InferenceX")->group(group);
  app.add_option("--label", flags.label, "Name of the run in the file of vLLM")->group(group);
  app.add_option("--tag", flags.tag, "Name of the run in the file of SGLang")->group(group);
  app.add_option("--metadata", flags.metadata, "A key of your own for the files of vLLM and InferenceX; may be given several times")
      ->allow_extra_args(false)
      ->group(group)
      ->type_name("KEY=VALUE");
}

BenchOutputs::~BenchOutputs() {
  if (file_ != nullptr) std::fclose(file_);
}

Result<std::unique_ptr<BenchOutputs>> BenchOutputs::open(const BenchOutputFlags& flags, measure::RecordsHead head) {
  std::unique_ptr<BenchOutputs> out(new BenchOutputs);
  out->flags_ = flags;
  out->head_ = std::move(head);
  for (const std::string& text : flags.outputs) {
    PAWL_ASSIGN(benchout::Output output, benchout::parse_output(text));
    out->outputs_.push_back(std::move(output));
  }
  if (!flags.report.empty()) out->outputs_.push_back({benchout::Format::kHtml, flags.report.string()});
  out->info.metrics = words(flags.metrics);
  out->info.percentiles.clear();
  for (const std::string& word : words(flags.percentiles)) {
    PAWL_ASSIGN(const double p, percentile_from(word));
    out->info.percentiles.push_back(p);
  }
  out->info.detailed = flags.detailed;
  out->info.label = flags.label;
  out->info.tag = flags.tag;
  out->info.chat = out->head_.chat;
  for (const std::string& pair : flags.metadata) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) return usage_error(fmt::format("\"{}\" is no metadata", pair), "write KEY=VALUE");
    out->info.metadata[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  out->options_.chat = out->head_.chat;
  for (const std::string& text : flags.slo) {
    PAWL_ASSIGN(measure::SloTerm term, measure::parse_slo(text));
    out->options_.slo.push_back(std::move(term));
  }
  const auto want = [&](measure::Profile profile) {
    if (std::ranges::find(out->options_.profiles, profile) == out->options_.profiles.end()) out->options_.profiles.push_back(profile);
  };
  for (const std::string& name : flags.profiles) {
    if (name == "all") {
      for (const measure::Profile profile : measure::all_profiles()) want(profile);
      continue;
    }
    const auto profile = codec::enum_value<measure::Profile>(name);
    if (!profile) return usage_error(fmt::format("no profile \"{}\"", name), "one of " + join(codec::enum_texts<measure::Profile>(), ", ") + ", all");
    want(*profile);
  }
  bool records = !flags.records.empty();
  const auto reads_back = [&](const benchout::Output& output) {
    return output.format == benchout::Format::kAiperf || benchout::needs_records(output.format, out->info);
  };
  out->reads_back_ = std::ranges::any_of(out->outputs_, reads_back);
  for (const benchout::Output& output : out->outputs_) {
    if (const auto profile = benchout::profile_of(output.format, out->head_.backend)) want(*profile);
    records = records || benchout::needs_records(output.format, out->info);
  }
  if (records) {
    out->file_ = flags.records.empty() ? std::tmpfile() : std::fopen(flags.records.c_str(), "w+");
    if (out->file_ == nullptr) {
      return machine_error(fmt::format("cannot write {}: {}", flags.records.empty() ? "a temporary file" : flags.records.string(), std::strerror(errno)));
    }
  }
  return out;
}

Status BenchOutputs::write_line(const std::string& line) {
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size())
    return machine_error(fmt::format("cannot write the records: {}", std::strerror(errno)), "make room on the disk");
  at_ += static_cast<std::int64_t>(line.size());
  return {};
}

void BenchOutputs::begin(MonoTime origin, WallTime wall) {
  const std::lock_guard lock(mutex_);
  anchor_ = {origin, wall};
  head_.origin_unix_ns = wall.since_epoch.count();
  options_.target_in_flight = target_in_flight;
  if (summarises) summary_.emplace(options_, origin);
  if (file_ == nullptr) return;
  line_.clear();
  measure::append_head(head_, line_);
  if (const auto status = write_line(line_); !status) write_error_ = status.error().message;
}

void BenchOutputs::first_request(std::string_view head, std::string_view body) {
  const std::lock_guard lock(mutex_);
  first_request_ = {std::string(head), std::string(body)};
}

void BenchOutputs::take(const measure::RequestRecord& record) {
  const std::lock_guard lock(mutex_);
  if (summary_) summary_->add(record);
  if (file_ == nullptr || !write_error_.empty()) return;
  line_.clear();
  measure::append_record(record, anchor_.origin, line_);
  if (reads_back_) positions_.emplace_back(record.index, at_);
  if (const auto status = write_line(line_); !status) write_error_ = status.error().message;
}

benchout::Records BenchOutputs::records() const {
  if (file_ == nullptr) return {};
  return [this](const std::function<void(const measure::RequestRecord&)>& each) -> Status {
    auto order = positions_;
    std::ranges::sort(order);
    std::fflush(file_);
    char* line = nullptr;
    std::size_t size = 0;
    Status status;
    for (const auto& [index, offset] : order) {
      if (std::fseek(file_, offset, SEEK_SET) != 0) break;
      const ssize_t n = ::getline(&line, &size, file_);
      if (n <= 0) {
        status = machine_error("cannot read the records back");
        break;
      }
      const auto record = measure::read_record(std::string_view(line, static_cast<std::size_t>(n)), anchor_.origin, "records");
      if (!record) {
        status = record.error();
        break;
      }
      each(*record);
    }
    std::free(line);
    std::fseek(file_, 0, SEEK_END);
    return status;
  };
}

Result<std::string> BenchOutputs::render(benchout::Format format, const model::BenchResult& result) const {
  switch (format) {
    case benchout::Format::kJson:
      return codec::write_json_pretty(codec::to_json(result));
    case benchout::Format::kVllm:
      return benchout::vllm_json(result, info, records());
    case benchout::Format::kSglang:
      return benchout::sglang_line(result, info, records());
    case benchout::Format::kInferencex:
      return benchout::inferencex_json(result, info, records());
    case benchout::Format::kCsv:
      return benchout::csv(result);
    case benchout::Format::kHtml:
      return benchout::html_report(result, info);
    case benchout::Format::kAiperf:
      break;
  }
  return internal_error("a format without a text");
}

Status BenchOutputs::write_aiperf(const std::filesystem::path& folder, const model::BenchResult& result, World& world) {
  PAWL_TRY(world.files.make_folder(folder));
  std::string lines;
  PAWL_TRY(records()([&](const measure::RequestRecord& record) {
    if (record.outcome != measure::Outcome::kSkipped) lines += benchout::aiperf_line(record, anchor_, info.chat);
  }));
  PAWL_TRY(world.files.write_atomic(folder / "profile_export.jsonl", lines));
  return world.files.write_atomic(folder / "profile_export_aiperf.json", benchout::aiperf_summary(result, info));
}

Status BenchOutputs::write(const benchout::Output& output, const model::BenchResult& result, World& world) {
  if (output.format == benchout::Format::kAiperf) return write_aiperf(output.path, result, world);
  PAWL_ASSIGN(std::string text, render(output.format, result));
  if (benchout::appends(output.format) && world.files.exists(output.path)) {
    PAWL_ASSIGN(std::string before, world.files.read(output.path));
    if (!before.empty() && before.back() != '\n') before += '\n';
    text = before + text;
  }
  return world.files.write_atomic(output.path, text);
}

void BenchOutputs::fill_all(model::BenchResult& result) const {
  const std::lock_guard lock(mutex_);
  if (summary_) summary_->fill(result);
}

Status BenchOutputs::finish(model::BenchResult& result, World& world) {
  const std::lock_guard lock(mutex_);
  if (!write_error_.empty()) return machine_error(write_error_);
  if (file_ != nullptr && std::fflush(file_) != 0) return machine_error(fmt::format("cannot write the records: {}", std::strerror(errno)));
  if (summary_) {
    model::BenchResult gathered;
    summary_->fill(gathered);
    result.details = std::move(gathered.details);
    for (auto& [key, distribution] : gathered.metrics) result.metrics[key] = std::move(distribution);
  }
  if (!result.details) result.details.emplace();
  if (first_request_) result.details->first_request = first_request_;
  if (result.details->argv.empty()) result.details->argv = masked_command_line();
  if (result.details->environment.empty()) result.details->environment = environment();
  if (info.date == WallTime{}) info.date = world.clock.wall();
  for (const benchout::Output& output : outputs_) PAWL_TRY(write(output, result, world));
  return {};
}

}  // namespace pawl::app
