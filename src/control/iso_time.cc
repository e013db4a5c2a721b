#include "control/iso_time.h"

#include <fmt/format.h>

namespace pawl::control {

Result<WallTime> parse_iso_utc(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00Z";
  const auto wrong = [&] { return bad_input(fmt::format("{}: not a time like 2026-11-30T16:03:27Z", text)); };
  if (text.size() != kShape.size()) return wrong();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kShape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != kShape[i]) return wrong();
  }
  const auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    for (std::size_t i = at; i < at + digits; ++i) value = value * 10 + (text[i] - '0');
    return value;
  };
  using namespace std::chrono;
  const year_month_day date{year(number(0, 4)), month(static_cast<unsigned>(number(5, 2))), day(static_cast<unsigned>(number(8, 2)))};
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return wrong();
  return WallTime{sys_days(date).time_since_epoch() + hours(hour) + minutes(minute) + seconds(second)};
}

}  // namespace pawl::control
