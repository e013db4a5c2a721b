#include "twin/twin.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <variant>

#include "base/text.h"
#include "codec/describe.h"
#include "engine_law/fleet.h"
#include "stats/log_histogram.h"
#include "twin/answers.h"
#include "twin/flags.h"
#include "twin/front.h"
#include "twin/hash.h"
#include "twin/metrics_text.h"
#include "twin/protocol.h"
#include "twin/stamp_file.h"

namespace pawl::twin {
namespace {

using codec::Json;

constexpr Nanos kLate = Millis{5};
/// Behind by more than this the engine gives up catching up: a burst of tokens would be worse than a pause.
constexpr Nanos kHopeless = Millis{250};
/// In every answer, instead of the time: the same request gets the same bytes from the same seed.
constexpr std::int64_t kCreated = 1'796'083'200;

const char* reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 503:
      return "Service Unavailable";
    default:
      return "";
  }
}

/// Every answer says that it is simulated.
http::Fields marked(http::Fields fields) {
  fields.emplace_back("x-pawl-simulated", "twin");
  return fields;
}

/// One request in the engine.
struct Live {
  ExchangeId exchange;
  bool stream = false, begun = false;
  std::uint32_t number = 0;  ///< in order of arrival, from 0
  std::uint64_t draw = 0;    ///< for faults that meet a share of requests
  Reply reply;
  AnswerText text;
};

class TwinServer final : public Twin, FrontEvents {
 public:
  TwinServer(TwinOptions options, Profile profile, EngineFlags flags, Examiner examiner, engine_law::Deployment deployment, const io::Clock& clock, LogSink log)
      : options_(std::move(options)),
        profile_(std::move(profile)),
        flags_(std::move(flags)),
        deployment_(deployment),
        examiner_(std::move(examiner)),
        clock_(clock),
        log_(clock, voice_of(profile_.engine), std::move(log)),
        fleet_(deployment, options_.seed) {
    for (const Fault& f : options_.faults) {
      if (f.kind == FaultKind::kSlowRank) fleet_.set_slow_rank(*f.rank, f.factor);
      if (f.kind == FaultKind::kLateStart) late_start_s_ += f.seconds;
    }
  }

  ~TwinServer() override {
    stop_ = true;
    if (front_) front_->wake();
    if (thread_.joinable()) thread_.join();
    if (!options_.truth_file.empty() && !stamps_.write(options_.truth_file, truth_json()))
      log_.plain("SIMULATION: the truth file could not be written: " + options_.truth_file);
  }

  Status listen() {
    PAWL_ASSIGN(front_, Front::open(options_.host, options_.port, clock_));
    port_ = front_->port();
    log_.plain(fmt::format("SIMULATION: pawl twin {}, no model is loaded; profile {}{}, times by the law for {} GPUs", options_.pawl_version, profile_.name,
                           options_.image.empty() ? "" : " for image " + options_.image, options_.tp));
    if (!profile_.has_law(options_.tp)) {
      log_.plain(
          fmt::format("SIMULATION: the profile has no law for this number of GPUs: that of the nearest one is {}", profile_.scaling ? "scaled" : "used"));
    }
    for (const Fault& f : options_.faults) {
      if (f.kind != FaultKind::kLogLine) log_.plain("SIMULATION: fault: " + codec::write_json(codec::to_json(f), codec::JsonForm::kPySpaced));
    }
    log_.say(log_.voice().settings(facts()));
    for (const auto& [flag, instead] : profile_.deprecated.value_or(std::map<std::string, std::string>{})) {
      if (flags_.known.contains(flag)) log_.say(log_.voice().deprecated(flag, instead));
    }
    planted_lines("start");
    thread_ = std::jthread([this] { loop(); });
    return {};
  }

  [[nodiscard]] std::uint16_t port() const override { return port_; }

  [[nodiscard]] int wait(std::stop_token stop) override {
    std::unique_lock lock(ended_mutex_);
    ended_.wait(lock, stop, [this] { return exit_status_.has_value(); });
    return exit_status_.value_or(0);
  }

