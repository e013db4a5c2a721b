#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchout/run_info.h"
#include "measure/profiles.h"

namespace pawl::benchout {

enum class Format { kJson, kVllm, kSglang, kInferencex, kAiperf, kCsv, kHtml };
BOOST_DESCRIBE_ENUM(Format, kJson, kVllm, kSglang, kInferencex, kAiperf, kCsv, kHtml)

/// "vllm:PATH"; a path alone is JSON of our own. Error: no such format, no path.
struct Output {
  Format format = Format::kJson;
  std::string path;
};
[[nodiscard]] Result<Output> parse_output(std::string_view text);

/// The profile whose numbers a format shows; nothing for those that show our own.
[[nodiscard]] std::optional<measure::Profile> profile_of(Format format, std::string_view backend);
/// The format holds something of every request, so records must be there.
[[nodiscard]] bool needs_records(Format format, const RunInfo& info);
/// The file collects runs, one line each, instead of holding the last one.
[[nodiscard]] inline bool appends(Format format) { return format == Format::kSglang; }

/// vLLM's result of one run (BC-15.1): one object.
[[nodiscard]] Result<std::string> vllm_json(const model::BenchResult& result, const RunInfo& info, const Records& records);
/// SGLang's (BC-15.2): one line.
[[nodiscard]] Result<std::string> sglang_line(const model::BenchResult& result, const RunInfo& info, const Records& records);
/// The file that InferenceX's processing reads (BC-15.3): no key that ends in `ms` or holds `tpot` has a value that its
/// arithmetic cannot take; such keys are left out.
[[nodiscard]] Result<std::string> inferencex_json(const model::BenchResult& result, const RunInfo& info, const Records& records);
/// aiperf's two files (BC-15.4): the line of one request, and the summary.
[[nodiscard]] std::string aiperf_line(const measure::RequestRecord& record, const Anchor& anchor, bool chat);
[[nodiscard]] std::string aiperf_summary(const model::BenchResult& result, const RunInfo& info);
/// One row a metric: metric, unit, n, mean, std, min, p50 … max; totals first.
[[nodiscard]] std::string csv(const model::BenchResult& result);

}  // namespace pawl::benchout
