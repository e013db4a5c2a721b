#include "load_flags.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.h"

namespace pawl::app {
namespace {

/// "FROM-TO@SECONDS", "RATE@SECONDS"; the seconds of the last one may be left out.
Result<workload::Stage> parse_stage(const std::string& text) {
  const auto wrong = [&] { return usage_error("--stage \"" + text + "\" is no stage", "write it as RATE@SECONDS or FROM-TO@SECONDS, for instance 1-20@60"); };
  workload::Stage stage;
  const std::string rates = text.substr(0, text.find('@'));
  const auto number = [](const std::string& word) -> std::optional<double> {
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != '\0' || !(value > 0)) return std::nullopt;
    return value;
  };
  const auto dash = rates.find('-');
  const auto from = number(rates.substr(0, dash)), to = dash == std::string::npos ? from : number(rates.substr(dash + 1));
  if (!from || !to) return wrong();
  stage.from_rate = *from;
  stage.to_rate = *to;
  if (const auto at = text.find('@'); at != std::string::npos) {
    const auto seconds = number(text.substr(at + 1));
    if (!seconds) return wrong();
    stage.duration_s = *seconds;
  }
  return stage;
}

Result<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return bad_input(path.string() + ": cannot be read", "give a file that is there");
  return text.str();
}

Result<std::string> read_key(const std::filesystem::path& path) {
  PAWL_ASSIGN(const std::string text, read_text(path));
  const std::string key(trim(text));
  if (key.empty() || key.find_first_of("\r\n") != std::string::npos) return bad_input(path.string() + ": does not hold one line with a key");
  return key;
}

}  // namespace

void add_load_flags(CLI::App& app, LoadFlags& f) {
  const char* load = "Load";
  app.add_option("--concurrency", f.concurrency, "Requests in flight; with --rate the most of them, further arrivals wait")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->group(load);
  app.add_option("--rate", f.rate, "Open loop: requests a second, whether or not earlier ones are answered")->check(CLI::Range(1e-6, 1e6))->group(load);
  app.add_option("--arrivals", f.arrivals, "Of an open loop: constant, poisson, gamma, at-once")
      ->check(CLI::IsMember({"constant", "poisson", "gamma", "at-once"}))
      ->capture_default_str()
      ->group(load);
  app.add_option("--burstiness", f.burstiness, "Shape of gamma arrivals: 1 is Poisson, below it burstier")->check(CLI::Range(1e-3, 1e3))->group(load);
  app.add_option("--stage", f.stages, "A stage of an open loop: RATE@SECONDS or FROM-TO@SECONDS; repeat for more")->group(load);
  app.add_flag("--trace-times", f.trace_times, "Open loop: requests go out at the times of the data set")->group(load);
  app.add_option("--trace-speed", f.trace_speed, "Factor of those times; 2 is twice as fast")->check(CLI::Range(1e-6, 1e6))->group(load);
  app.add_option("--duration", f.duration_s, "Seconds to send for, in place of a number of requests")->check(CLI::Range(0.001, 1e7))->group(load);
  app.add_option("--ramp-up", f.ramp_s, "Seconds over which a closed loop starts; what starts in them is not measured")
      ->check(CLI::Range(0.0, 1e6))
      ->group(load);
  app.add_option("--drain", f.drain_s, "Seconds to wait for answers after the last request; what still runs then is censored")
      ->check(CLI::Range(0.0, 1e6))
      ->group(load);
  app.add_option("--sweep-concurrency", f.sweep_concurrency, "Measure one point after the other: 1,8,32")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->group(load);
  app.add_option("--sweep-rate", f.sweep_rate, "The same over request rates: 1,2,4")->delimiter(',')->check(CLI::Range(1e-6, 1e6))->group(load);
  app.add_flag("--paired", f.paired, "Give every point of a sweep or a search the same prompts; a prefix cache then knows them from the point before")
      ->group(load);
  app.add_flag("--find-max-rate", f.find_max_rate, "Look for the highest rate that keeps every --slo of a percentile, by probes of --probe seconds")
      ->group(load);
  app.add_option("--slo", f.slo, "Limit that --find-max-rate must hold, of the whole run: ttft_p99:500ms; repeat for more")->group(load);
  app.add_option("--probe", f.probe_s, "Seconds of one probe")->check(CLI::Range(0.1, 1e5))->capture_default_str()->group(load);

  const char* bodies = "Bodies";
  app.add_option("--extra-body", f.extra_body, "Keys of your own for every body, over those that are built in: a JSON object, or @FILE")
      ->type_name("JSON")
      ->group(bodies);
  app.add_option("--tools", f.tools, "File with the tools of a chat, a JSON array: sent with every request")->group(bodies);
  app.add_flag("--echo", f.echo, "Ask a completions server to repeat the prompt; what it repeats is no output")->group(bodies);

  const char* connections = "Connections";
  app.add_option("--timeout", f.timeout_s, "Seconds that one request may take")->check(CLI::Range(0.001, 1e6))->capture_default_str()->group(connections);
  app.add_option("--connect-timeout", f.connect_timeout_s, "Seconds to open a connection")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str()
      ->group(connections);
  app.add_option("--first-token-timeout", f.first_token_timeout_s, "Seconds to the first token; 0: none")->check(CLI::Range(0.0, 1e6))->group(connections);
  app.add_option("--idle-timeout", f.idle_timeout_s, "Seconds without a byte within an answer; 0: none")->check(CLI::Range(0.0, 1e6))->group(connections);
  app.add_flag("--replay-stale", f.replay_stale, "Send a request once more when its kept connection was closed before any byte of the answer; counted")
      ->group(connections);
  app.add_option("--header", f.headers, "A header of every request, as \"NAME: VALUE\"; repeat for more")->group(connections);
  app.add_option("--api-key-file", f.key_file, "File with the key of the server; else the environment's OPENAI_API_KEY")->group(connections);
  app.add_option("--ca-file", f.ca_file, "Certificates to trust, PEM; else those of the system")->group(connections);
  app.add_flag("--insecure", f.insecure, "Take any certificate")->group(connections);
  app.add_option("--server-name", f.server_name, "Name to ask for and to check over TLS; else the host of the address")->group(connections);

  const char* client = "This client";
  app.add_option("--threads", f.threads, "Threads that send and receive; 0: as many as the load needs")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1024}))
      ->group(client);
  app.add_option("--gather", f.gather, "Sleep 1 ms between looks at the sockets: by the load, or always, or never")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str()
      ->group(client);
}