 private:
  // ── the loop ────────────────────────────────────────────────────────────────────────────────────────────────────────
  void loop() {
    ::prctl(PR_SET_TIMERSLACK, 1);  // wake at the due time, not up to 50 µs later
    started_ = window_ = clock_.now();
    log_.say(log_.voice().loading(facts()));
    while (!stop_) {
      std::optional<MonoTime> until = fleet_.next();
      const auto sooner = [&](MonoTime t) {
        if (!until || t < *until) until = t;
      };
      if (!ready_) sooner(started_ + Nanos(static_cast<std::int64_t>(load_share(load_stage_) * 1e9)));
      if (listen_again_) sooner(*listen_again_);
      front_->poll(until, *this);
      sweep_gone();
      if (!ready_) load();
      if (listen_again_ && clock_.now() >= *listen_again_) {
        listen_again_.reset();
        front_->listen(true);
        log_.say(log_.voice().ready(facts()));
      }
      if (stop_) break;
      // One step a turn: a machine that is behind must still read its sockets.
      if (const auto event = fleet_.advance(clock_.now(), kHopeless)) {
        deliver(*event);
        if (restart_) restart();
      }
    }
  }

  void end(int status) {
    stop_ = true;
    front_->cut_all();
    front_->listen(false);
    {
      const std::lock_guard lock(ended_mutex_);
      exit_status_ = status;
    }
    ended_.notify_all();
  }

  /// Seconds after the start at which a stage of loading is over: weights, graph capture, all.
  [[nodiscard]] double load_share(int stage) const { return (profile_.load_s + late_start_s_) * (stage == 0 ? 0.5 : stage == 1 ? 0.7 : 1.0); }

  bool fails_at(const char* stage) {
    const bool fails = std::ranges::any_of(options_.faults, [&](const Fault& f) { return f.kind == FaultKind::kOutOfMemory && f.at == stage; });
    if (!fails) return false;
    log_.say(log_.voice().out_of_memory(stage));
    end(137);
    return true;
  }

  void load() {
    while (!ready_ && !stop_ && clock_.now() >= started_ + Nanos(static_cast<std::int64_t>(load_share(load_stage_) * 1e9))) {
      if (load_stage_ == 0) {
        if (fails_at("load")) return;
        log_.say(log_.voice().loaded(facts()));
      } else if (load_stage_ == 1) {
        log_.say(log_.voice().capturing());
      } else {
        if (fails_at("graph-capture")) return;
        log_.say(log_.voice().captured(facts()));
        ready_ = true;
        ready_at_ = clock_.now();
        log_.say(log_.voice().ready(facts()));
        planted_lines("ready");
      }
      ++load_stage_;
    }
  }

  void deliver(const engine_law::FleetEvent& event) {
    const engine_law::Iteration& it = *event.iteration;
    std::int64_t tokens = 0;
    for (const engine_law::TokenRun& run : it.tokens) {
      tokens += run.count;
      const auto live = live_.find(run.id);
      if (live != live_.end() && !hand_out(*live->second, run, event.at)) live_.erase(run.id);
    }
    const MonoTime now = clock_.now();
    counters_.prompt_tokens += it.prefill_tokens;
    counters_.cached_tokens += it.cached_tokens;
    counters_.output_tokens += tokens;
    window_tokens_ += tokens;
    if (now - event.at > kLate) ++counters_.late_iterations;
    if (now - window_ >= Seconds{1}) {
      counters_.tokens_per_s = static_cast<double>(window_tokens_) / seconds_of(now - window_);
      window_ = now;
      window_tokens_ = 0;
      for (const Fault& f : options_.faults) {
        if (f.kind == FaultKind::kDegrade) fleet_.set_slowdown(1 + f.per_minute * seconds_of(now - ready_at_) / 60);
      }
    }
    if (it.prefill_tokens > 0 || it.decode_batch > 0) log_.iteration(it, counters());
  }

