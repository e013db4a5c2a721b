#include "twin/rows.h"

#include <gtest/gtest.h>

#include <map>

#include "posix/embedded_assets.h"

namespace pawl::twin {
namespace {

/// The embedded assets with one more file.
class WithFile final : public io::Assets {
 public:
  WithFile(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}
  [[nodiscard]] Result<std::string> read(std::string_view name) const override { return name == name_ ? Result<std::string>(text_) : base_.read(name); }
  [[nodiscard]] std::vector<std::string> list(std::string_view prefix) const override { return base_.list(prefix); }

 private:
  posix::EmbeddedAssets base_;
  std::string name_, text_;
};

TEST(Rows, TheShippedOnesAreRead) {
  const posix::EmbeddedAssets assets;
  const auto names = rows_names(assets);
  ASSERT_GE(names.size(), 5u);
  for (const std::string& name : names) {
    const auto rows = read_rows(*assets.read("twin-rows/" + name + ".yaml"), name);
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(rows->name, name);
    EXPECT_FALSE(rows->source.empty());
  }
}

TEST(Rows, WhatIsWrongIsNamed) {
  const auto missing = read_rows("name: x\nsource: y\nisl: 0\nosl: 1\npoints: []\nkv_tokens: {}\n", "x.yaml");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("x.yaml"), std::string::npos) << missing.error().message;
}

TEST(Rows, AProfileThatTheFitWritesIsReadBackAsItWas) {
  const posix::EmbeddedAssets assets;
  const auto like = load_profile(assets, "sglang-v0.5.14-qwen35-fp4-b200");
  ASSERT_TRUE(like);
  const auto rows = read_rows(*assets.read("twin-rows/sglang-v0.5.14-qwen35-fp4-b200.yaml"), "rows");
  ASSERT_TRUE(rows);
  engine_law::Fit fit;
  fit.law = like->law;
  fit.residuals = {{.tp = 2, .conc = 4, .what = "tpot_ms", .observed = 10, .predicted = 10.25, .held_out = false},
                   {.tp = 2, .conc = 4, .what = "ttft_ms", .observed = 100, .predicted = 88.5, .held_out = false}};
  const std::string text = profile_text(*like, "mine", *rows, fit);
  EXPECT_NE(text.find("tp 2 conc   4:  tpot_ms +2.5%  ttft_ms -11.5%"), std::string::npos) << text.substr(0, 600);
  EXPECT_NE(text.find("within 3 % of TPOT and 12 % of TTFT"), std::string::npos);
  const auto back = load_profile(WithFile("twins/mine.yaml", text), "mine");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->flags, like->flags);
  EXPECT_EQ(back->deprecated, like->deprecated);
  EXPECT_EQ(back->poll_steps_from, like->poll_steps_from);
  EXPECT_EQ(back->max_running_requests, like->max_running_requests);
  ASSERT_EQ(back->law.size(), like->law.size());
  for (const auto& [gpus, law] : like->law) EXPECT_NEAR(back->law.at(gpus).decode_base_ms, law.decode_base_ms, 1e-4) << gpus;
}

}  // namespace
}  // namespace pawl::twin
