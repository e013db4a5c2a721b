#include "changelog/history.h"

#include <gtest/gtest.h>

namespace pawl::changelog {
namespace {

TEST(History, AnEntryTouchesItsKeysAndTheirSiblings) {
  const auto touch = [](std::vector<std::string> keys, const char* glob, const std::vector<std::string>& known = {}) {
    LedgerEntry entry;
    entry.config_keys = std::move(keys);
    return touch_of(entry, glob, known);
  };
  EXPECT_EQ(touch({"a-fp8-x"}, "a-fp8-x"), Touch::kKey);
  EXPECT_EQ(touch({"a-fp8-x-mtp"}, "a-fp8-x"), Touch::kSibling);
  EXPECT_EQ(touch({"a-fp8"}, "a-fp8-x"), Touch::kSibling);
  EXPECT_EQ(touch({"a-fp8-xy"}, "a-fp8-x"), Touch::kNone);
  EXPECT_EQ(touch({"q", "a-fp8-x"}, "a-*"), Touch::kKey);
  EXPECT_EQ(touch({"a-*"}, "a-fp8-x"), Touch::kKey);
  EXPECT_EQ(touch({"a-fp4-*"}, "a-fp8-x"), Touch::kNone);
  EXPECT_EQ(touch({"a-*"}, "*-x", {"a-fp8-x", "b-x"}), Touch::kKey);
  EXPECT_EQ(touch({"a-*"}, "b*", {"a-fp8-x", "b-x"}), Touch::kNone);
}

}  // namespace
}  // namespace pawl::changelog
