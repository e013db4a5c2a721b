#include <gtest/gtest.h>

#include "engine_law/simulation.h"
#include "posix/embedded_assets.h"
#include "twin/profile.h"

namespace pawl::twin {
namespace {

struct Point {
  const char* profile;
  std::int64_t tp, concurrency;
  double tpot_ms, ttft_ms;  ///< published means
};

/// Mean TPOT and TTFT of a closed loop of ten requests a slot with the published lengths.
Point simulate(const engine_law::Law& law, std::int64_t concurrency) {
  const auto got = engine_law::simulate({.law = law, .max_running = 4096, .ranks = 1, .lockstep = false, .prefill = {}},
                                        {.concurrency = concurrency, .requests = 10 * concurrency, .isl = 8192, .osl = 1024, .range_ratio = 0.8, .seed = 7});
  return {"", 0, concurrency, got.tpot_mean_ms, got.ttft_mean_ms};
}

TEST(Fit, TheShippedLawsAreAsNearToTheirTablesAsTheirFilesSay) {
  const posix::EmbeddedAssets assets;
  constexpr const char* kOld = "sglang-v0.5.14-qwen35-fp4-b200";
  constexpr const char* kNew = "sglang-v0.5.19-qwen35-fp4-b200";
  for (const Point& p : {Point{kOld, 4, 4, 5.88, 439.6}, Point{kOld, 2, 4, 6.66, 376.4}, Point{kOld, 2, 16, 11.82, 647.0}, Point{kOld, 2, 64, 25.34, 1536.9},
                         Point{kNew, 4, 4, 4.96, 179.4}, Point{kNew, 2, 4, 5.94, 253.6}, Point{kNew, 2, 16, 10.36, 508.1}, Point{kNew, 2, 64, 23.28, 1269.8}}) {
    const auto profile = load_profile(assets, p.profile);
    ASSERT_TRUE(profile);
    engine_law::Law law = profile->law_for(p.tp, 1);
    law.poll_steps = profile->poll_steps(p.concurrency);
    const Point got = simulate(law, p.concurrency);
    EXPECT_NEAR(got.tpot_ms / p.tpot_ms, 1, 0.06) << p.profile << " tp " << p.tp << " conc " << p.concurrency;
    EXPECT_NEAR(got.ttft_ms / p.ttft_ms, 1, 0.20) << p.profile << " tp " << p.tp << " conc " << p.concurrency;
  }
}

TEST(Fit, TheNewerEngineIsFasterAtEveryPoint) {
  const posix::EmbeddedAssets assets;
  const std::pair<const char*, const char*> pairs[] = {{"sglang-v0.5.14-qwen35-fp4-b200", "sglang-v0.5.19-qwen35-fp4-b200"},
                                                       {"sglang-v0.5.14-qwen35-fp8-h200", "sglang-v0.5.19-qwen35-fp8-h200"},
                                                       {"generic-old", "generic-new"}};
  for (const auto& [before, after] : pairs) {
    const auto a = load_profile(assets, before), b = load_profile(assets, after);
    ASSERT_TRUE(a && b);
    for (const auto& [tp, law] : a->law) {
      for (const std::int64_t concurrency : {1, 8, 32}) {
        const Point old_point = simulate(law, concurrency), new_point = simulate(b->law.at(tp), concurrency);
        EXPECT_LT(new_point.tpot_ms, old_point.tpot_ms) << before << " tp " << tp << " conc " << concurrency;
        EXPECT_LT(new_point.ttft_ms, old_point.ttft_ms) << before << " tp " << tp << " conc " << concurrency;
      }
    }
  }
}

}  // namespace
}  // namespace pawl::twin
