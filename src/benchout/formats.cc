#include "benchout/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "codec/describe.h"

namespace pawl::benchout {

Result<Output> parse_output(std::string_view text) {
  const auto colon = text.find(':');
  if (colon != std::string_view::npos) {
    if (const auto format = codec::enum_value<Format>(text.substr(0, colon))) {
      Output out{*format, std::string(text.substr(colon + 1))};
      if (out.path.empty()) return usage_error(fmt::format("\"{}\" names no file", text), "write FORMAT:PATH");
      return out;
    }
    const std::string_view word = text.substr(0, colon);
    if (word.find('/') == std::string_view::npos && word.find('.') == std::string_view::npos) {
      return usage_error(fmt::format("no output format \"{}\"", word), "one of " + join(codec::enum_texts<Format>(), ", ") + "; write FORMAT:PATH");
    }
  }
  if (text.empty()) return usage_error("an output without a path", "write FORMAT:PATH");
  return Output{Format::kJson, std::string(text)};
}

std::optional<measure::Profile> profile_of(Format format, std::string_view backend) {
  switch (format) {
    case Format::kVllm:
      return measure::Profile::kVllm;
    case Format::kSglang:
      return backend == "sglang" ? measure::Profile::kSglangGenerate : measure::Profile::kSglang;
    case Format::kInferencex:
      return measure::Profile::kInferencex;
    case Format::kAiperf:
      return measure::Profile::kAiperf;
    case Format::kJson:
    case Format::kCsv:
    case Format::kHtml:
      break;
  }
  return std::nullopt;
}

bool needs_records(Format format, const RunInfo& info) {
  return format == Format::kAiperf || format == Format::kInferencex || ((format == Format::kVllm || format == Format::kSglang) && info.detailed);
}

std::string csv(const model::BenchResult& result) {
  const auto number = [](double value) { return std::isfinite(value) ? codec::python_float(value) : std::string{}; };
  std::string out = "metric,unit,n,mean,std,min,p50,p90,p95,p99,p99_9,max\n";
  const auto total = [&](const char* name, const char* unit, const std::string& value) { out += fmt::format("{},{},,{},,,,,,,,\n", name, unit, value); };
  total("duration", "s", number(result.duration_s));
  total("requests_ok", "requests", fmt::format("{}", result.counts.ok));
  total("requests_failed", "requests", fmt::format("{}", result.counts.failed + result.counts.timeout));
  total("input_tokens", "tokens", fmt::format("{}", result.total_input_tokens));
  total("output_tokens", "tokens", fmt::format("{}", result.total_output_tokens));
  total("request_throughput", "requests/s", number(result.request_throughput));
  total("output_throughput", "tokens/s", number(result.output_throughput));
  total("total_token_throughput", "tokens/s", number(result.total_token_throughput));
  for (const auto& [key, d] : result.metrics) {
    const bool ms = key.ends_with("_ms");
    const std::string unit = ms ? "ms" : key == "user_tps" ? "tokens/s" : "tokens";
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", ms ? key.substr(0, key.size() - 3) : key, unit, d.n, number(d.mean), number(d.std),
                       number(d.min), number(d.p50), number(d.p90), number(d.p95), number(d.p99), number(d.p99_9), number(d.max));
  }
  return out;
}

}  // namespace pawl::benchout
