#include "changelog/gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "changelog/added_text.h"
#include "changelog/rule.h"

namespace pawl::changelog {
namespace {

/// Entries that the base has beyond the merge base; what is no plain addition there is not head's affair.
std::size_t entries_ahead(const GateInput& input) {
  if (input.compat || !input.merge_base || *input.merge_base == input.base) return 0;
  const auto text = added_text(*input.merge_base, input.base, input.file, DiffReading::kBytes);
  if (!text) return 0;
  const auto lines = lines_of(text->text);
  return static_cast<std::size_t>(std::ranges::count_if(lines, [](std::string_view line) { return line.starts_with("- "); }));
}

}  // namespace

Result<std::vector<LedgerEntry>> gate_additions(const GateInput& input) {
  if (!input.head.ends_with('\n'))
    return broken_at("C-10", fmt::format("{} does not end with a newline", input.file), input.file, input.head, input.head.size());
  const std::string& from = input.compat || !input.merge_base ? input.base : *input.merge_base;
  PAWL_ASSIGN(const AddedText added, added_text(from, input.head, input.file, input.compat ? DiffReading::kReference : DiffReading::kBytes));
  return added_entries(added, input.file, input.no_evals);
}

Result<GateReport> check_gate(const GateInput& input, const CatalogueSide& head, const CatalogueSide* base, const ProcessOptions& options) {
  GateReport report;
  PAWL_ASSIGN(report.added, gate_additions(input));
  PAWL_ASSIGN(report.matrix, process(report.added, head, base, options));
  report.base_ahead = entries_ahead(input);
  return report;
}

}  // namespace pawl::changelog
