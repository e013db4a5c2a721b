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

RequestBuilder::RequestBuilder(const LoadRequest& load, const Target& target) : load_(load), backend_(backend::find_backend(load.backend)) {
  PAWL_ASSERT(backend_ != nullptr);  // checked with the request
  workload_ = load.workload ? load.workload : random_prompts(load, *backend_);
  options_.model = load.model;
  options_.ignore_eos = load.ignore_eos;
  options_.temperature = 0;
  endpoint_ = target.prefix + backend_->path(options_);
  head_start_ = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: pawl-bench\r\nAccept: text/event-stream, application/json\r\nAccept-Encoding: identity\r\n"
      "Content-Type: application/json\r\n",
      endpoint_, target.authority);
  if (load.bearer) head_start_ += "Authorization: Bearer " + *load.bearer + "\r\n";
}

PlannedRequest RequestBuilder::build(Phase phase, std::int64_t index) const {
  const workload::Prompt prompt = phase == Phase::kWarmup ? workload_->warmup(index) : workload_->prompt(index);
  PlannedRequest planned;
  planned.record.asked_input = prompt.isl;
  planned.record.asked_output = prompt.osl;
  planned.record.input_exact = prompt.input_exact;
  planned.record.ignores_eos = load_.ignore_eos;
  planned.record.index = index;
  planned.record.session = prompt.session;
  planned.record.turn = prompt.turn;
  planned.record.phase = phase;
  planned.record.id = fmt::format("pawl-{}-{}-{}", load_.seed, phase == Phase::kWarmup ? "w" : "m", index);

  std::string body;
  body.reserve(prompt.ids.size() * 7 + prompt.text.size() + 512);
  backend_->write_body(prompt, options_, body);
  planned.bytes = fmt::format("{}X-Request-Id: {}\r\nContent-Length: {}\r\n\r\n{}", head_start_, planned.record.id, body.size(), body);
  return planned;
}

}  // namespace pawl::loadgen