void set_rate(const LoadFlags& f, double rate_per_s, loadgen::LoadRequest& load) {
  const auto process = f.arrivals == "constant"  ? workload::ArrivalProcess::kConstant
                       : f.arrivals == "at-once" ? workload::ArrivalProcess::kAtOnce
                                                 : workload::ArrivalProcess::kGamma;
  load.arrivals = workload::constant_rate_plan(process, rate_per_s, f.arrivals == "gamma" ? f.burstiness : 1, load.seed);
}

Status apply(const LoadFlags& f, std::int64_t seed, loadgen::LoadRequest& load) {
  load.seed = seed;
  const int open_ways = (f.rate ? 1 : 0) + (f.stages.empty() ? 0 : 1) + (f.trace_times ? 1 : 0);
  const int ways = open_ways + (f.sweep_rate.empty() ? 0 : 1) + (f.sweep_concurrency.empty() ? 0 : 1) + (f.find_max_rate ? 1 : 0);
  if (ways > 1) return usage_error("--rate, --stage, --trace-times, --sweep-… and --find-max-rate exclude each other", "give one of them");
  if (ways == 0 && !f.concurrency) {
    return usage_error("nothing says how much load to offer", "give --concurrency for a closed loop, or --rate, --stage, --trace-times for an open one");
  }
  if (f.ramp_s > 0 && open_ways > 0) return usage_error("--ramp-up is of a closed loop", "write the ramp of an open loop as --stage FROM-TO@SECONDS");
  if (f.ramp_s > 0 && f.duration_s > 0 && f.ramp_s >= f.duration_s) return usage_error("--ramp-up takes all of --duration");
  const bool open = open_ways > 0 || !f.sweep_rate.empty() || f.find_max_rate;
  load.concurrency = f.concurrency.value_or(1);
  if (open) load.open_limit = f.concurrency;
  if (f.rate) set_rate(f, *f.rate, load);
  if (!f.stages.empty()) {
    set_rate(f, 1, load);
    load.arrivals->stages.clear();
    for (const std::string& text : f.stages) {
      PAWL_ASSIGN(load.arrivals->stages.emplace_back(), parse_stage(text));
    }
    for (std::size_t i = 0; i + 1 < f.stages.size(); ++i) {
      if (load.arrivals->stages[i].duration_s <= 0)
        return usage_error("--stage \"" + f.stages[i] + "\" never ends", "only the last stage may lack its seconds");
    }
  }
  load.data_set_arrivals = f.trace_times;
  load.data_set_speed = f.trace_speed;
  load.duration_s = f.duration_s;
  load.ramp_s = f.ramp_s;
  load.drain_s = f.drain_s;
  load.connect_timeout_s = f.connect_timeout_s;
  load.request_timeout_s = f.timeout_s;
  load.first_token_timeout_s = f.first_token_timeout_s;
  load.idle_timeout_s = f.idle_timeout_s;
  load.replay_stale = f.replay_stale;
  if (!f.extra_body.empty()) {
    std::string text = f.extra_body, name = "--extra-body";
    if (text.starts_with('@')) {
      name = text.substr(1);
      PAWL_ASSIGN(text, read_text(name));
    }
    PAWL_ASSIGN(load.extra, codec::parse_json(text, name));
    if (!load.extra.is_object()) return bad_input(name + ": not a JSON object", R"(write it as {"key": value, …})");
  }
  if (!f.tools.empty()) {
    PAWL_ASSIGN(const std::string text, read_text(f.tools));
    PAWL_ASSIGN(load.tools, codec::parse_json(text, f.tools.string()));
    if (!load.tools.is_array())
      return bad_input(f.tools.string() + ": not a JSON array", "give the tools as the API takes them: [{\"type\": \"function\", …}]");
  }
  load.echo = f.echo;
  for (const std::string& line : f.headers) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) return usage_error("--header \"" + line.substr(0, 40) + "\" has no colon", "write it as \"NAME: VALUE\"");
    load.headers.emplace_back(trim(std::string_view(line).substr(0, colon)), trim(std::string_view(line).substr(colon + 1)));
  }
  load.tls = {.ca_file = f.ca_file, .insecure = f.insecure, .server_name = f.server_name};
  if (!f.key_file.empty()) {
    PAWL_ASSIGN(load.bearer, read_key(f.key_file));
  } else if (const char* key = std::getenv("OPENAI_API_KEY"); key != nullptr && *key != '\0') {
    load.bearer = key;
  }
  load.threads = f.threads;
  load.gather = f.gather == "on" ? loadgen::GatherMode::kOn : f.gather == "off" ? loadgen::GatherMode::kOff : loadgen::GatherMode::kAuto;
  load.partial_on_stop = true;
  return {};
}

}  // namespace pawl::app
