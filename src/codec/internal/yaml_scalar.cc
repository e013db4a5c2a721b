#include "codec/internal/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <vector>

#include "base/text.h"

namespace pawl::codec::internal {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool digits_only(std::string_view t) { return !t.empty() && std::ranges::all_of(t, digit); }
bool made_of(std::string_view t, std::string_view set) { return t.find_first_not_of(set) == std::string_view::npos; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

/// A group of a base-60 number after the first: 0 to 59.
bool sexagesimal(std::string_view group) { return digits_only(group) && (group.size() == 1 || (group.size() == 2 && group[0] <= '5')); }

bool sign(char c) { return c == '+' || c == '-'; }

/// number = number · factor + addend, on decimal digits, lowest first.
void multiply_add(std::vector<unsigned char>& number, unsigned factor, unsigned addend) {
  unsigned carry = addend;
  for (unsigned char& d : number) {
    carry += d * factor;
    d = static_cast<unsigned char>(carry % 10);
    carry /= 10;
  }
  for (; carry > 0; carry /= 10) number.push_back(static_cast<unsigned char>(carry % 10));
}

struct Clock {
  std::string_view rest;
  /// Takes `least` to `most` digits.
  std::optional<int> number(std::size_t least, std::size_t most) {
    std::size_t n = 0;
    while (n < most && n < rest.size() && digit(rest[n])) ++n;
    if (n < least) return std::nullopt;
    const int value = std::atoi(std::string(rest.substr(0, n)).c_str());
    rest.remove_prefix(n);
    return value;
  }
  bool take(char c) {
    if (!rest.starts_with(c)) return false;
    rest.remove_prefix(1);
    return true;
  }
  bool blanks() {
    const std::size_t before = rest.size();
    while (rest.starts_with(' ') || rest.starts_with('\t')) rest.remove_prefix(1);
    return rest.size() != before;
  }
};

struct Timestamp {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, zone_hour = 0, zone_minute = 0;
};

std::optional<Timestamp> timestamp(std::string_view text) {
  Clock in{text};
  Timestamp t;
  const auto year = in.number(4, 4);
  if (!year || !in.take('-')) return std::nullopt;
  const std::size_t month_at = in.rest.size();
  const auto month = in.number(1, 2);
  if (!month || !in.take('-')) return std::nullopt;
  const std::size_t day_at = in.rest.size();
  const auto day = in.number(1, 2);
  if (!day) return std::nullopt;
  t.year = *year, t.month = *month, t.day = *day;
  if (in.rest.empty()) {
    if (month_at - day_at != 3 || day_at != 2) return std::nullopt;  // a date alone has two digits each
    return t;
  }
  if (!in.take('T') && !in.take('t') && !in.blanks()) return std::nullopt;
  const auto hour = in.number(1, 2);
  if (!hour || !in.take(':')) return std::nullopt;
  const auto minute = in.number(2, 2);
  if (!minute || !in.take(':')) return std::nullopt;
  const auto second = in.number(2, 2);
  if (!second) return std::nullopt;
  t.hour = *hour, t.minute = *minute, t.second = *second;
  if (in.take('.')) {
    while (!in.rest.empty() && digit(in.rest[0])) in.rest.remove_prefix(1);
  }
  const bool blank = in.blanks();
  if (in.rest.empty()) return blank ? std::nullopt : std::optional(t);
  if (in.take('Z')) return in.rest.empty() ? std::optional(t) : std::nullopt;
  if (!in.take('+') && !in.take('-')) return std::nullopt;
  const auto zone_hour = in.number(1, 2);
  if (!zone_hour) return std::nullopt;
  t.zone_hour = *zone_hour;
  if (in.take(':')) {
    const auto zone_minute = in.number(2, 2);
    if (!zone_minute) return std::nullopt;
    t.zone_minute = *zone_minute;
  }
  return in.rest.empty() ? std::optional(t) : std::nullopt;
}

}  // namespace

bool is_null_text(std::string_view t) { return t.empty() || t == "~" || t == "null" || t == "Null" || t == "NULL"; }

std::optional<bool> tagged_bool(std::string_view text) {
  if (text.size() > 5) return std::nullopt;
  const std::string word = lower(text);
  if (word == "yes" || word == "true" || word == "on") return true;
  if (word == "no" || word == "false" || word == "off") return false;
  return std::nullopt;
}

std::optional<bool> plain_bool(std::string_view text) {
  if (text.size() < 2 || text.size() > 5 || !std::string_view("yYnNtTfFoO").contains(text[0])) return std::nullopt;
  const auto value = tagged_bool(text);
  if (!value) return std::nullopt;
  const auto is_lower = [](char c) { return c >= 'a'; };
  const bool tail_lower = std::all_of(text.begin() + 1, text.end(), is_lower), tail_upper = std::none_of(text.begin() + 1, text.end(), is_lower);
  return tail_lower || (tail_upper && !is_lower(text[0])) ? value : std::nullopt;
}

bool is_int_text(std::string_view t) {
  if (!t.empty() && sign(t[0])) t.remove_prefix(1);
  if (t.empty() || !digit(t[0])) return false;
  if (t == "0") return true;
  if (t.starts_with("0b")) return t.size() > 2 && made_of(t.substr(2), "01_");
  if (t.starts_with("0x")) return t.size() > 2 && made_of(t.substr(2), "0123456789abcdefABCDEF_");
  if (t[0] == '0') return made_of(t, "01234567_");
  if (!t.contains(':')) return made_of(t, "0123456789_");
  const auto groups = split(t, ':');
  return made_of(groups[0], "0123456789_") && std::all_of(groups.begin() + 1, groups.end(), sexagesimal);
}

std::optional<std::string> integer_digits(std::string_view text) {
  const std::string clean = replace_all(std::string(trim(text)), "_", "");
  std::string_view t = clean;
  const bool negative = t.starts_with('-');
  if (!t.empty() && sign(t[0])) t.remove_prefix(1);
  unsigned base = 10;
  if (t.starts_with("0b") || t.starts_with("0x") || t.starts_with("0o")) {
    base = t[1] == 'b' ? 2 : t[1] == 'x' ? 16 : 8;
    t.remove_prefix(2);
  } else if (t.starts_with('0')) {
    base = 8;
  }
  if (t.empty()) return std::nullopt;
  std::vector<unsigned char> total;
  if (base == 10 && t.contains(':')) {
    for (const std::string_view group : split(t, ':')) {
      const auto value = digits_only(group) ? parse_int(group) : std::nullopt;
      if (!value || *value > 1'000'000'000) return std::nullopt;
      multiply_add(total, 60, static_cast<unsigned>(*value));
    }
  } else {
    for (const char c : t) {
      const unsigned d = digit(c)               ? static_cast<unsigned>(c - '0')
                         : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                                : 99;
      if (d >= base) return std::nullopt;
      multiply_add(total, base, d);
    }
  }
  if (total.empty()) return "0";
  std::string out = negative ? "-" : "";
  for (auto d = total.rbegin(); d != total.rend(); ++d) out += static_cast<char>('0' + *d);
  return out;
}

std::optional<std::int64_t> integer_value(std::string_view text) {
  if (!text.empty() && text.size() < 18 && text[0] != '0' && digits_only(text)) return parse_int(text);  // nearly all of them
  const auto digits = integer_digits(text);
  return digits ? parse_int(*digits) : std::nullopt;
}

bool is_float_text(std::string_view t) {
  if (t == ".nan" || t == ".NaN" || t == ".NAN") return true;
  std::string_view s = t;
  if (!s.empty() && sign(s[0])) s.remove_prefix(1);
  if (s == ".inf" || s == ".Inf" || s == ".INF") return true;
  const auto dot = s.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view before = s.substr(0, dot);
  std::string_view after = s.substr(dot + 1);
  if (before.contains(':')) {  // base 60
    const auto groups = split(before, ':');
    return !groups[0].empty() && digit(groups[0][0]) && made_of(groups[0], "0123456789_") && std::all_of(groups.begin() + 1, groups.end(), sexagesimal) &&
           made_of(after, "0123456789_");
  }
  if (const auto e = after.find_first_of("eE"); e != std::string_view::npos) {
    const std::string_view exponent = after.substr(e + 1);
    if (exponent.empty() || !sign(exponent[0]) || !digits_only(exponent.substr(1))) return false;
    after = after.substr(0, e);
  }
  if (!made_of(after, "0123456789_")) return false;
  if (before.empty()) return s.size() == t.size() && !after.empty() && digit(after[0]);  // ".5" has no sign
  return digit(before[0]) && made_of(before, "0123456789_");
}

std::optional<double> float_value(std::string_view text) {
  const std::string clean = lower(replace_all(std::string(trim(text)), "_", ""));
  std::string_view s = clean;
  const double factor = s.starts_with('-') ? -1 : 1;
  if (!s.empty() && sign(s[0])) s.remove_prefix(1);
  if (s == ".inf" || s == "inf" || s == "infinity") return factor * std::numeric_limits<double>::infinity();
  if (s == ".nan" || s == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (!made_of(s, "0123456789.e+-:") || s.find_first_of("0123456789") == std::string_view::npos) return std::nullopt;
  double total = 0;
  for (const std::string_view group : split(s, ':')) {
    const std::string word(group);
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != '\0' || sign(word[0])) return std::nullopt;
    total = total * 60 + value;
  }
  return factor * total;
}

bool is_timestamp_text(std::string_view text) { return text.size() >= 8 && text[4] == '-' && digit(text[0]) && timestamp(text).has_value(); }

std::string date_problem(std::string_view text) {
  const auto t = timestamp(text);
  if (!t) return "it is no date";
  if (t->year < 1) return "there is no year 0";
  if (t->month < 1 || t->month > 12) return "there is no such month";
  constexpr std::array<int, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (t->year % 4 == 0 && t->year % 100 != 0) || t->year % 400 == 0;
  const int days = kDays[static_cast<std::size_t>(t->month - 1)] + (leap && t->month == 2 ? 1 : 0);
  if (t->day < 1 || t->day > days) return "there is no such day";
  if (t->hour > 23 || t->minute > 59 || t->second > 59) return "there is no such time";
  if (t->zone_hour * 60 + t->zone_minute >= 24 * 60) return "there is no such time zone";
  return {};
}

}  // namespace pawl::codec::internal