  /// False: the request is over, or its peer is.
  bool hand_out(Live& live, const engine_law::TokenRun& run, MonoTime planned) {
    if (run.index == 0) live.text.set_cached(run.cached);
    if (!live.stream) {
      if (!run.last) return true;
      record(pawl::stamps::Kind::kDone, live, 0, planned);
      ++counters_.requests;
      std::string text;
      for (std::int64_t i = 0; i < live.reply.length(); ++i) text += live.reply.piece(i);
      front_->answer(live.exchange,
                     {200, marked({{"content-type", "application/json"}}), live.text.document(text, live.reply.finish_reason(), live.reply.length())});
      return false;
    }
    if (!live.begun) {
      live.begun = true;
      front_->begin(live.exchange, 200, marked({{"content-type", "text/event-stream; charset=utf-8"}, {"cache-control", "no-cache"}}));
      if (const std::string opening = live.text.opening(); !opening.empty()) front_->chunk(live.exchange, opening);
    }
    for (std::int64_t i = run.index; i < run.index + run.count; ++i) {
      if (spoil(live, i)) return false;
      const bool last = run.last && i + 1 == run.index + run.count;
      const std::int64_t sent = record(pawl::stamps::Kind::kEvent, live, i, planned);
      event_.clear();
      live.text.token(event_, live.reply.piece(i), i + 1, last, live.reply.finish_reason(), options_.stamp ? std::optional(Stamp{i, sent}) : std::nullopt);
      if (!front_->chunk(live.exchange, event_)) {
        if (!last) fleet_.cancel(run.id);
        return false;
      }
    }
    if (!run.last) return true;
    record(pawl::stamps::Kind::kDone, live, 0, planned);
    ++counters_.requests;
    if (const std::string closing = live.text.closing(live.reply.finish_reason(), live.reply.length()); !closing.empty()) front_->chunk(live.exchange, closing);
    front_->finish(live.exchange);
    return false;
  }

  /// Notes what is about to be sent; CLOCK_MONOTONIC.
  std::int64_t record(pawl::stamps::Kind kind, const Live& live, std::int64_t index, MonoTime planned) {
    const MonoTime now = clock_.now();
    if (kind == pawl::stamps::Kind::kEvent) {
      ++events_sent_;
      lateness_.add((now - planned).count());
    }
    if (options_.stamp || !options_.truth_file.empty()) {
      stamps_.add({.at_ns = now.since_boot.count(), .request = live.number, .event = static_cast<std::uint32_t>(index), .kind = kind});
    }
    return now.since_boot.count();
  }

  // ── faults ──────────────────────────────────────────────────────────────────────────────────────────────────────────
  static bool meets(const Fault& f, const Live& live) { return unit(mix(live.draw, static_cast<std::uint64_t>(f.kind))) < f.share; }

  /// Before token `index` of a stream. True: the answer is ruined and the request gone.
  bool spoil(Live& live, std::int64_t index) {
    for (const Fault& f : options_.faults) {
      if ((f.kind != FaultKind::kCutStream && f.kind != FaultKind::kMalformedChunk) || *f.after_tokens != index || !meets(f, live)) continue;
      if (f.kind == FaultKind::kMalformedChunk) {
        if (f.at.value_or("json") == "framing") {
          front_->raw(live.exchange, "xyz\r\nno length stands here\r\n");
        } else {
          front_->chunk(live.exchange, "data: {\"id\":\"cut off in the mid\n\n");
          front_->chunk(live.exchange, "data: [DONE]\n\n");
          front_->finish(live.exchange);
        }
      }
      fleet_.cancel(id_of(live));
      front_->cut(live.exchange);
      return true;
    }
    return false;
  }

  [[nodiscard]] static std::int64_t id_of(const Live& live) { return static_cast<std::int64_t>(live.number); }

