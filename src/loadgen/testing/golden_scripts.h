#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// The edge cases of bench-client 13 as bytes: what a server sends when, and what the record of that request must say.
/// Data only, so that a unit test can feed them to an Exchange, and a server can replay them over TCP, TLS or a Unix
/// socket, in one piece or cut at any byte.
namespace pawl::loadgen::golden {

struct Step {
  double ms = 0;      ///< after the whole request was read
  std::string bytes;  ///< as they go over the wire, HTTP framing included
};

struct Script {
  int row = 0;  ///< of the table
  std::string name;
  std::string backend;
  std::vector<Step> steps;
  bool closes = false;  ///< the server closes after the last step
  bool silent = false;  ///< after the last step the server says nothing and keeps the connection (row 27)
  std::int64_t asked_output = 3;
  std::size_t split_every = 1;  ///< cut positions to try: 1 = each byte; larger for scripts of megabytes

  // What must come out, whatever the splits.
  std::string outcome = "ok";
  std::string failure;
  std::optional<std::int64_t> token_events;
  std::optional<std::int64_t> osl;
  std::string osl_src;
  std::vector<std::string> flags;
  std::optional<std::vector<std::int64_t>> tokens;  ///< k_i, −1 unknown
  bool no_answer = false;                           ///< ttfa is null
  std::int64_t leftover = 0;                        ///< bytes at the end that are not of this answer
  bool reusable = false;                            ///< checked when true

  // What must come out at the given times, in one piece.
  std::optional<double> ttfe_ms, ttft_ms, e2el_ms, tpot_ms;
  std::optional<std::vector<double>> gaps_ms;
  std::optional<std::vector<double>> itl_ms;
  bool no_tpot = false;
  bool single_burst = false;
  std::int64_t coalesced = 0;
};

/// Events of one protocol, so that one case can be written for all of them.
class Dialect {
 public:
  explicit Dialect(std::string backend) : backend_(std::move(backend)) {}
  [[nodiscard]] const std::string& backend() const { return backend_; }
  [[nodiscard]] bool chat() const { return backend_.ends_with("-chat"); }
  [[nodiscard]] bool openai() const { return !sglang() && !trtllm() && !llama(); }
  [[nodiscard]] bool sglang() const { return backend_ == "sglang"; }
  [[nodiscard]] bool trtllm() const { return backend_ == "trtllm"; }
  [[nodiscard]] bool llama() const { return backend_ == "llamacpp"; }
  [[nodiscard]] bool marks_end() const { return openai() || sglang(); }
  [[nodiscard]] bool counts() const { return sglang() || llama(); }

  /// The data of an event that delivers `text` (JSON-escaped), the `n` tokens so far being `total`. `finish`: with a reason.
  std::string data(const std::string& text, std::int64_t total, const std::string& finish = {}) {
    so_far_ += text;
    if (sglang()) {
      return fmt::format(R"({{"text":"{}","meta_info":{{"prompt_tokens":7,"completion_tokens":{},"cached_tokens":0,"finish_reason":{}}}}})", so_far_, total,
                         finish.empty() ? "null" : fmt::format(R"({{"type":"{}"}})", finish));
    }
    if (trtllm()) return fmt::format(R"({{"model_name":"ensemble","sequence_end":false,"text_output":"{}"}})", text);
    if (llama()) {
      return fmt::format(R"({{"index":0,"content":"{}","tokens":[],"stop":{},"id_slot":0,"tokens_predicted":{},"tokens_evaluated":7{}}})", text,
                         !finish.empty(), total, finish.empty() ? "" : fmt::format(R"(,"stop_type":"{}")", finish == "length" ? "limit" : finish));
    }
    const std::string reason = finish.empty() ? "null" : "\"" + finish + "\"";
    if (chat())
      return fmt::format(R"({{"id":"c","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{{"content":"{}"}},"finish_reason":{}}}]}})", text,
                         reason);
    return fmt::format(R"({{"id":"c","object":"text_completion","choices":[{{"index":0,"text":"{}","finish_reason":{}}}]}})", text, reason);
  }
  std::string event(const std::string& text, std::int64_t total, const std::string& finish = {}) { return "data: " + data(text, total, finish) + "\n\n"; }
  /// What ends a good answer of `n` tokens: finish reason, usage where the protocol has it, terminal marker.
  std::string end(std::int64_t n, const std::string& finish = "length") {
    std::string out;
    if (!trtllm()) out += event("", n, finish);
    if (openai()) out += usage(n);
    return out + done();
  }
  [[nodiscard]] std::string usage(std::int64_t n) const {
    return fmt::format("data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":7,\"completion_tokens\":{},\"total_tokens\":{}}}}}\n\n", n, 7 + n);
  }
  [[nodiscard]] std::string done() const { return marks_end() ? "data: [DONE]\n\n" : ""; }
  [[nodiscard]] std::string source() const { return openai() ? "usage" : counts() ? "meta" : "events"; }

 private:
  std::string backend_, so_far_;
};

