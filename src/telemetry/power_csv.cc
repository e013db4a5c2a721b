#include "telemetry/power_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "base/text.h"

namespace pawl::telemetry {
namespace {

std::string lower(std::string_view text) {
  std::string out(trim(text));
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// The cells of a line; none of these tools quotes, but a name may.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      out.emplace_back();
    } else if (c != '\r') {
      out.back() += c;
    }
  }
  for (std::string& cell : out) cell = std::string(trim(cell));
  return out;
}

/// The first number of a cell: "71.25 W", "71".
std::optional<double> first_number(std::string_view cell) {
  const auto at = cell.find_first_of("0123456789");
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t from = at, until = at;
  if (from > 0 && cell[from - 1] == '-') --from;
  while (until < cell.size() && (cell[until] == '.' || (cell[until] >= '0' && cell[until] <= '9'))) ++until;
  return parse_double(cell.substr(from, until - from));
}

struct Columns {
  std::optional<std::size_t> time, power, gpu, clock, throttle;
};

Columns find_columns(const std::vector<std::string>& header) {
  Columns out;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string name = lower(header[i]);
    const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
    if (!out.time && has("time")) out.time = i;
    if (!out.power && has("power") && !has("limit") && !has("cap") && !has("max") && !has("min")) out.power = i;
    static constexpr std::array<std::string_view, 6> kGpu{"index", "gpu", "gpu_id", "gpu_index", "card", "device"};
    if (!out.gpu && std::ranges::find(kGpu, name) != kGpu.end()) out.gpu = i;
    if (!out.clock && (has("clocks.sm") || has("clocks.current.sm"))) out.clock = i;
  }
  return out;
}

/// Digits at `at`, `n` of them; moves on.
std::optional<int> digits(std::string_view text, std::size_t& at, std::size_t n) {
  if (at + n > text.size()) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const char c = text[at + i];
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  at += n;
  return value;
}

}  // namespace

std::optional<double> parse_moment(std::string_view whole, NaiveTime naive) {
  const std::string_view text = trim(whole);
  if (const auto number = parse_double(text)) {
    if (!std::isfinite(*number) || *number < 0) return std::nullopt;
    return *number > 1e12 ? *number / 1000 : *number;
  }
  std::size_t at = 0;
  std::tm parts{};
  const auto year = digits(text, at, 4);
  if (!year || at >= text.size() || (text[at] != '/' && text[at] != '-')) return std::nullopt;
  const char mark = text[at++];
  const auto month = digits(text, at, 2);
  if (!month || at >= text.size() || text[at++] != mark) return std::nullopt;
  const auto day = digits(text, at, 2);
  if (!day || at >= text.size() || (text[at] != ' ' && text[at] != 'T')) return std::nullopt;
  ++at;
  const auto hour = digits(text, at, 2);
  if (!hour || at >= text.size() || text[at++] != ':') return std::nullopt;
  const auto minute = digits(text, at, 2);
  if (!minute || at >= text.size() || text[at++] != ':') return std::nullopt;
  const auto second = digits(text, at, 2);
  if (!second || *month < 1 || *month > 12 || *day < 1 || *day > 31 || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  double fraction = 0;
  if (at < text.size() && (text[at] == '.' || text[at] == ',')) {
    double scale = 0.1;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10) fraction += (text[at] - '0') * scale;
  }
  parts.tm_year = *year - 1900;
  parts.tm_mon = *month - 1;
  parts.tm_mday = *day;
  parts.tm_hour = *hour;
  parts.tm_min = *minute;
  parts.tm_sec = *second;
  parts.tm_isdst = -1;
  const std::string_view zone = trim(text.substr(at));
  if (zone.empty()) {
    const std::time_t whole_s = naive == NaiveTime::kUtc ? ::timegm(&parts) : std::mktime(&parts);
    return static_cast<double>(whole_s) + fraction;
  }
  double offset_s = 0;
  if (zone != "Z" && zone != "UTC") {
    std::size_t z = 1;
    if (zone[0] != '+' && zone[0] != '-') return std::nullopt;
    const auto hours = digits(zone, z, 2);
    if (!hours) return std::nullopt;
    if (z < zone.size() && zone[z] == ':') ++z;
    const auto minutes = z == zone.size() ? std::optional<int>(0) : digits(zone, z, 2);
    if (!minutes || z != zone.size()) return std::nullopt;
    offset_s = (zone[0] == '-' ? -1 : 1) * (*hours * 3600.0 + *minutes * 60.0);
  }
  return static_cast<double>(::timegm(&parts)) + fraction - offset_s;
}