  /// What happens to a request on arrival. True: it is dealt with.
  bool meet_faults(ExchangeId id, const http::Request& request, const Live& live) {
    for (const Fault& f : options_.faults) {
      if (f.kind == FaultKind::kNoInstances) {
        refuse(id, request, {503, "ServiceUnavailable", "no instance serves this model (simulated)"});
        return true;
      }
      if (f.kind == FaultKind::kHang && id_of(live) >= *f.after_requests) return true;  // never answered
      if (f.kind == FaultKind::kLogLine && f.after_requests && id_of(live) == *f.after_requests) log_.plain(*f.text);
      if (f.kind == FaultKind::kOverload && id_of(live) >= f.after_requests.value_or(0) && meets(f, live) &&
          fleet_.running() + fleet_.waiting() >= f.above_running.value_or(0)) {
        refuse(id, request, {static_cast<int>(f.status.value_or(503)), "Overloaded", "Service temporarily overloaded (simulated)"});
        return true;
      }
      if (f.kind == FaultKind::kLeak && !fleet_.shrink(*f.tokens_per_request)) {
        log_.say(log_.voice().out_of_memory(""));
        end(137);
        return true;
      }
      if (f.kind == FaultKind::kRestart && id_of(live) == *f.after_requests) {
        restart_ = true;
        restart_s_ = f.seconds;
      }
    }
    return false;
  }

  void restart() {
    restart_ = false;
    log_.plain("Traceback (most recent call last): (simulated: a restart in the middle)");
    front_->cut_all();
    front_->listen(false);
    for (const auto& [id, live] : live_) fleet_.cancel(id);
    live_.clear();
    listen_again_ = clock_.now() + Nanos(static_cast<std::int64_t>(restart_s_ * 1e9));
  }

  // ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────────
  void on_gone(ExchangeId id) override {
    for (auto live = live_.begin(); live != live_.end(); ++live) {
      if (live->second->exchange != id) continue;
      gone_.push_back(live->first);
      break;
    }
  }

  void on_request(ExchangeId id, http::Request request) override {
    sweep_gone();
    static const std::map<std::string, Endpoint, std::less<>> kGenerate = {{"/v1/completions", Endpoint::kCompletions},
                                                                           {"/v1/chat/completions", Endpoint::kChat},
                                                                           {"/generate", Endpoint::kSglang},
                                                                           {"/v2/models/ensemble/generate", Endpoint::kTriton},
                                                                           {"/v2/models/ensemble/generate_stream", Endpoint::kTriton},
                                                                           {"/generate_stream", Endpoint::kTriton},
                                                                           {"/completion", Endpoint::kLlama}};
    if (const auto endpoint = kGenerate.find(request.path); endpoint != kGenerate.end()) {
      if (request.method != "POST") return refuse(id, request, {405, "MethodNotAllowed", "use POST"});
      return generate(id, endpoint->second, request);
    }
    if (request.path == "/flush_cache") {
      fleet_.flush_cache();
      return reply(id, request, 200, "text/plain", "Cache flushed. (simulated)\n");
    }
    static const std::vector<std::string> kGet = {"/health",      "/health_generate", "/ping",       "/v1/models", "/version", "/get_server_info",
                                                  "/server_info", "/get_model_info",  "/model_info", "/metrics",   "/props",   "/twin/truth"};
    if (std::ranges::find(kGet, request.path) == kGet.end()) return refuse(id, request, {404, "NotFoundError", "the twin does not have this path"});
    if (request.method != "GET") return refuse(id, request, {405, "MethodNotAllowed", "use GET"});
    if (request.path.starts_with("/health") || request.path == "/ping") return reply(id, request, ready_ ? 200 : 503, "text/plain", "");
    if (request.path == "/metrics")
      return reply(id, request, 200, "text/plain; version=0.0.4", metrics_text(profile_.engine, options_.served_model_name, counters()));
    if (request.path == "/version") return reply(id, request, {{"version", profile_.version}, {"engine", profile_.engine}, {"simulated", "twin"}});
    if (request.path == "/twin/truth") {
      if (request.parameter("form") == "stamps") return reply(id, request, 200, "application/octet-stream", stamps_.bytes(truth_json()));
      return reply(id, request, 200, "application/json", truth_json());
    }
    if (request.path == "/v1/models") {
      return reply(id, request,
                   {{"object", "list"},
                    {"data",
                     {{{"id", options_.served_model_name},
                       {"object", "model"},
                       {"created", kCreated},
                       {"owned_by", "pawl-twin"},
                       {"root", options_.served_model_name},
                       {"max_model_len", profile_.context_length}}}}});
    }
    if (request.path == "/get_model_info" || request.path == "/model_info" || request.path == "/props") {
      return reply(id, request,
                   {{"model_path", options_.served_model_name},
                    {"tokenizer_path", options_.served_model_name},
                    {"is_generation", true},
                    {"n_ctx", profile_.context_length},
                    {"simulated", "twin"}});
    }
    Json info = settings();
    info["version"] = profile_.version;
    info["engine"] = profile_.engine;
    info["simulated"] = "twin";
    info["profile"] = profile_.name;
    info["image"] = options_.image;
    info["max_total_num_tokens"] = deployment_.law.kv_tokens;
    info["law"] = codec::to_json(deployment_.law);
    info["internal_states"] = {{{"last_gen_throughput", counters_.tokens_per_s}, {"late_iterations", counters_.late_iterations}}};
    reply(id, request, info);
  }

