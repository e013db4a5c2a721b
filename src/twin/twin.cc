#include "twin/twin.h"

#include <fmt/format.h>

#include <atomic>
#include <variant>

#include "codec/describe.h"
#include "http/server.h"
#include "twin/answers.h"
#include "twin/flags.h"
#include "twin/hash.h"
#include "twin/protocol.h"

namespace pawl::twin {
namespace {

using codec::Json;

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

/// Turns the tokens of one request into its answer.
class Answer final : public TokenSink {
 public:
  Answer(const GenerationRequest& request, Reply reply, const std::string& id, std::int64_t created, std::shared_ptr<http::Responder> responder)
      : stream_(request.stream), reply_(std::move(reply)), text_(request, id, created), responder_(std::move(responder)) {}

  bool on_token(std::int64_t index, bool last) override {
    if (responder_->peer_gone()) return false;
    if (!stream_) {
      if (last) {
        responder_->send({200, marked({{"content-type", "application/json"}}), text_.document(reply_.whole(), reply_.finish_reason(), reply_.length())});
      }
      return true;
    }
    if (index == 0) {
      responder_->begin(200, marked({{"content-type", "text/event-stream; charset=utf-8"}, {"cache-control", "no-cache"}}));
      if (const std::string opening = text_.opening(); !opening.empty()) responder_->write(opening);
    }
    responder_->write(text_.token(reply_.piece(index)));
    if (last) {
      responder_->write(text_.closing(reply_.finish_reason(), reply_.length()));
      responder_->finish();
    }
    return true;
  }

 private:
  const bool stream_;
  const Reply reply_;
  const AnswerText text_;
  const std::shared_ptr<http::Responder> responder_;
};

class TwinServer final : public Twin {
 public:
  TwinServer(TwinOptions options, Profile profile, EngineFlags flags, Examiner examiner, const io::Clock& clock, LogSink log)
      : options_(std::move(options)),
        profile_(std::move(profile)),
        flags_(std::move(flags)),
        law_(profile_.law_for(options_.tp, options_.ep)),
        max_running_(options_.max_running_requests > 0 ? options_.max_running_requests : profile_.max_running_requests),
        examiner_(std::move(examiner)),
        clock_(clock),
        log_(clock, std::move(log)),
        engine_(clock, {.law = law_, .max_running = max_running_, .ranks = 1, .lockstep = false, .prefill = {}}, options_.seed,
                [this](const auto& iteration, const auto& counters) { log_.iteration(iteration, counters, law_.kv_tokens); }) {}

  ~TwinServer() override {
    loader_ = {};
    // Then the front, whose handlers use everything that is left.
    server_.reset();
  }

  Status listen() {
    http::ServerOptions http;
    http.address = options_.host;
    http.port = options_.port;
    PAWL_ASSIGN(server_, http::Server::start(
                             http, [this](http::Request request, std::shared_ptr<http::Responder> responder) { handle(request, std::move(responder)); }));
    log_.plain(fmt::format("SIMULATION: pawl twin {}, no model is loaded; profile {}{}, times by the law for {} GPUs", options_.pawl_version, profile_.name,
                           options_.image.empty() ? "" : " for image " + options_.image, options_.tp));
    if (!profile_.has_law(options_.tp)) {
      log_.line(fmt::format("the profile has no law for this number of GPUs: that of the nearest one is {}", profile_.scaling ? "scaled" : "used"));
    }
    log_.line("server_args=ServerArgs(" + server_args() + ")");
    loader_ = std::jthread([this](std::stop_token stop) { load(std::move(stop)); });
    return {};
  }

  [[nodiscard]] std::uint16_t port() const override { return server_->port(); }

 private:
  void load(std::stop_token stop) {
    const MonoTime begin = clock_.now();
    const auto wait_for_share = [&](double share) { return clock_.sleep_until(begin + Nanos(static_cast<std::int64_t>(profile_.load_s * share * 1e9)), stop); };
    log_.line("Load weight begin. (simulated)");
    if (!wait_for_share(0.5)) return;
    log_.line(fmt::format("Load weight end. type={}, elapsed={:.2f} s. (simulated)", options_.served_model_name, profile_.load_s * 0.5));
    log_.line(fmt::format("KV Cache is allocated. #tokens: {} (simulated)", law_.kv_tokens));
    if (!wait_for_share(0.7)) return;
    log_.line("Capture cuda graph begin. (simulated)");
    if (!wait_for_share(1)) return;
    log_.line(fmt::format("Capture cuda graph end. Time elapsed: {:.2f} s. (simulated)", profile_.load_s * 0.3));
    log_.line(fmt::format("max_total_num_tokens={}, chunked_prefill_size={}, max_running_requests={}, context_len={}", law_.kv_tokens, law_.chunk_tokens,
                          max_running_, profile_.context_length));
    ready_ = true;
    log_.plain(fmt::format("INFO:     Uvicorn running on http://{}:{} (Press CTRL+C to quit)", options_.host, server_->port()));
    log_.line("The server is fired up and ready to roll!");
  }

