#include "runner/engine_process.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "codec/json.h"
#include "http/client.h"
#include "runner/serving_process.h"

namespace pawl::runner {
namespace {

using model::FailureClass;
using model::JobFailure;

constexpr std::size_t kEvidenceLines = 20;
constexpr std::size_t kLineMax = 1000;
constexpr Seconds kGrace{2};
constexpr Seconds kProbeLimit{2};
constexpr Nanos kProbePauseMax = Millis{100};

/// A port that nobody listens on now. Somebody may take it before the engine does; the engine then ends with its own
/// message about it.
Result<std::uint16_t> free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return machine_error(fmt::format("cannot look for a free port: {}", std::strerror(errno)), "raise the limit of open files (ulimit -n)");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool ok = ::bind(fd, generic, sizeof address) == 0 && ::getsockname(fd, generic, &size) == 0;
  const int code = errno;
  ::close(fd);
  if (!ok) return machine_error(fmt::format("no free port on 127.0.0.1: {}", std::strerror(code)));
  return ntohs(address.sin_port);
}

std::string without_escapes(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto c = static_cast<unsigned char>(line[i]);
    if (c == 0x1b && i + 1 < line.size()) {
      const char kind = line[++i];
      if (kind == '[') {
        while (i + 1 < line.size() && !(line[i + 1] >= '@' && line[i + 1] <= '~')) ++i;
        ++i;
      } else if (kind == ']') {
        while (i + 1 < line.size() && line[i + 1] != '\a' && line[i + 1] != '\x1b') ++i;
        ++i;
        if (i < line.size() && line[i] == '\x1b') ++i;
      }
      continue;
    }
    if (c >= 0x20 || c == '\t') out += line[i];
  }
  return out;
}

