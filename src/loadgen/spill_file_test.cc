#include "loadgen/spill_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace pawl::loadgen {
namespace {

TEST(SpillFile, GivesBackWhatWasAppendedAtItsOffset) {
  SpillFile spill;
  std::vector<std::uint64_t> offsets;
  for (int i = 0; i < 50; ++i) {
    const std::vector<std::byte> block(static_cast<std::size_t>(i * 100 + 1), static_cast<std::byte>(i));
    offsets.push_back(spill.append(block).value());
  }
  for (int i = 49; i >= 0; --i) {
    std::vector<std::byte> block(static_cast<std::size_t>(i * 100 + 1));
    ASSERT_TRUE(spill.read(offsets[static_cast<std::size_t>(i)], block).has_value());
    EXPECT_EQ(block.front(), static_cast<std::byte>(i));
    EXPECT_EQ(block.back(), static_cast<std::byte>(i));
  }
}

TEST(SpillFile, SaysWhenThereIsNothingToReadBack) {
  SpillFile spill;
  std::vector<std::byte> block(8);
  EXPECT_FALSE(spill.read(0, block).has_value());
  spill.append(block).value();
  EXPECT_FALSE(spill.read(4, block).has_value());
}

}  // namespace
}  // namespace pawl::loadgen