PowerCsv read_power_csv(std::string_view text, NaiveTime naive) {
  PowerCsv out;
  const auto end = text.rfind('\n');
  // A last line without its end was cut off by whoever ended the tool.
  text = text.substr(0, end == std::string_view::npos ? 0 : end);
  std::optional<std::vector<std::string>> header;
  Columns columns;
  std::int64_t bad_moments = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (!header) {
      header = cells;
      columns = find_columns(cells);
      if (!columns.time) out.problems.push_back({"timestamp_column_missing", fmt::format("no column with \"time\" in: {}", trim(line))});
      if (!columns.power) out.problems.push_back({"power_column_missing", fmt::format("no column with \"power\" in: {}", trim(line))});
      if (!columns.gpu) out.problems.push_back({"gpu_identity_column_missing", fmt::format("no column that names the GPU in: {}", trim(line))});
      if (!out.problems.empty()) return out;
      out.power_column = cells[*columns.power];
      continue;
    }
    if (cells == *header) continue;
    const auto cell = [&](const std::optional<std::size_t>& column) { return column && *column < cells.size() ? cells[*column] : std::string(); };
    const auto moment = parse_moment(cell(columns.time), naive);
    if (!moment) {
      ++bad_moments;
      continue;
    }
    PowerSample sample;
    sample.unix_s = *moment;
    sample.gpu = cell(columns.gpu);
    sample.watts = first_number(cell(columns.power));
    if (columns.clock) sample.sm_mhz = first_number(cell(columns.clock));
    out.samples.push_back(std::move(sample));
  }
  if (!header) out.problems.push_back({"telemetry_file_empty", "there is not one whole line"});
  if (bad_moments > 0) {
    out.problems.push_back({"invalid_timestamp_sample", fmt::format("{} lines have no moment that can be read", bad_moments)});
    out.samples.clear();
  }
  return out;
}

std::string power_csv_text(const std::vector<PowerSample>& samples) {
  std::string out = "timestamp, index, power.draw [W], average.draw [W], clocks.sm [MHz], throttle\n";
  const auto number = [](const auto& value) { return value ? fmt::format("{}", *value) : std::string("[N/A]"); };
  for (const PowerSample& sample : samples) {
    out += fmt::format("{:.6f}, {}, {}, {}, {}, {}\n", sample.unix_s, sample.gpu, number(sample.watts), number(sample.longer), number(sample.sm_mhz),
                       number(sample.throttle));
  }
  return out;
}

model::BenchPower judge_file(const io::Files& files, const std::filesystem::path& path, const Window& window, const PowerRules& rules, NaiveTime naive) {
  PowerCsv csv;
  // The window and the rules come first: nothing is read for a window that is none.
  model::BenchPower out = judge_samples({}, window, rules);
  if (out.reasons.size() == 1 && out.reasons[0].code == "no_usable_power_samples") {
    const auto text = files.read(path, 1u << 30);
    if (!text) {
      const bool missing = text.error().cls == ErrorClass::kNotFound;
      csv.problems.push_back({missing ? "telemetry_file_missing" : "telemetry_file_unreadable", text.error().message});
    } else {
      csv = read_power_csv(*text, naive);
    }
    if (csv.problems.empty()) {
      out = judge_samples(csv.samples, window, rules);
    } else {
      out.reasons = csv.problems;
    }
  }
  out.source = "file";
  out.sensor = csv.power_column;
  return out;
}

}  // namespace pawl::telemetry
