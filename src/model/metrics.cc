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
