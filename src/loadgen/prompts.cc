#include "loadgen/prompts.h"

#include <fmt/format.h>

#include <utility>

#include "base/assert.h"
#include "workload/random_workload.h"

namespace pawl::loadgen {
namespace {

/// The random workload that a request describes by its lengths alone. Its lengths were checked with the request.
std::shared_ptr<const workload::Workload> random_prompts(const LoadRequest& load, const backend::Backend& backend) {
  workload::RandomOptions options;
  options.form = backend.prompt_form();
  options.lengths = {workload::RangeProfile::kInferencex, load.isl, load.osl, load.range_ratio, 0};
  options.seed = load.seed;
  options.vocabulary = load.vocabulary;
  auto made = workload::make_random_workload(options);
  PAWL_ASSERT(made.has_value());
  return std::move(*made);
}

}  // namespace

RequestBuilder::RequestBuilder(const LoadRequest& load) : load_(load), backend_(backend::find_backend(load.backend)) {
  PAWL_ASSERT(backend_ != nullptr);  // checked with the request
  workload_ = load.workload ? load.workload : random_prompts(load, *backend_);
  options_.model = load.model;
  options_.ignore_eos = load.ignore_eos;
  options_.temperature = 0;
  options_.tools = load.tools;
  options_.extra = load.extra;
  if (load.echo) {
    if (options_.extra.is_null()) options_.extra = codec::Json::object();
    options_.extra["echo"] = true;
  }
  endpoint_ = backend_->path(options_);
}

std::string RequestBuilder::head(const Target& target) const {
  std::string head = fmt::format(
      "POST {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: pawl-bench\r\nAccept: text/event-stream, application/json\r\nAccept-Encoding: identity\r\n"
      "Content-Type: application/json\r\n",
      target.prefix, endpoint_, target.authority);
  if (load_.bearer) head += "Authorization: Bearer " + *load_.bearer + "\r\n";
  for (const auto& [name, value] : load_.headers) head += name + ": " + value + "\r\n";
  return head;
}

backend::ReadOptions RequestBuilder::read_options() const {
  backend::ReadOptions options;
  options.keep_text = load_.keep_text;
  return options;
}

workload::Prompt RequestBuilder::prompt(Phase phase, std::int64_t index) const {
  return phase == Phase::kWarmup ? workload_->warmup(index) : workload_->prompt(index);
}

workload::SessionSpan RequestBuilder::span(Phase phase, std::int64_t unit) const {
  return phase == Phase::kWarmup ? workload::SessionSpan{unit, 1} : workload_->session(unit);
}

RequestRecord RequestBuilder::plan(Phase phase, std::int64_t index, const workload::Prompt& prompt) const {
  RequestRecord record;
  record.asked_input = prompt.isl;
  record.asked_output = prompt.osl;
  record.input_exact = prompt.input_exact;
  record.ignores_eos = load_.ignore_eos;
  record.index = index;
  record.session = prompt.session;
  record.turn = prompt.turn;
  record.phase = phase;
  record.id = fmt::format("pawl-{}-{}-{}", load_.seed, phase == Phase::kWarmup ? "w" : "m", index);
  return record;
}

PlannedRequest RequestBuilder::write(Phase phase, std::int64_t index, const workload::Prompt& prompt) const {
  PlannedRequest planned{.record = plan(phase, index, prompt), .bytes = {}, .arrival = prompt.arrival, .echo_bytes = load_.echo ? prompt.text.size() : 0};
  std::string body;
  body.reserve(prompt.ids.size() * 7 + prompt.text.size() + 512);
  backend_->write_body(prompt, options_, body);
  planned.bytes = fmt::format("X-Request-Id: {}\r\nContent-Length: {}\r\n\r\n{}", planned.record.id, body.size(), body);
  return planned;
}

PlannedRequest RequestBuilder::build(Phase phase, std::int64_t index) const { return write(phase, index, prompt(phase, index)); }

PlannedRequest RequestBuilder::build_turn(Phase phase, std::int64_t index, workload::Prompt prompt, std::vector<workload::Message> conversation) const {
  prompt.messages = std::move(conversation);
  prompt.text.clear();
  return write(phase, index, prompt);
}

}  // namespace pawl::loadgen
