#include "base/time.h"

#include <fmt/format.h>

namespace pawl {
namespace {

struct Civil {
  int year, month, day, hour, minute, second;
};

Civil civil_of(WallTime t) {
  using namespace std::chrono;
  const auto whole = floor<seconds>(t.since_epoch);
  const auto day_count = floor<days>(whole);
  const year_month_day date{sys_days{day_count}};
  const hh_mm_ss clock{whole - day_count};
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          static_cast<int>(clock.hours().count()),
          static_cast<int>(clock.minutes().count()),
          static_cast<int>(clock.seconds().count())};
}

}  // namespace

std::string iso_utc(WallTime t) {
  const Civil c = civil_of(t);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", c.year, c.month, c.day, c.hour, c.minute, c.second);
}

std::string minute_utc(WallTime t) {
  const Civil c = civil_of(t);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", c.year, c.month, c.day, c.hour, c.minute);
}

std::string day_utc(WallTime t) {
  const Civil c = civil_of(t);
  return fmt::format("{:04}-{:02}-{:02}", c.year, c.month, c.day);
}

}  // namespace pawl