std::string readable(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  if (const auto over = line.rfind('\r'); over != std::string_view::npos) line.remove_prefix(over + 1);
  std::string out = without_escapes(line);
  if (out.size() > kLineMax) {
    std::size_t cut = kLineMax;
    while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xC0) == 0x80) --cut;
    out.resize(cut);
    out += "…";
  }
  if (!is_utf8(out)) {
    for (char& c : out) {
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> readable_tail(std::string_view log, std::size_t count) {
  std::vector<std::string> lines;
  while (!log.empty() && lines.size() < count) {
    const auto cut = log.rfind('\n');
    std::string line = readable(cut == std::string_view::npos ? log : log.substr(cut + 1));
    if (!trim(line).empty()) lines.push_back(std::move(line));
    if (cut == std::string_view::npos) break;
    log = log.substr(0, cut);
  }
  std::ranges::reverse(lines);
  return lines;
}

JobOutcome<std::unique_ptr<EngineProcess>> EngineProcess::launch(const model::EngineSpec& spec, const std::filesystem::path& folder, io::Clock& clock,
                                                                 io::Files& files, io::Processes& processes) {
  const auto port = free_port();
  if (!port) return std::unexpected(JobFailure{FailureClass::kInfrastructure, port.error().message, {}});
  io::ProcessSpec process;
  for (const std::string& argument : spec.argv) process.argv.push_back(replace_all(argument, "{port}", std::to_string(*port)));
  for (const auto& [name, value] : spec.env) process.env.emplace_back(name, replace_all(value, "{port}", std::to_string(*port)));
  process.folder = folder;
  process.output_file = folder / "server.log";
  process.ends_with_parent = true;
  // Lines of an earlier try of this job would stand as evidence against this one.
  if (auto removed = files.remove_tree(process.output_file); !removed) {
    return std::unexpected(JobFailure{FailureClass::kInfrastructure, removed.error().message, {}});
  }
  const std::map<std::string, std::string> given = spec.files.value_or(std::map<std::string, std::string>());
  for (const auto& [path, content] : given) {
    if (auto written = files.write_atomic(folder / path, content); !written) {
      return std::unexpected(JobFailure{FailureClass::kInfrastructure, written.error().message, {}});
    }
  }
  auto id = processes.launch(process);
  if (!id) {
    const bool missing = id.error().cls == ErrorClass::kNotFound;
    return std::unexpected(JobFailure{missing ? FailureClass::kConfig : FailureClass::kInfrastructure, id.error().message, {}});
  }
  return std::unique_ptr<EngineProcess>(
      new EngineProcess(spec, process.output_file, fmt::format("http://127.0.0.1:{}", *port), std::move(*id), clock, files, processes));
}

EngineProcess::~EngineProcess() { stop(); }

void EngineProcess::stop() {
  if (stopped_) return;
  stopped_ = true;
  (void)processes_.end_group(id_, kGrace);
}

bool EngineProcess::ended(Nanos limit, std::stop_token stop) {
  const auto end = processes_.wait(id_, limit, std::move(stop));
  return end && end->has_value();
}

std::vector<std::string> EngineProcess::last_lines() const {
  const auto log = files_.read(log_);
  if (!log) return {"(no log: " + log.error().message + ")"};
  return readable_tail(*log, kEvidenceLines);
}

std::optional<std::vector<std::string>> EngineProcess::command_line() const {
  const auto port = parse_int(std::string_view(url_).substr(url_.rfind(':') + 1));
  return port ? command_of_listener(static_cast<std::uint16_t>(*port)) : std::nullopt;
}

std::optional<std::string> EngineProcess::config() const {
  const auto log = files_.read(log_);
  return log ? resolved_arguments(*log) : std::nullopt;
}

JobFailure EngineProcess::death(std::string_view when) {
  const auto end = processes_.wait(id_, Nanos{0}, {});
  const std::string how = end && *end ? (*end)->text() : "an unknown status";
  return {FailureClass::kEngine, fmt::format("the engine ended {} with {}", when, how), last_lines()};
}

JobOutcome<void> EngineProcess::wait_ready(Nanos limit, std::stop_token stop) {
  const Nanos own{std::llround(std::min(spec_.ready_timeout_s, 1e9) * 1e9)};
  const Nanos allowed = std::min(limit, own);
  const MonoTime deadline = clock_.now() + allowed;
  bool healthy = false;
  std::string last = "no answer yet";
  Nanos pause = Millis{10};
  for (;;) {
    if (ended(Nanos{0}, {})) return std::unexpected(death("before it was ready"));
    if (stop.stop_requested()) return std::unexpected(JobFailure{FailureClass::kCancelled, "stopped while the engine was starting", {}});
    const Nanos left = deadline - clock_.now();
    if (left <= Nanos{0}) {
      const std::string waited_for =
          healthy ? "a first generation of one token (POST /v1/completions)" : fmt::format("status 200 of GET {}", spec_.health_path);
      return std::unexpected(JobFailure{
          FailureClass::kTimeout, fmt::format("the engine was not ready within {:.0f} s: waited for {}; last seen: {}", seconds_of(allowed), waited_for, last),
          last_lines()});
    }
    http::ClientRequest request;
    if (healthy) {
      const codec::Json body{{"model", spec_.served_model}, {"prompt", "1"}, {"max_tokens", 1}, {"temperature", 0}, {"stream", false}};
      request.method = "POST";
      request.url = url_ + "/v1/completions";
      request.fields = {{"Content-Type", "application/json"}};
      request.body = codec::write_json(body, codec::JsonForm::kCompactUtf8);
      request.timeout = left;
    } else {
      request.url = url_ + spec_.health_path;
      request.timeout = std::min<Nanos>(left, kProbeLimit);
    }
    const auto answer = http::fetch(request, stop);
    if (answer && answer->status == 200) {
      if (healthy) return {};
      healthy = true;
      pause = Millis{10};
      continue;
    }
    last = answer ? fmt::format("status {} {}", answer->status, readable(std::string_view(answer->body).substr(0, 200))) : answer.error().message;
    // An engine that ended is seen at once, not after the pause.
    (void)ended(std::min(pause, deadline - clock_.now()), stop);
    pause = std::min(pause * 2, kProbePauseMax);
  }
}

std::string EngineProcess::version(std::stop_token stop) const {
  http::ClientRequest request;
  request.url = url_ + "/version";
  request.timeout = kProbeLimit;
  request.answer_max = 64u << 10;
  const auto answer = http::fetch(request, std::move(stop));
  if (!answer || answer->status != 200) return {};
  const auto json = codec::parse_json(answer->body, "version of the engine");
  if (!json || !json->is_object() || !json->contains("version") || !json->at("version").is_string()) return {};
  return json->at("version").get<std::string>();
}

}  // namespace pawl::runner
