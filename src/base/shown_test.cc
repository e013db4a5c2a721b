#include "base/shown.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Shown, WhatIsShownOfALineIsAlwaysText) {
  EXPECT_EQ(shown_line("a\xff\x01 \xE4\xB8\xAD"), "a\xEF\xBF\xBD\xEF\xBF\xBD \xE4\xB8\xAD");
  EXPECT_EQ(shown_line("\xE4\xB8"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += "\xE4\xB8\xAD";
  EXPECT_EQ(shown_line(wide), wide.substr(0, 162));
}

TEST(Shown, ATerminalIsToldNothing) {
  EXPECT_EQ(shown_line("a\x1b[31m\x7F\nb"),
            "a\xEF\xBF\xBD[31m\xEF\xBF\xBD\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(shown_line("\xC2\x9B"
                       "31m \xC2\xA0"),
            "\xEF\xBF\xBD"
            "31m \xC2\xA0")
      << "C1 has a CSI of its own";
  EXPECT_EQ(shown_text("one\ntwo\r\t\x07 \xE4\xB8"), "one\ntwo\xEF\xBF\xBD\t\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(shown_text(std::string(5000, 'x')).size(), 5000u);
}

}  // namespace
}  // namespace pawl