  void generate(ExchangeId id, Endpoint endpoint, const http::Request& request) {
    if (!ready_) return refuse(id, request, {503, "ServiceUnavailable", "the simulated engine is loading"});
    auto read =
        read_generation_request(endpoint, request.body, {options_.served_model_name, profile_.context_length, deployment_.law.block_tokens.value_or(0)});
    if (const auto* refusal = std::get_if<Refusal>(&read)) return refuse(id, request, *refusal);
    auto& wanted = std::get<GenerationRequest>(read);
    wanted.stream = wanted.stream || request.path.ends_with("_stream");
    const auto number = requests_++;
    const bool wrong = std::ranges::any_of(options_.faults, [&](const Fault& f) {
      return f.kind == FaultKind::kWrongAnswers && unit(mix(wanted.prompt_hash, static_cast<std::uint64_t>(f.kind))) < f.share;
    });
    auto pieces = examiner_.answer(wanted.prompt, wrong);
    // The words depend on the request, not on its turn: the same prompt gets the same text, as at temperature 0.
    const std::uint64_t seed = mix(options_.seed, wanted.prompt_hash);
    Reply text = pieces.empty() ? Reply::words(seed, wanted.max_tokens) : Reply::fixed(std::move(pieces), wanted.max_tokens);
    text.cut_at(wanted.stop);
    engine_law::Work work;
    work.id = static_cast<std::int64_t>(number);
    work.prompt_tokens = wanted.prompt_tokens;
    work.output_tokens = text.length();
    work.max_output_tokens = wanted.max_tokens;
    work.seed = seed;
    work.blocks = std::move(wanted.blocks);
    const std::string name = fmt::format("{:016x}{:08x}", mix(seed, hash_text(request.body)), static_cast<std::uint32_t>(seed));
    auto live = std::make_unique<Live>(Live{id, wanted.stream, false, number, mix(options_.seed, number), std::move(text), AnswerText(wanted, name, kCreated)});
    MonoTime arrival = clock_.now();
    if (options_.stamp || !options_.truth_file.empty()) {
      stamps_.add(
          {.at_ns = arrival.since_boot.count(), .request = number, .kind = pawl::stamps::Kind::kArrival, .flags = pawl::stamps::kUserStamp, .value = id.slot});
      if (const auto given = http::find_field(request.fields, "x-request-id"); given && given->size() < 512) stamps_.add_name(number, *given);
    }
    if (meet_faults(id, request, *live) || stop_) return;
    for (const Fault& f : options_.faults) {
      if (f.kind == FaultKind::kSlowFirstRequest && number == 0) arrival = arrival + Nanos(static_cast<std::int64_t>(f.seconds * 1e9));
    }
    if (!fleet_.submit(work, arrival)) {
      return refuse(id, request,
                    {400, "BadRequestError",
                     fmt::format("{} prompt and {} output tokens can never fit the KV cache of {} tokens", wanted.prompt_tokens, wanted.max_tokens,
                                 deployment_.law.kv_tokens)});
    }
    live_.emplace(work.id, std::move(live));
    log_.access(request.method, request.path, 200, reason(200));
  }