inline std::string chunk(const std::string& bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }
inline const std::string kHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// The steps as an event stream in chunks, one a step.
inline std::vector<Step> chunked(std::vector<Step> steps, const std::string& trailers = {}) {
  for (Step& step : steps) {
    if (!step.bytes.empty()) step.bytes = chunk(step.bytes);  // an empty chunk would be the end
  }
  steps.front().bytes = kHead + steps.front().bytes;
  steps.back().bytes += "0\r\n" + trailers + "\r\n";
  return steps;
}

/// The cases that mean the same on every protocol.
inline void add_common(const std::string& backend, std::vector<Script>& out) {
  const auto add = [&](int row, std::string name, std::vector<Step> steps) -> Script& {
    Script script;
    script.row = row;
    script.name = std::move(name);
    script.backend = backend;
    script.steps = std::move(steps);
    out.push_back(std::move(script));
    return out.back();
  };
  const auto good = [&](Script& script, std::int64_t n, std::int64_t events) {
    script.token_events = events;
    script.osl = n;
    script.osl_src = Dialect(backend).source();
  };
  const auto tpot = [&](Script& script, double value) {
    if (Dialect(backend).trtllm()) {
      script.no_tpot = true;  // nobody counted
    } else {
      script.tpot_ms = value;
    }
  };
  {
    Dialect d(backend);
    const std::string role =
        d.chat() ? "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n" : d.event("", 0);
    Script& s =
        add(1, "an empty event, later text", chunked({{40, role}, {50, d.event("a", 1)}, {60, d.event("b", 2)}, {70, d.event("c", 3)}, {71, d.end(3)}}));
    good(s, 3, 3);
    s.ttfe_ms = 40;
    s.ttft_ms = 50;
    s.e2el_ms = 70;
    s.gaps_ms = {{10, 10}};
    tpot(s, 10);
  }
  if (!Dialect(backend).trtllm()) {
    Dialect d(backend);
    Script& s = add(2, "text and finish in one event",
                    chunked({{50, d.event("a", 1)}, {60, d.event("b", 2)}, {70, d.event("c", 3, "stop")}, {75, (d.openai() ? d.usage(3) : "") + d.done()}}));
    good(s, 3, 3);
    s.ttft_ms = 50;
    s.e2el_ms = 70;
    s.tpot_ms = 10;
    s.itl_ms = {{10, 10}};
  }
  if (!Dialect(backend).trtllm()) {
    Dialect d(backend);
    Script& s = add(3, "a finish event without text moves no last token", chunked({{50, d.event("a", 1)}, {60, d.event("b", 2)}, {90, d.end(2)}}));
    good(s, 2, 2);
    s.e2el_ms = 60;
    s.tpot_ms = 10;
  }
  if (Dialect(backend).marks_end()) {
    Dialect d(backend);
    Script& s = add(9, "no terminal marker, clean close",
                    chunked({{50, d.event("a", 1)}, {60, d.event("b", 2)}, {61, d.event("", 2, "stop") + (d.openai() ? d.usage(2) : "")}}));
    good(s, 2, 2);
    s.flags = {"no_done"};
    s.e2el_ms = 60;
  }
  {
    Dialect d(backend);
    const std::string second = d.event("b", 2);
    std::vector<Step> steps = chunked({{50, d.event("a", 1)}, {60, second.substr(0, second.size() / 2)}});
    steps.back().bytes.resize(steps.back().bytes.size() - 5);  // the end chunk never comes
    Script& s = add(10, "connection cut in the middle of an event", std::move(steps));
    s.closes = true;
    s.outcome = "failed";
    s.failure = "early_eof";
    s.token_events = 1;
  }
  {
    Dialect d(backend);
    std::string ten;
    for (int i = 1; i <= 10; ++i) ten += d.event("x", i);
    Script& s = add(11, "error after ten tokens, then the marker",
                    chunked({{50, ten}, {60, "data: {\"error\":{\"message\":\"engine stopped\",\"code\":500}}\n\ndata: [DONE]\n\n"}}));
    s.outcome = "failed";
    s.failure = "inband_error";
    s.token_events = 10;
  }
  {
    Script& s = add(12, "200 with a page", {{5, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 31\r\n\r\n<!doctype html><p>Welcome!</p>\n"}});
    s.outcome = "failed";
    s.failure = "content_type";
    s.token_events = 0;
  }
  {
    Dialect d(backend);
    const std::string event = d.event("\xF0\x9F\x98\x80", 1);
    const std::string all = chunk(event);
    const std::size_t in_chunk = all.find('\xF0');
    const std::string end = d.end(1);
    Script& s = add(13, "a character of four bytes over three reads",
                    {{40, kHead + all.substr(0, in_chunk + 1)},
                     {50, all.substr(in_chunk + 1, 2)},
                     {60, all.substr(in_chunk + 3)},
                     {70, (end.empty() ? "" : chunk(end)) + "0\r\n\r\n"}});
    good(s, 1, 1);
    s.ttft_ms = 60;
    s.no_tpot = true;
  }
  {
    Dialect d(backend);
    const std::string data = d.data("a", 1);
    const std::size_t cut = data.find(',') + 1;
    Script& s = add(14, "a comment between data lines",
                    chunked({{50, ": hi\ndata: " + data.substr(0, cut) + "\n: keep-alive\ndata: " + data.substr(cut) + "\n\n"},
                             {60, ":\n\n" + d.event("b", 2)},
                             {61, d.end(2)}}));
    good(s, 2, 2);
    s.ttfe_ms = 50;
    s.ttft_ms = 50;
    s.gaps_ms = {{10}};
  }
  {
    Dialect d(backend);
    Script& s = add(15, "no blank after the colon, CR LF",
                    chunked({{50, "data:" + d.data("a", 1) + "\r\n\r\n"}, {60, "data:" + d.data("b", 2) + "\r\n\r\n"}, {61, d.end(2)}}));
    good(s, 2, 2);
    s.gaps_ms = {{10}};
  }
  {
    Dialect d(backend);
    Script& s = add(19, "all tokens in one event", chunked({{80, d.event("a b c", 3)}, {81, d.end(3)}}));
    good(s, Dialect(backend).trtllm() ? 1 : 3, 1);
    s.ttft_ms = 80;
    s.e2el_ms = 80;
    s.no_tpot = true;
    s.single_burst = !Dialect(backend).trtllm();  // uncounted: one token as far as anybody knows
    s.gaps_ms = std::vector<double>{};
  }
  {
    Dialect d(backend);
    std::string three = d.event("a", 1);  // one after the other: cumulative text grows with each
    three += d.event("b", 2);
    three += d.event("c", 3);
    Script& s = add(19, "all token events in one read", chunked({{80, three}, {81, d.end(3)}}));
    good(s, 3, 3);
    s.ttft_ms = 80;
    s.e2el_ms = 80;
    s.no_tpot = true;
    s.single_burst = true;
    s.gaps_ms = std::vector<double>{};
    s.coalesced = 2;
  }
  {
    Dialect d(backend);
    Script& s = add(20, "one token", chunked({{80, d.event("a", 1)}, {90, d.end(1)}}));
    s.asked_output = 1;
    good(s, 1, 1);
    s.ttft_ms = 80;
    s.no_tpot = true;
  }
  {
    Dialect d(backend);
    Script& s = add(21, "no token, finish stop", chunked({{80, d.end(0, "stop") + (d.trtllm() ? d.event("", 0) : "")}}));
    s.outcome = "failed";
    s.failure = "empty_output";
    s.token_events = 0;
  }
  {
    Script& s = add(26, "429 with Retry-After",
                    {{3,
                      "HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-type: application/json\r\ncontent-length: "
                      "28\r\n\r\n{\"error\":{\"message\":\"full\"}}"}});
    s.outcome = "failed";
    s.failure = "http_status";
    s.token_events = 0;
  }
  {
    Dialect d(backend);
    Script& s = add(27, "silent after two tokens", {{50, kHead + chunk(d.event("a", 1))}, {60, chunk(d.event("b", 2))}});
    s.silent = true;
    s.outcome = "timeout";
    s.failure = "timeout_idle";
    s.token_events = 2;
  }
  {
    Dialect d(backend);
    std::string body = d.data("a b", 2, "stop");
    if (d.openai())
      body = "{\"choices\":[{\"index\":0," + std::string(d.chat() ? R"("message":{"role":"assistant","content":"a b"})" : R"("text":"a b")") +
             R"(,"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}})";
    Script& s = add(28, "an answer that is no stream",
                    {{40, fmt::format("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.size())}, {50, body}});
    s.token_events = 0;
    s.flags = {"not_streamed"};
    if (!d.trtllm()) s.osl = 2;
    s.no_tpot = true;
  }
  {
    Dialect d(backend);
    std::vector<Step> steps = chunked({{50, d.event("a", 1)}, {60, d.event("b", 2)}, {61, d.end(2)}});
    const std::string next = "HTTP/1.1 200 OK\r\n";
    steps.back().bytes += next;
    Script& s = add(29, "bytes of the next answer", std::move(steps));
    good(s, 2, 2);
    s.leftover = static_cast<std::int64_t>(next.size());
  }
  {
    Dialect d(backend);
    std::vector<Step> steps = chunked({{50, d.event("a", 1)}, {60, d.event("b", 2)}, {61, d.end(2)}});
    steps.front().bytes = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + steps.front().bytes;
    good(add(31, "interim responses", std::move(steps)), 2, 2);
  }
  {
    Dialect d(backend);
    Script& s =
        add(32, "trailers after the last chunk", chunked({{50, d.event("a", 1)}, {60, d.event("b", 2)}, {61, d.end(2)}}, "x-checksum: 1\r\nx-more: 2\r\n"));
    good(s, 2, 2);
    s.reusable = true;
  }
  {
    Dialect d(backend);
    const std::string large(std::size_t{8} << 20, 'x');
    Script& s = add(33, "an event of 8 MiB",
                    chunked({{50, d.event("a", 1)}, {60, d.event(large, 2)}, {61, d.done().empty() ? ":\n\n" : (d.openai() ? d.usage(2) : "") + d.done()}}));
    good(s, 2, 2);
    s.split_every = (std::size_t{4} << 20) + 7;
    s.gaps_ms = {{10}};
  }
  if (Dialect(backend).marks_end()) {
    Dialect d(backend);
    Script& s = add(34, "bytes after the marker", chunked({{50, d.event("a", 1)}, {60, d.event("b", 2)}, {61, d.end(2)}, {62, "data: {\"rubbish\n\n"}}));
    good(s, 2, 2);
    s.flags = {"bytes_after_done"};
  }
  {
    Dialect d(backend);
    std::string sixty;
    for (int i = 1; i <= 60; ++i) sixty += d.event("x", i);
    Script& s = add(36, "60 token events in one read", chunked({{80, sixty}, {81, d.end(60)}}));
    s.asked_output = 60;
    good(s, 60, 60);
    s.no_tpot = true;
    s.single_burst = true;
    s.coalesced = 59;
    s.split_every = 31;
  }
  {
    Dialect d(backend);
    std::string two = d.event("A", 1);
    two += d.event("B", 2);
    Script& s = add(37, "two of four token events in one read", chunked({{100, two}, {180, d.event("C", 3)}, {200, d.event("D", 4)}, {201, d.end(4)}}));
    s.asked_output = 4;
    good(s, 4, 4);
    s.gaps_ms = {{0, 80, 20}};
    tpot(s, 100.0 / 3);
    s.coalesced = 1;
  }
  {
    Dialect d(backend);
    Script& s = add(38, "keep-alives sent as data",
                    chunked({{20, "data:\n\n"}, {30, "data: : keepalive\n\n"}, {60, d.event("a", 1)}, {80, d.event("b", 2)}, {81, d.end(2)}}));
    good(s, 2, 2);
    s.flags = {"keepalive_data"};
    s.ttfe_ms = 60;
    s.ttft_ms = 60;
  }
  {
    Dialect d(backend);
    Script& s = add(39, "an error event without data", chunked({{50, d.event("a", 1)}, {60, "event: error\ndata:\n\n"}}));
    s.outcome = "failed";
    s.failure = "inband_error";
    s.token_events = 1;
  }
}

/// The cases of the OpenAI protocols.
inline void add_openai(const std::string& backend, std::vector<Script>& out) {
  const auto add = [&](int row, std::string name, std::vector<Step> steps) -> Script& {
    Script script;
    script.row = row;
    script.name = std::move(name);
    script.backend = backend;
    script.steps = std::move(steps);
    out.push_back(std::move(script));
    return out.back();
  };
  const bool chat = Dialect(backend).chat();
  const auto with = [&](const std::string& text, const std::string& more) {
    return "data: {\"choices\":[{\"index\":0," + std::string(chat ? "\"delta\":{\"content\":\"" : "\"text\":\"") + text + (chat ? "\"}" : "\"") +
           ",\"finish_reason\":null}]" + more + "}\n\n";
  };
  for (const char* choices : {R"("choices":[],)", R"("choices":null,)", ""}) {
    Dialect d(backend);
    Script& s = add(4, fmt::format("usage with {}", *choices == 0 ? "no choices" : choices),
                    chunked({{50, d.event("a", 1)},
                             {60, d.event("b", 2)},
                             {61, d.event("", 2, "stop")},
                             {62, fmt::format("data: {{{}\"usage\":{{\"prompt_tokens\":7,\"completion_tokens\":2}}}}\n\n", choices) + d.done()}}));
    s.token_events = 2;
    s.osl = 2;
    s.osl_src = "usage";
    s.tpot_ms = 10;
  }
  {
    Dialect d(backend);
    Script& s = add(
        5, "usage together with choices",
        chunked(
            {{50, d.event("a", 1)}, {60, with("b", R"(,"usage":{"prompt_tokens":7,"completion_tokens":2})")}, {61, d.event("", 2, "stop")}, {62, d.done()}}));
    s.token_events = 2;
    s.osl = 2;
    s.tpot_ms = 10;
  }
  {
    const auto usage = [](int n) { return fmt::format(R"(,"usage":{{"prompt_tokens":7,"completion_tokens":{}}})", n); };
    Dialect d(backend);
    Script& s = add(6, "usage in every event, the first count 0",
                    chunked({{50, with("a", usage(0))}, {60, with("b", usage(2))}, {80, with("c", usage(3))}, {81, d.usage(3) + d.done()}}));
    s.token_events = 3;
    s.tokens = {{0, 2, 1}};
    s.osl = 3;
    s.itl_ms = {{5, 20}};
    s.flags = {"no_finish"};
  }
  {
    Dialect d(backend);
    Script& s = add(7, "two usage events, the second partial",
                    chunked({{50, d.event("a", 1)},
                             {60, d.event("b", 2, "stop")},
                             {61, d.usage(2)},
                             {62, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9}}\n\n" + d.done()}}));
    s.token_events = 2;
    s.osl = 2;
    s.osl_src = "usage";
  }
  {
    Dialect d(backend);
    Script& s = add(8, "no usage at all", chunked({{50, d.event("a", 1)}, {60, d.event("b", 2, "stop")}, {61, d.done()}}));
    s.token_events = 2;
    s.osl = 2;
    s.osl_src = "events";
    s.no_tpot = true;
  }
  {
    Dialect d(backend);
    Script& s = add(25, "finish reason abort", chunked({{50, d.event("a", 1)}, {60, d.event("", 1, "abort")}, {61, d.usage(1) + d.done()}}));
    s.outcome = "failed";
    s.failure = "bad_finish";
    s.token_events = 1;
  }
  {
    const auto of = [&](int index, const char* text) {
      return fmt::format("data: {{\"choices\":[{{\"index\":{},{}}}]}}\n\n", index,
                         chat ? fmt::format(R"("delta":{{"content":"{}"}})", text) : fmt::format(R"("text":"{}")", text));
    };
    Dialect d(backend);
    Script& s = add(30, "two choices in turn", chunked({{50, of(0, "a")}, {55, of(1, "b")}, {60, of(0, "c")}, {75, of(1, "d")}, {76, d.usage(4) + d.done()}}));
    s.token_events = 4;
    s.osl = 4;
    s.ttft_ms = 50;
    s.gaps_ms = {{10, 20}};
    s.flags = {"no_finish"};
  }
  {
    Dialect d(backend);
    Script& s = add(35, "repeated and unknown keys",
                    chunked({{50, "data: {\"choices\":[{\"index\":9}],\"x\":{\"y\":[1,{\"z\":null}]},\"choices\":[{\"index\":0," +
                                      std::string(chat ? R"("delta":{"content":"","content":"a"})" : R"("text":"","text":"a")") + "}]}\n\n"},
                             {60, d.event("b", 2, "stop")},
                             {61, d.usage(2) + d.done()}}));
    s.token_events = 2;
    s.osl = 2;
  }
  if (!chat) return;
  {
    const auto thought = [](const std::string& members) {
      return "data: {\"choices\":[{\"index\":0,\"delta\":{" + members + "},\"finish_reason\":null}]}\n\n";
    };
    Dialect d(backend);
    Script& s = add(16, "reasoning only, then the length stop",
                    chunked({{50, thought(R"("reasoning_content":"hm")")},
                             {60, thought(R"("reasoning_content":" ok")")},
                             {61, d.event("", 2, "length")},
                             {62, d.usage(2) + d.done()}}));
    s.token_events = 2;
    s.osl = 2;
    s.ttft_ms = 50;
    s.no_answer = true;
    Dialect e(backend);
    Script& both = add(17, "both names of reasoning with one text",
                       chunked({{50, thought(R"("reasoning":"hm","reasoning_content":"hm")")}, {60, e.event("a", 2)}, {61, e.end(2)}}));
    both.token_events = 2;
    both.osl = 2;
    const auto call = [&](const std::string& function) { return thought(R"("tool_calls":[{"index":0,"type":"function","function":{)" + function + "}}]"); };
    Dialect t(backend);
    Script& tools = add(18, "a tool call in pieces",
                        chunked({{50, call(R"("name":"find","arguments":"")")},
                                 {60, call(R"("arguments":"{\"q\"")")},
                                 {70, call(R"("arguments":":1}")")},
                                 {71, t.event("", 3, "tool_calls")},
                                 {72, t.usage(3) + t.done()}}));
    tools.token_events = 3;
    tools.osl = 3;
    tools.gaps_ms = {{10, 10}};
  }
}

/// The cases of SGLang's /generate: cumulative text and a counter.
inline void add_sglang(std::vector<Script>& out) {
  const auto event = [](const std::string& text, int n, const char* finish = "null") {
    return fmt::format("data: {{\"text\":\"{}\",\"meta_info\":{{\"prompt_tokens\":7,\"completion_tokens\":{},\"finish_reason\":{}}}}}\n\n", text, n, finish);
  };
  const auto add = [&](int row, std::string name, std::vector<Step> steps) -> Script& {
    Script script;
    script.row = row;
    script.name = std::move(name);
    script.backend = "sglang";
    script.steps = chunked(std::move(steps));
    script.osl_src = "meta";
    out.push_back(std::move(script));
    return out.back();
  };
  const std::string end = "data: [DONE]\n\n";
  {
    Script& s = add(22, "text unchanged, counter + 2", {{50, event("a", 1)}, {60, event("a", 3)}, {70, event("ab", 4, R"({"type":"length"})")}, {71, end}});
    s.token_events = 3;
    s.tokens = {{1, 2, 1}};
    s.osl = 4;
    s.flags = {"textless"};
    s.itl_ms = {{5, 10}};
  }
  {
    Script& s = add(23, "counter unchanged, text grows", {{50, event("a", 1)}, {60, event("ab", 1)}, {80, event("abc", 2, R"({"type":"length"})")}, {81, end}});
    s.token_events = 3;
    s.tokens = {{1, 0, 1}};
    s.osl = 2;
    s.itl_ms = {{30}};
  }
  {
    Script& s = add(24, "the text loses a character", {{50, event("abc", 1)}, {60, event("ab", 2)}, {70, event("abd", 3, R"({"type":"length"})")}, {71, end}});
    s.token_events = 3;
    s.tokens = {{1, 1, 1}};
    s.osl = 3;
    s.flags = {"rewrote"};
  }
  {
    Script& s = add(25, "finish reason abort", {{50, event("a", 1)}, {60, event("a", 1, R"({"type":"abort","message":"x"})")}, {61, end}});
    s.osl_src.clear();
    s.outcome = "failed";
    s.failure = "bad_finish";
    s.token_events = 1;
  }
}

/// All scripts: each row of the table on each back end where it says something.
inline std::vector<Script> scripts(const std::vector<std::string>& backends = {"openai", "openai-chat", "vllm", "vllm-chat", "dynamo", "dynamo-chat", "sglang",
                                                                               "trtllm", "llamacpp"}) {
  std::vector<Script> out;
  for (const std::string& backend : backends) {
    add_common(backend, out);
    if (Dialect(backend).openai()) add_openai(backend, out);
    if (backend == "sglang") add_sglang(out);
  }
  return out;
}

}  // namespace pawl::loadgen::golden
