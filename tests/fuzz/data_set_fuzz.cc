// Files of data sets. Input: one letter for the kind, then the file. What is read must give prompts within its own bounds.
#include <algorithm>

#include "fuzz_target.h"
#include "workload/conversations.h"
#include "workload/rows.h"
#include "workload/trace_workload.h"

namespace pawl::fuzz {

const std::size_t kInputMax = 2048;

namespace {

Result<std::unique_ptr<workload::Workload>> made_of(char kind, std::string_view file) {
  workload::TraceOptions trace{.path = "fuzz", .max_input = 2000};
  workload::TextRowOptions text{.form = workload::Form::kMessages, .path = "fuzz", .osl = 5};
  switch (kind) {
    case 'm':
      return workload::make_mooncake_workload(trace, file);
    case 'a':
      return workload::make_azure_workload(trace, file);
    case 'w':
      return workload::make_weka_workload(trace, file);
    case 's':
      return workload::make_session_workload(text, file);
    default:
      return workload::make_jsonl_workload(text, file);
  }
}

}  // namespace

bool one_input(std::string_view input) {
  if (input.empty()) return false;
  (void)workload::unpacked(std::string(input.substr(1)), "fuzz", 1 << 16);
  const auto made = made_of(input[0], input.substr(1));
  if (!made) return true;
  const std::int64_t size = (*made)->size().value_or(0);
  PAWL_FUZZ_CHECK(size > 0);
  const workload::Description description = (*made)->describe();
  PAWL_FUZZ_CHECK(description.kept.value_or(0) > 0);
  PAWL_FUZZ_CHECK(description.predicted_hit_ratio.value_or(0) <= 1);
  for (std::int64_t i = 0; i < std::min<std::int64_t>(size, 8); ++i) {
    const workload::Prompt prompt = (*made)->prompt(i);
    PAWL_FUZZ_CHECK(prompt.osl >= 1);
    PAWL_FUZZ_CHECK(!prompt.arrival || prompt.arrival->count() >= 0);
    const workload::SessionSpan span = (*made)->session(prompt.session);
    PAWL_FUZZ_CHECK(span.first <= i && i < span.first + span.count);
    for (const std::int64_t parent : prompt.parents) PAWL_FUZZ_CHECK(parent >= span.first && parent < i);
  }
  return true;
}

}  // namespace pawl::fuzz
