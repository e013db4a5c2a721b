#include "telemetry/engine_metrics.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "http/client.h"

namespace pawl::telemetry {
namespace {

constexpr std::size_t kPageMax = 32u << 20;

/// One line: name{label="value",…} value [time].
struct Sample {
  std::string_view name;
  std::vector<std::string_view> labels;
  double value = 0;
};

std::optional<Sample> parse_sample(std::string_view line) {
  Sample out;
  const auto end = line.find_first_of("{ \t");
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  out.name = line.substr(0, end);
  std::size_t at = end;
  if (line[at] == '{') {
    ++at;
    // Label values may hold anything, a brace and an escaped quotation mark too.
    while (at < line.size() && line[at] != '}') {
      const auto equals = line.find('=', at);
      if (equals == std::string_view::npos || equals + 1 >= line.size() || line[equals + 1] != '"') return std::nullopt;
      out.labels.push_back(trim(line.substr(at, equals - at)));
      at = equals + 2;
      while (at < line.size() && line[at] != '"') at += line[at] == '\\' ? 2 : 1;
      if (at >= line.size()) return std::nullopt;
      ++at;
      if (at < line.size() && line[at] == ',') ++at;
      while (at < line.size() && line[at] == ' ') ++at;
    }
    if (at >= line.size()) return std::nullopt;
    ++at;
  }
  std::string_view rest = trim(line.substr(at));
  rest = rest.substr(0, rest.find_first_of(" \t"));
  const auto value = parse_double(rest);
  if (!value) return std::nullopt;  // NaN and Inf say nothing that could be added up
  out.value = *value;
  return out;
}

bool cut_end(std::string_view& name, std::string_view end) {
  if (!name.ends_with(end)) return false;
  name.remove_suffix(end.size());
  return true;
}

}  // namespace

MetricsPage parse_metrics(std::string_view text) {
  MetricsPage out;
  std::map<std::string, std::string, std::less<>> types;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (line.empty()) continue;
    if (line[0] == '#') {
      const auto words = split(line, ' ');
      if (words.size() >= 4 && words[1] == "TYPE") types.insert_or_assign(std::string(words[2]), std::string(words[3]));
      continue;
    }
    const auto sample = parse_sample(line);
    if (!sample) continue;
    const auto type_of = [&](std::string_view name) {
      const auto found = types.find(name);
      return found == types.end() ? std::string_view() : std::string_view(found->second);
    };
    std::string_view family = sample->name;
    bool counter = false;
    if (const auto own = type_of(family); !own.empty()) {
      counter = own == "counter";
      if (own == "summary" || own == "histogram") continue;  // a quantile
    } else if (cut_end(family, "_bucket") || cut_end(family, "_created")) {
      continue;
    } else if (cut_end(family, "_sum") || cut_end(family, "_count")) {
      counter = type_of(family) == "histogram" || type_of(family) == "summary" || type_of(family).empty();
    } else if (cut_end(family, "_total")) {
      counter = true;
    }
    const std::string name(sample->name);
    (counter ? out.counters : out.gauges)[name] += sample->value;
    ++out.series[name];
    auto& labels = out.labels[name];
    for (const std::string_view label : sample->labels) labels.emplace(label);
  }
  return out;
}

Result<MetricsPage> scrape(const std::string& url, Nanos timeout, const double unix_s, std::stop_token stop) {
  http::ClientRequest request;
  request.url = url;
  request.timeout = timeout;
  request.answer_max = kPageMax;
  PAWL_ASSIGN(const http::Response response, http::fetch(request, std::move(stop)));
  if (response.status != 200) return peer_error(fmt::format("{} answered {}", url, response.status), "does the engine serve metrics? some need a flag for it");
  MetricsPage page = parse_metrics(response.body);
  if (page.series.empty()) return peer_error(fmt::format("{} holds no metrics", url));
  page.unix_s = unix_s;
  return page;
}

model::EngineCounters counter_changes(const std::string& url, const MetricsPage& first, const MetricsPage& second) {
  model::EngineCounters out;
  out.url = url;
  out.first_unix_s = first.unix_s;
  out.second_unix_s = second.unix_s;
  for (const auto& [name, after] : second.counters) {
    const auto found = first.counters.find(name);
    const double before = found == first.counters.end() ? 0 : found->second;
    if (after < before) out.restarted.push_back(name);
    out.change[name] = after < before ? after : after - before;
  }
  return out;
}

}  // namespace pawl::telemetry