  [[nodiscard]] Json settings() const {
    Json json{{"model_path", options_.served_model_name},
              {"served_model_name", options_.served_model_name},
              {"host", options_.host},
              {"port", server_->port()},
              {"tp_size", options_.tp},
              {"ep_size", options_.ep},
              {"max_running_requests", max_running_},
              {"chunked_prefill_size", law_.chunk_tokens},
              {"context_length", profile_.context_length},
              {"random_seed", options_.seed}};
    for (const auto& [flag, value] : flags_.known) {
      std::string key = flag.substr(2);
      std::ranges::replace(key, '-', '_');
      if (key == "tp_size" || key == "ep_size") continue;
      json[key] = value.empty() ? Json(true) : Json(value);
    }
    return json;
  }

  [[nodiscard]] std::string server_args() const {
    std::string text;
    const Json json = settings();
    for (auto it = json.begin(); it != json.end(); ++it) {
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", it.key(),
                          it->is_string()    ? "'" + it->get<std::string>() + "'"
                          : it->is_boolean() ? std::string(it->get<bool>() ? "True" : "False")
                                             : it->dump());
    }
    return text;
  }

  void reply(http::Responder& responder, const http::Request& request, int status, std::string type, std::string body) {
    log_.access(request.method, request.path, status, reason(status));
    responder.send({status, marked({{"content-type", std::move(type)}}), std::move(body)});
  }
  void reply(http::Responder& responder, const http::Request& request, const Json& json) {
    reply(responder, request, 200, "application/json", codec::write_json(json, codec::JsonForm::kCompactUtf8));
  }
  void refuse(http::Responder& responder, const http::Request& request, const Refusal& refusal) {
    log_.access(request.method, request.path, refusal.status, reason(refusal.status));
    http::Response response = refusal_response(refusal);
    response.fields = marked(std::move(response.fields));
    responder.send(std::move(response));
  }

  void handle(const http::Request& request, std::shared_ptr<http::Responder> responder) {
    const bool chat = request.path == "/v1/chat/completions";
    if (chat || request.path == "/v1/completions") {
      if (request.method != "POST") return refuse(*responder, request, {405, "MethodNotAllowed", "use POST"});
      return generate(chat ? Endpoint::kChat : Endpoint::kCompletions, request, std::move(responder));
    }
    const bool known = request.path == "/health" || request.path == "/health_generate" || request.path == "/v1/models" || request.path == "/version" ||
                       request.path == "/get_server_info" || request.path == "/server_info" || request.path == "/metrics";
    if (!known) return refuse(*responder, request, {404, "NotFoundError", "the twin does not have this path"});
    if (request.method != "GET") return refuse(*responder, request, {405, "MethodNotAllowed", "use GET"});
    if (request.path.starts_with("/health")) return reply(*responder, request, ready_ ? 200 : 503, "text/plain", "");
    if (request.path == "/metrics") return reply(*responder, request, 200, "text/plain; version=0.0.4", metrics());
    if (request.path == "/version") return reply(*responder, request, {{"version", profile_.version}, {"engine", profile_.engine}, {"simulated", "twin"}});
    if (request.path == "/v1/models") {
      return reply(*responder, request,
                   {{"object", "list"},
                    {"data",
                     {{{"id", options_.served_model_name},
                       {"object", "model"},
                       {"created", created()},
                       {"owned_by", "pawl-twin"},
                       {"root", options_.served_model_name},
                       {"max_model_len", profile_.context_length}}}}});
    }
    Json info = settings();
    info["version"] = profile_.version;
    info["engine"] = profile_.engine;
    info["simulated"] = "twin";
    info["profile"] = profile_.name;
    info["image"] = options_.image;
    info["max_total_num_tokens"] = law_.kv_tokens;
    info["law"] = codec::to_json(law_);
    const EngineCounters counters = engine_.counters();
    info["internal_states"] = {{{"last_gen_throughput", counters.tokens_per_s}, {"late_iterations", counters.late_iterations}}};
    reply(*responder, request, info);
  }