  /// Requests whose peers have left are forgotten outside of the loops that go over them.
  void sweep_gone() {
    for (const std::int64_t id : gone_) {
      fleet_.cancel(id);
      live_.erase(id);
    }
    gone_.clear();
  }

  void reply(ExchangeId id, const http::Request& request, int status, std::string type, std::string body) {
    log_.access(request.method, request.path, status, reason(status));
    front_->answer(id, {status, marked({{"content-type", std::move(type)}}), std::move(body)});
  }
  void reply(ExchangeId id, const http::Request& request, const Json& json) {
    reply(id, request, 200, "application/json", codec::write_json(json, codec::JsonForm::kCompactUtf8));
  }
  void refuse(ExchangeId id, const http::Request& request, const Refusal& refusal) {
    log_.access(request.method, request.path, refusal.status, reason(refusal.status));
    http::Response response = refusal_response(refusal);
    response.fields = marked(std::move(response.fields));
    front_->answer(id, response);
  }

  // ── what it tells about itself ──────────────────────────────────────────────────────────────────────────────────────
  [[nodiscard]] EngineCounters counters() const {
    EngineCounters out = counters_;
    out.running = fleet_.running();
    out.waiting = fleet_.waiting();
    out.resident_tokens = fleet_.held_tokens();
    out.kv_tokens = fleet_.kv_tokens();
    out.preemptions = fleet_.preemptions();
    return out;
  }

  [[nodiscard]] std::string truth_json() const {
    const auto us = [&](double p) { return lateness_.count() == 0 ? 0.0 : lateness_.percentile(p) / 1000; };
    return codec::write_json({{"program", "pawl twin"},
                              {"simulated", "twin"},
                              {"profile", profile_.name},
                              {"seed", options_.seed},
                              {"requests", requests_},
                              {"finished", counters_.requests},
                              {"events", events_sent_},
                              {"late_iterations", counters_.late_iterations},
                              {"late_us", {{"n", lateness_.count()}, {"p50", us(50)}, {"p99", us(99)}, {"max", us(100)}}}},
                             codec::JsonForm::kCompactUtf8);
  }

  [[nodiscard]] Json settings() const {
    Json json{{"model_path", options_.served_model_name},
              {"served_model_name", options_.served_model_name},
              {"host", options_.host},
              {"port", port_},
              {"tp_size", options_.tp},
              {"ep_size", options_.ep},
              {"dp_size", options_.dp},
              {"max_running_requests", deployment_.max_running},
              {"chunked_prefill_size", deployment_.law.chunk_tokens},
              {"context_length", profile_.context_length},
              {"random_seed", options_.seed}};
    for (const auto& [flag, value] : flags_.known) {
      std::string key = flag.substr(2);
      std::ranges::replace(key, '-', '_');
      if (json.contains(key)) continue;
      json[key] = value.empty() ? Json(true) : Json(value);
    }
    return json;
  }

  [[nodiscard]] StartFacts facts() const {
    const engine_law::Law& law = deployment_.law;
    return {options_.served_model_name,
            profile_.version,
            options_.host,
            port_,
            law.kv_tokens,
            law.chunk_tokens,
            deployment_.max_running,
            profile_.context_length,
            settings(),
            load_share(0),
            load_share(2) - load_share(1)};
  }

  void planted_lines(std::string_view at) {
    for (const Fault& f : options_.faults) {
      if (f.kind == FaultKind::kLogLine && f.at == at) log_.plain(*f.text);
    }
  }

  const TwinOptions options_;
  const Profile profile_;
  const EngineFlags flags_;
  const engine_law::Deployment deployment_;
  const Examiner examiner_;
  const io::Clock& clock_;
  EngineLog log_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Front> front_;
  std::atomic<bool> stop_ = false;
  std::mutex ended_mutex_;
  std::condition_variable_any ended_;
  std::optional<int> exit_status_;  ///< guarded by ended_mutex_

