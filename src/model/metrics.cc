#include "model/metrics.h"

#include <array>

namespace pawl::model {
namespace {

constexpr std::string_view kOkRequests = "successful requests of the measured phase; failed ones are counted apart";

constexpr std::array kDefinitions{
    MetricDefinition{"ttft", "TTFT", "s", false, "first token event − send", kOkRequests, "BC-7.1"},
    MetricDefinition{"tpot", "TPOT", "s", false, "(last token event − first token event) / (output tokens − 1)",
                     "successful requests with at least 2 output tokens in at least 2 reads", "BC-7.9"},
    MetricDefinition{"itl", "ITL", "s", false, "gap between neighbouring token events / tokens of the later one",
                     "all gaps of all successful requests whose token counts per event are known", "BC-7.12"},
    MetricDefinition{"ttft_sched", "TTFT from schedule", "s", false, "first token event − ready", kOkRequests, "BC-7.2"},
    MetricDefinition{"ttfe", "time to first event", "s", false, "first event − send", kOkRequests, "BC-7.3"},
    MetricDefinition{"ttfa", "time to first answer", "s", false, "first token event that is no reasoning − send", "as TTFT, without requests that only reason",
                     "BC-7.4"},
    MetricDefinition{"ttst", "time to second token", "s", false, "second token event − first", "as TTFT, with at least 2 token events in at least 2 reads",
                     "BC-7.5"},
    MetricDefinition{"tpot_decode", "decode TPOT", "s", false, "(last token event − first) / (output tokens − tokens of the first event)",
                     "as TPOT, where the tokens of the first event are known", "BC-7.10"},
    MetricDefinition{"gap", "gap", "s", false, "time between neighbouring token events", "all gaps of all successful requests, single bursts left out",
                     "BC-7.11"},
    MetricDefinition{"max_gap", "largest gap", "s", false, "largest gap of a request", "as TPOT", "BC-7.13"},
    MetricDefinition{"tok_per_event", "tokens per event", "tok", true, "output tokens / token events", kOkRequests, "BC-7.14"},
    MetricDefinition{"queue_client", "client queue", "s", false, "admit − ready", "requests that met a gate of the client; any outcome", "BC-7.15"},
    MetricDefinition{"lag", "client lateness", "s", false, "send − admit", "requests that were sent; any outcome", "BC-7.16"},
    MetricDefinition{"connect", "connection set-up", "s", false, "conn_end − conn_start", "successful requests that opened their own connection", "BC-7.17"},
    MetricDefinition{"user_tps", "tokens per second of a user", "tok/s/user", true, "1 / TPOT", "as TPOT, without those of 0", "BC-7.18"},
    MetricDefinition{"ntpot", "normalised TPOT", "s", false, "E2EL / output tokens", "successful requests with output", "BC-7.19"},
    MetricDefinition{"build", "body assembly", "s", false, "time to assemble a body that had to wait for a live reply; part of lag", "such requests", "BC-2.6"},
    MetricDefinition{"e2el_sched", "E2EL from schedule", "s", false, "last token event − ready", kOkRequests, "BC-7.7"},
    MetricDefinition{"e2el_body", "E2EL to the end of the body", "s", false, "end − send", kOkRequests, "BC-7.8"},
    MetricDefinition{"rx_delay", "receive delay", "s", false, "time after the read − kernel stamp", "all reads that carry both stamps", "BC-2.5"},
    MetricDefinition{"e2el", "E2EL", "s", false, "last token event − send", kOkRequests, "BC-7.6"},
    MetricDefinition{"intvty", "interactivity", "tok/s/user", true, "1 / TPOT", "as TPOT", "sweep-run-results 5.2"},
    MetricDefinition{"tput_per_gpu", "throughput per GPU", "tok/s/GPU", true, "(input + output tokens) / duration / GPUs",
                     "tokens of successful requests; duration from the first send to the last end", "sweep-run-results 5.2"},
    MetricDefinition{"output_tput_per_gpu", "output throughput per GPU", "tok/s/GPU", true, "output tokens / duration / GPUs", "as throughput per GPU",
                     "sweep-run-results 5.2"},
    MetricDefinition{"input_tput_per_gpu", "input throughput per GPU", "tok/s/GPU", true, "input tokens / duration / GPUs", "as throughput per GPU",
                     "sweep-run-results 5.2"},
};

}  // namespace

std::span<const MetricDefinition> metric_definitions() { return kDefinitions; }

const MetricDefinition* find_metric(std::string_view key) {
  for (const MetricDefinition& definition : kDefinitions) {
    if (definition.key == key) return &definition;
  }
  return nullptr;
}

}  // namespace pawl::model
