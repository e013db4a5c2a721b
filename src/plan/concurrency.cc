#include "plan/concurrency.h"

#include <algorithm>

#include "plan/typing.h"

namespace pawl::plan {
namespace {

using codec::Json;
using Values = Json::array_t;
using Chosen = std::optional<Values>;

Error no_number(const char* name) { return bad_input(std::string(name) + " must be a number without quotes", "remove the quotes"); }

Result<Number> number(const Json& value, const char* name) {
  const auto found = number_of(value);
  if (!found) return no_number(name);
  return *found;
}

/// The range as Python multiplies it: a start written as a float stays one, the end keeps how it was written.
Values range(Number start, Number end, std::int64_t step) {
  Values values;
  for (const std::int64_t value : concurrency_range(start.value, end.value, step)) {
    const bool last = value == end.value, first = value == start.value;
    values.push_back(Number{value, first || !last ? start.is_float : end.is_float}.json());
  }
  return values;
}

Result<Values> keep(const Values& values, const auto& wanted) {
  Values kept;
  for (const Json& value : values) {
    PAWL_ASSIGN(const Number n, number(value, "conc-list"));
    if (wanted(n.value)) kept.push_back(value);
  }
  return kept;
}

/// Filters of full-sweep on values already listed.
Result<Chosen> filter_list(Values values, const ConcurrencyRules& rules) {
  const bool agentic = rules.kind == EntryKind::kAgentic, multi = rules.kind == EntryKind::kMultiFixed;
  if (rules.min) {
    if (!agentic && *rules.min <= 0) return Chosen();
    PAWL_ASSIGN(values, keep(values, [&](std::int64_t v) { return v >= *rules.min; }));
    if (values.empty()) return Chosen();
  }
  if (rules.max) {
    if (!agentic && !multi && *rules.max <= 0) return Chosen();
    PAWL_ASSIGN(values, keep(values, [&](std::int64_t v) { return v <= *rules.max; }));
    if (values.empty()) {
      if (agentic || *rules.max <= 0) return Chosen();
      values.emplace_back(*rules.max);
    }
  }
  return Chosen(std::move(values));
}

Result<Chosen> single_range(Number start, Number end, const ConcurrencyRules& rules) {
  if (rules.min) {
    if (*rules.min <= 0 || end.value < *rules.min) return Chosen();
    if (*rules.min > start.value) start = {*rules.min, false};
  }
  if (rules.max) {
    if (*rules.max <= 0) return Chosen();
    if (start.value > *rules.max) return Chosen(Values{Json(*rules.max)});
    if (*rules.max < end.value) end = {*rules.max, false};
  }
  return Chosen(range(start, end, rules.step));
}

}  // namespace

std::vector<std::int64_t> concurrency_range(std::int64_t start, std::int64_t end, std::int64_t step) {
  std::vector<std::int64_t> values{start};
  while (values.back() < end) values.push_back(values.back() > end / step ? end : values.back() * step);
  return values;
}

Result<Chosen> entry_concurrencies(const Json& entry, const ConcurrencyRules& rules) {
  const auto list = entry.find("conc-list");
  const bool listed = list != entry.end() && (rules.list_by_presence || truthy(*list));
  Values values;
  if (listed) {
    if (!list->is_array()) return bad_input("conc-list must be a list", "leave the key out where there is a range");
    values = list->get_ref<const Values&>();
  } else {
    const auto first = entry.find("conc-start"), last = entry.find("conc-end");
    if (first == entry.end() || last == entry.end()) return bad_input("conc-start and conc-end, or conc-list, must be given");
    PAWL_ASSIGN(const Number start, number(*first, "conc-start"));
    PAWL_ASSIGN(const Number end, number(*last, "conc-end"));
    if (start.value <= 0 || end.value < start.value) return bad_input("a range needs 0 < conc-start <= conc-end");
    if (rules.kind == EntryKind::kSingleFixed && rules.only.empty()) return single_range(start, end, rules);
    values = range(start, end, rules.step);
  }
  if (!rules.only.empty()) {
    Values kept;
    for (const Json& value : values) {
      const auto n = number_of(value);
      if (n && std::ranges::find(rules.only, n->value) != rules.only.end()) kept.push_back(value);
    }
    if (kept.empty()) return Chosen();
    return Chosen(std::move(kept));
  }
  return filter_list(std::move(values), rules);
}

}  // namespace pawl::plan