  // Of the loop's thread alone.
  engine_law::Fleet fleet_;
  std::unordered_map<std::int64_t, std::unique_ptr<Live>> live_;
  std::vector<std::int64_t> gone_;
  EngineCounters counters_;
  bool ready_ = false, restart_ = false;
  int load_stage_ = 0;
  double late_start_s_ = 0, restart_s_ = 0;
  MonoTime started_, ready_at_, window_;
  std::optional<MonoTime> listen_again_;
  std::int64_t window_tokens_ = 0, events_sent_ = 0;
  std::uint32_t requests_ = 0;
  stats::LogHistogram lateness_;
  pawl::stamps::Log stamps_{0};
  std::string event_;
  std::jthread thread_;
};

/// Flags of the engine that the simulation follows; all others are shown, nothing else.
void follow_flags(const EngineFlags& flags, engine_law::Deployment& d) {
  const auto number = [&](std::initializer_list<const char*> names) -> std::optional<std::int64_t> {
    for (const char* name : names) {
      if (const auto found = flags.known.find(name); found != flags.known.end()) {
        if (const auto value = parse_int(found->second); value && *value > 0) return value;
      }
    }
    return std::nullopt;
  };
  if (const auto n = number({"--max-running-requests", "--max-num-seqs"})) d.max_running = *n;
  if (const auto n = number({"--chunked-prefill-size", "--max-num-batched-tokens"})) d.law.chunk_tokens = *n;
  if (const auto n = number({"--max-total-tokens"})) d.law.kv_tokens = std::min(d.law.kv_tokens, *n);
  if (const auto n = number({"--scheduler-recv-interval"})) d.law.poll_steps = *n;
  if (flags.known.contains("--enable-mixed-chunk")) d.law.mixed = true;
  if (flags.known.contains("--disable-radix-cache") || flags.known.contains("--no-enable-prefix-caching")) d.law.block_tokens = 0;
  if (flags.known.contains("--enable-dp-attention")) d.lockstep = true;
}

}  // namespace

Result<std::unique_ptr<Twin>> Twin::start(const TwinOptions& options, const io::Assets& assets, const io::Clock& clock, LogSink log) {
  PAWL_ASSIGN(Profile profile, load_profile(assets, options.profile));
  if (options.tp < 1 || options.ep < 1 || options.dp < 1 || options.max_running_requests < 0) {
    return bad_input("--tp, --ep, --dp and --max-running-requests must be at least 1");
  }
  engine_law::Deployment deployment;
  deployment.law = profile.law_for(options.tp, options.ep);
  deployment.ranks = options.dp;
  deployment.max_running = profile.max_running_requests;
  if (deployment.law.kv_tokens < 1) {
    return bad_input(fmt::format("profile {}: the weights do not fit {} GPUs, no room is left for a KV cache", profile.name, options.tp), "give a larger --tp");
  }
  if (!options.engine.empty()) profile.engine = options.engine;
  EngineFlags flags = read_engine_flags(profile, options.engine_flags);
  if (!flags.unrecognized.empty()) return usage_error(unrecognized_message(flags, *voice_of(profile.engine)));
  follow_flags(flags, deployment);
  if (options.max_running_requests > 0) deployment.max_running = options.max_running_requests;
  PAWL_ASSIGN(Examiner examiner, Examiner::load(assets, profile.name, options.accuracy.value_or(profile.accuracy)));
  examiner.add(options.questions);
  TwinOptions resolved = options;
  if (resolved.served_model_name.empty()) resolved.served_model_name = profile.name;
  auto twin = std::make_unique<TwinServer>(std::move(resolved), std::move(profile), std::move(flags), std::move(examiner), std::move(deployment), clock,
                                           std::move(log));
  PAWL_TRY(twin->listen());
  return std::unique_ptr<Twin>(std::move(twin));
}

}  // namespace pawl::twin
