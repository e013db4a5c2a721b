#include "loadgen/prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "codec/json.h"

namespace pawl::loadgen {
namespace {

/// Everyday words that the usual vocabularies hold as one token with the blank before it.
constexpr std::array<std::string_view, 64> kWords{
    "time",  "year", "people", "way",   "day",  "man",  "thing", "woman", "life", "child", "world", "school", "state",  "family", "student", "group",
    "hand",  "part", "place",  "case",  "week", "work", "night", "point", "home", "water", "room",  "mother", "area",   "money",  "story",   "fact",
    "month", "lot",  "right",  "study", "book", "eye",  "job",   "word",  "side", "kind",  "head",  "house",  "friend", "father", "power",   "hour",
    "game",  "line", "end",    "law",   "car",  "city", "name",  "team",  "idea", "body",  "back",  "face",   "level",  "office", "door",    "health"};

/// The first token ids of a vocabulary are special or single bytes.
constexpr std::int64_t kFirstToken = 100;

std::int64_t drawn_length(SplitMix64& random, std::int64_t length, double ratio) {
  const auto low = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(length) * ratio));
  return random.between(std::min(low, length), length);
}

}  // namespace

std::uint64_t SplitMix64::next() {
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

std::int64_t SplitMix64::between(std::int64_t low, std::int64_t high) {
  const std::uint64_t span = static_cast<std::uint64_t>(high - low) + 1;
  __extension__ using Wide = unsigned __int128;
  return low + static_cast<std::int64_t>(static_cast<std::uint64_t>((static_cast<Wide>(next()) * span) >> 64));
}

RequestBuilder::RequestBuilder(const LoadRequest& load, const Target& target)
    : load_(load),
      protocol_(load.backend == "openai-chat" ? Protocol::kChat : Protocol::kCompletions),
      endpoint_(target.prefix + (protocol_ == Protocol::kChat ? "/v1/chat/completions" : "/v1/completions")),
      model_(codec::write_json(codec::Json(load.model), codec::JsonForm::kCompactUtf8)) {
  head_start_ = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: pawl-bench\r\nAccept: text/event-stream, application/json\r\nAccept-Encoding: identity\r\n"
      "Content-Type: application/json\r\n",
      endpoint_, target.authority);
  if (load.bearer) head_start_ += "Authorization: Bearer " + *load.bearer + "\r\n";
}

PlannedRequest RequestBuilder::build(Phase phase, std::int64_t index) const {
  // Three draws decorrelate neighbouring seeds and indexes.
  std::uint64_t mixed = SplitMix64(static_cast<std::uint64_t>(load_.seed)).next();
  mixed = SplitMix64(mixed ^ (phase == Phase::kWarmup ? 0x5741524D55505F31ull : 0)).next();
  SplitMix64 random(SplitMix64(mixed + static_cast<std::uint64_t>(index)).next());

  PlannedRequest planned;
  planned.record.asked_input = drawn_length(random, load_.isl, load_.range_ratio);
  planned.record.asked_output = drawn_length(random, load_.osl, load_.range_ratio);
  planned.record.input_exact = protocol_ == Protocol::kCompletions;
  planned.record.ignores_eos = load_.ignore_eos;

  std::string body;
  body.reserve(static_cast<std::size_t>(planned.record.asked_input) * 7 + 512);
  auto out = std::back_inserter(body);
  fmt::format_to(out, R"({{"model":{},)", model_);
  if (protocol_ == Protocol::kCompletions) {
    body += R"("prompt":[)";
    const std::int64_t last = std::max(kFirstToken, load_.vocabulary - 1);
    for (std::int64_t i = 0; i < planned.record.asked_input; ++i) fmt::format_to(out, "{}{}", i == 0 ? "" : ",", random.between(kFirstToken, last));
    fmt::format_to(out, R"(],"max_tokens":{})", planned.record.asked_output);
  } else {
    body += R"("messages":[{"role":"user","content":")";
    for (std::int64_t i = 0; i < planned.record.asked_input; ++i) fmt::format_to(out, "{}{}", i == 0 ? "" : " ", kWords[random.next() % kWords.size()]);
    fmt::format_to(out, R"("}}],"max_completion_tokens":{})", planned.record.asked_output);
  }
  body += R"(,"temperature":0,"stream":true,"stream_options":{"include_usage":true})";
  if (load_.ignore_eos) body += R"(,"ignore_eos":true)";
  body += '}';
  planned.bytes = fmt::format("{}X-Request-Id: pawl-{}-{}-{}\r\nContent-Length: {}\r\n\r\n{}", head_start_, load_.seed, phase == Phase::kWarmup ? "w" : "m",
                              index, body.size(), body);
  return planned;
}

}  // namespace pawl::loadgen
