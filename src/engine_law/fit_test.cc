#include "engine_law/fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine_law/least_squares.h"
#include "engine_law/simulation.h"

namespace pawl::engine_law {
namespace {

TEST(LeastSquares, FindsTheConstantsOfACurveAndKeepsToTheLimits) {
  const auto curve = [](double a, double b, double x) { return a * std::exp(b * x); };
  const Residuals residuals = [&](std::span<const double> at) {
    std::vector<double> out;
    for (int x = 0; x < 6; ++x) out.push_back(curve(at[0], at[1], x) - curve(3, -0.4, x));
    return out;
  };
  const std::vector<Unknown> free{{1, -10, 10, 1e-4}, {0, -2, 2, 1e-4}};
  const LeastSquares got = least_squares(residuals, free, 100);
  EXPECT_NEAR(got.unknowns[0], 3, 1e-3);
  EXPECT_NEAR(got.unknowns[1], -0.4, 1e-3);
  const std::vector<Unknown> limited{{1, -10, 2.5, 1e-4}, {0, -2, 2, 1e-4}};
  EXPECT_EQ(least_squares(residuals, limited, 100).unknowns[0], 2.5);
}

Rows made_rows() {
  Law law;
  law.decode_base_ms = 4;
  law.decode_per_seq_ms = 0.6;
  law.decode_exponent = 0.7;
  law.decode_per_ktoken_ms = 0.001;
  law.prefill_tok_per_ms = 25;
  law.admit_ms = 20;
  law.chunk_tokens = 1024;
  law.kv_tokens = 100'000;
  Rows rows;
  rows.name = "made";
  rows.isl = 256;
  rows.osl = 64;
  rows.range_ratio = 0.8;
  rows.requests_per_slot = 4;
  rows.chunk_tokens = 1024;
  rows.kv_tokens = {{"2", 100'000}, {"4", 200'000}};
  rows.mixed = true;
  const auto add = [&](std::int64_t tp, std::int64_t conc) {
    Deployment d;
    d.law = law;
    if (tp == 4) d.law = scaled(law, {0.5, 0.7, 0}, 2, 4, 1, 1);
    const Outcome got = simulate(d, {conc, 4 * conc, 256, 64, 0.8, 7});
    const double gpus = static_cast<double>(tp);
    rows.points.push_back({tp, conc, got.total_tok_s / gpus, got.output_tok_s / gpus, got.tpot_mean_ms, got.ttft_mean_ms, {}});
  };
  for (const std::int64_t conc : {1, 2, 4, 8, 16}) add(2, conc);
  add(4, 2);
  return rows;
}

TEST(Fit, FindsALawThatGaveTheRowsAndPredictsWhatItDidNotSee) {
  const Rows rows = made_rows();
  const auto got = fit(rows, {4});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_LT(got->rms, 0.02);
  ASSERT_TRUE(got->law.contains("4"));
  int held_out = 0;
  for (const Residual& r : got->residuals) {
    EXPECT_LT(std::abs(r.relative()), r.held_out ? 0.05 : 0.04) << r.tp << " " << r.conc << " " << r.what;
    if (r.held_out) ++held_out;
    EXPECT_EQ(r.held_out, r.conc == 4);
  }
  EXPECT_EQ(held_out, 4);
}

TEST(Fit, ToldTooLittleItSaysSo) {
  Rows rows = made_rows();
  const auto got = fit(rows, {1, 2, 4, 8});
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().message.find("at least two points"), std::string::npos);
  EXPECT_TRUE(check(rows, "rows.yaml"));
  rows.points[0].tpot_ms = -1;
  EXPECT_FALSE(check(rows, "rows.yaml"));
  rows.points[0].tpot_ms = 1;
  rows.kv_tokens.erase("4");
  EXPECT_FALSE(check(rows, "rows.yaml"));
}

}  // namespace
}  // namespace pawl::engine_law