  void generate(Endpoint endpoint, const http::Request& request, std::shared_ptr<http::Responder> responder) {
    if (!ready_) return refuse(*responder, request, {503, "ServiceUnavailable", "the simulated engine is loading"});
    auto read = read_generation_request(endpoint, request.body, {options_.served_model_name, profile_.context_length});
    if (const auto* refusal = std::get_if<Refusal>(&read)) return refuse(*responder, request, *refusal);
    const auto& wanted = std::get<GenerationRequest>(read);
    const std::uint64_t number = ++requests_;
    auto pieces = examiner_.answer(wanted.prompt);
    // The words depend on the request, not on its turn: the same prompt gets the same text, as at temperature 0.
    const std::uint64_t seed = mix(options_.seed, wanted.prompt.empty() ? static_cast<std::uint64_t>(wanted.prompt_tokens) : hash_text(wanted.prompt));
    Reply text = pieces.empty() ? Reply::words(seed, wanted.max_tokens) : Reply::fixed(std::move(pieces), wanted.max_tokens);
    text.cut_at(wanted.stop);
    engine_law::Work work;
    work.prompt_tokens = wanted.prompt_tokens;
    work.output_tokens = text.length();
    work.max_output_tokens = wanted.max_tokens;
    work.seed = seed;
    const std::string id = fmt::format("{:016x}{:08x}", mix(options_.seed, number), number);
    if (engine_.submit(work, std::make_shared<Answer>(wanted, std::move(text), id, created(), responder))) {
      return log_.access(request.method, request.path, 200, reason(200));
    }
    refuse(*responder, request,
           {400, "BadRequestError",
            fmt::format("{} prompt and {} output tokens can never fit the KV cache of {} tokens", wanted.prompt_tokens, wanted.max_tokens, law_.kv_tokens)});
  }

  [[nodiscard]] std::int64_t created() const { return clock_.wall().since_epoch / Seconds{1}; }

  [[nodiscard]] std::string metrics() const {
    const EngineCounters c = engine_.counters();
    std::string text = "# SIMULATION: pawl twin, no model is loaded\n";
    const auto add = [&](const char* name, const char* type, const std::string& value) {
      text += fmt::format("# TYPE sglang:{} {}\nsglang:{}{{model_name=\"{}\"}} {}\n", name, type, name, options_.served_model_name, value);
    };
    add("num_running_reqs", "gauge", std::to_string(c.running));
    add("num_queue_reqs", "gauge", std::to_string(c.waiting));
    add("num_used_tokens", "gauge", std::to_string(c.resident_tokens));
    add("token_usage", "gauge", fmt::format("{:.6f}", static_cast<double>(c.resident_tokens) / static_cast<double>(law_.kv_tokens)));
    add("gen_throughput", "gauge", fmt::format("{:.3f}", c.tokens_per_s));
    add("prompt_tokens_total", "counter", std::to_string(c.prompt_tokens));
    add("generation_tokens_total", "counter", std::to_string(c.output_tokens));
    return text;
  }

  const TwinOptions options_;
  const Profile profile_;
  const EngineFlags flags_;
  const engine_law::Law law_;
  const std::int64_t max_running_;
  const Examiner examiner_;
  const io::Clock& clock_;
  EngineLog log_;
  std::atomic<bool> ready_ = false;
  std::atomic<std::uint64_t> requests_ = 0;
  Engine engine_;
  std::unique_ptr<http::Server> server_;
  std::jthread loader_;
};

}  // namespace

Result<std::unique_ptr<Twin>> Twin::start(const TwinOptions& options, const io::Assets& assets, const io::Clock& clock, LogSink log) {
  PAWL_ASSIGN(Profile profile, load_profile(assets, options.profile));
  if (options.tp < 1 || options.ep < 1 || options.max_running_requests < 0) return bad_input("--tp, --ep and --max-running-requests must be at least 1");
  if (profile.law_for(options.tp, options.ep).kv_tokens < 1) {
    return bad_input(fmt::format("profile {}: the weights do not fit {} GPUs, no room is left for a KV cache", profile.name, options.tp), "give a larger --tp");
  }
  EngineFlags flags = read_engine_flags(profile, options.engine_flags);
  if (!flags.unrecognized.empty()) return usage_error(unrecognized_message(flags));
  PAWL_ASSIGN(Examiner examiner, Examiner::load(assets, profile.name, profile.accuracy));
  TwinOptions resolved = options;
  if (resolved.served_model_name.empty()) resolved.served_model_name = profile.name;
  auto twin = std::make_unique<TwinServer>(std::move(resolved), std::move(profile), std::move(flags), std::move(examiner), clock, std::move(log));
  PAWL_TRY(twin->listen());
  return std::unique_ptr<Twin>(std::move(twin));
}

}  // namespace pawl::twin
