#include "engine_law/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "engine_law/least_squares.h"
#include "engine_law/simulation.h"

namespace pawl::engine_law {
namespace {

/// The unknowns in the form in which they are fitted: logarithms, so that steps are shares and nothing becomes negative.
enum Place : std::size_t { kBase, kSlope, kExponent, kContext, kPrefill, kAdmit, kUnknowns };
constexpr Unknown kStart[kUnknowns] = {{std::log(5), std::log(0.05), std::log(500), 0.03},    // decode_base_ms
                                       {std::log(0.5), std::log(1e-4), std::log(50), 0.03},   // decode_per_seq_ms
                                       {0.7, 0.3, 1, 0.02},                                   // decode_exponent, as it is
                                       {std::log(0.002), std::log(1e-6), std::log(1), 0.1},   // decode_per_ktoken_ms
                                       {std::log(30), std::log(0.05), std::log(5000), 0.03},  // prefill_tok_per_ms
                                       {std::log(30), std::log(0.1), std::log(2000), 0.1}};   // admit_ms
/// How strongly an unknown is held where it began, so that one that the rows say nothing about stays there: a tenth of
/// this per e-fold, against relative residuals of percents.
constexpr double kHold = 0.003;

void set_law(Law& law, std::span<const double> at) {
  law.decode_base_ms = std::exp(at[kBase]);
  law.decode_per_seq_ms = std::exp(at[kSlope]);
  law.decode_exponent = at[kExponent];
  law.decode_per_ktoken_ms = std::exp(at[kContext]);
  law.prefill_tok_per_ms = std::exp(at[kPrefill]);
  law.admit_ms = std::exp(at[kAdmit]);
}

std::vector<Residual> against(const Rows& rows, const RowPoint& point, const Law& law) {
  Deployment deployment;
  deployment.law = law;
  deployment.law.poll_steps = point.poll_steps;
  deployment.max_running = 1 << 20;
  const Outcome got = simulate(deployment, {point.conc, rows.requests_per_slot * point.conc, rows.isl, rows.osl, rows.range_ratio, 7});
  std::vector<Residual> out;
  const auto add = [&](const char* what, double observed, double predicted) {
    if (!std::isnan(observed)) out.push_back({point.tp, point.conc, what, observed, predicted, false});
  };
  const double gpus = static_cast<double>(point.tp);
  add("total_tok_s_gpu", point.total_tok_s_gpu, got.total_tok_s / gpus);
  add("output_tok_s_gpu", point.output_tok_s_gpu, got.output_tok_s / gpus);
  add("tpot_ms", point.tpot_ms, rows.tpot == Statistic::kMean ? got.tpot_mean_ms : got.tpot_median_ms);
  add("ttft_ms", point.ttft_ms, rows.ttft == Statistic::kMean ? got.ttft_mean_ms : got.ttft_median_ms);
  return out;
}

/// Logarithms of predicted over observed: a factor of two above and below weigh the same.
void append(std::vector<double>& into, const std::vector<Residual>& residuals) {
  for (const Residual& r : residuals) into.push_back(std::log(std::max(r.predicted, 1e-9) / r.observed));
}

struct Fitted {
  Law law;
  double sum = 0;
};

/// The better of several beginnings: the sum of squares has more than one valley (a slow prefill and a quick admission
/// look like the reverse at low concurrency). Each goes a few rounds, the best goes on.
Fitted fit_whole(const Rows& rows, const std::vector<RowPoint>& points, const std::vector<Law>& laws) {
  std::vector<Unknown> unknowns(std::begin(kStart), std::end(kStart));
  // A guess from the lower end of the curve: the smallest batch is nearly all base.
  const auto least = std::ranges::min_element(points, {}, &RowPoint::conc);
  if (!std::isnan(least->tpot_ms)) unknowns[kBase].start = std::log(least->tpot_ms * 0.8);
  const std::vector<Unknown> anchor = unknowns;
  const auto run = [&](const Law& law, int rounds) {
    return least_squares(
        [&](std::span<const double> at) {
          Law tried = law;
          set_law(tried, at);
          std::vector<double> out;
          for (const RowPoint& p : points) append(out, against(rows, p, tried));
          for (std::size_t i = 0; i < at.size(); ++i) out.push_back(kHold * (at[i] - anchor[i].start));
          return out;
        },
        unknowns, rounds);
  };
  std::optional<LeastSquares> best;
  const Law* best_law = nullptr;
  for (const Law& law : laws) {
    for (const double exponent : {0.55, 0.85}) {
      for (const double admit_ms : {15.0, 100.0}) {
        unknowns[kExponent].start = exponent;
        unknowns[kAdmit].start = std::log(admit_ms);
        LeastSquares got = run(law, 4);
        if (best && got.sum_of_squares >= best->sum_of_squares) continue;
        best = std::move(got);
        best_law = &law;
      }
    }
  }
  for (std::size_t i = 0; i < unknowns.size(); ++i) unknowns[i].start = best->unknowns[i];
  const LeastSquares got = run(*best_law, 30);
  Law law = *best_law;
  set_law(law, got.unknowns);
  return {law, got.sum_of_squares};
}

/// Few points: decode scaled as a whole, prefill and admission anew.
Fitted fit_scaled(const Rows& rows, const std::vector<RowPoint>& points, const Law& like, const Law& law) {
  const auto scaled_law = [&](std::span<const double> at) {
    Law out = law;
    const double scale = std::exp(at[0]);
    out.decode_base_ms = like.decode_base_ms * scale;
    out.decode_per_seq_ms = like.decode_per_seq_ms * scale;
    out.decode_per_ktoken_ms = like.decode_per_ktoken_ms * scale;
    out.decode_exponent = like.decode_exponent;
    out.prefill_tok_per_ms = like.prefill_tok_per_ms * std::exp(at[1]);
    out.admit_ms = like.admit_ms * std::exp(at[2]);
    return out;
  };
  const std::vector<Unknown> unknowns = {{0, -3, 3, 0.03}, {0, -3, 3, 0.03}, {0, -3, 3, 0.1}};
  const auto residuals = [&](std::span<const double> at) {
    std::vector<double> out;
    for (const RowPoint& p : points) append(out, against(rows, p, scaled_law(at)));
    for (const double value : at) out.push_back(kHold * value);
    return out;
  };
  const LeastSquares got = least_squares(residuals, unknowns);
  return {scaled_law(got.unknowns), got.sum_of_squares};
}

}  // namespace

Status check(const Rows& rows, const std::string& file) {
  const auto wrong = [&](const std::string& what) -> Status { return bad_input(fmt::format("{}: {}", file, what)); };
  if (rows.isl < 1 || rows.osl < 2 || rows.isl > 10'000'000 || rows.osl > 1'000'000) return wrong("isl must be 1 to 10,000,000 and osl 2 to 1,000,000");
  if (!(rows.range_ratio > 0 && rows.range_ratio <= 1)) return wrong("range_ratio must be above 0 and at most 1");
  if (rows.requests_per_slot < 1 || rows.requests_per_slot > 1000) return wrong("requests_per_slot must be 1 to 1000");
  if (rows.chunk_tokens < 1) return wrong("chunk_tokens must be at least 1");
  if (rows.points.empty()) return wrong("points is empty");
  for (const RowPoint& p : rows.points) {
    const std::string where = fmt::format("the point tp {} conc {}", p.tp, p.conc);
    if (p.tp < 1 || p.conc < 1 || p.conc > 100'000) return wrong(where + ": tp must be at least 1 and conc 1 to 100,000");
    if (!rows.kv_tokens.contains(std::to_string(p.tp))) return wrong(fmt::format("kv_tokens has no entry for tp {}", p.tp));
    if (rows.kv_tokens.at(std::to_string(p.tp)) < rows.isl + rows.osl) return wrong(fmt::format("kv_tokens of tp {} hold not even one request", p.tp));
    int published = 0;
    for (const double value : {p.total_tok_s_gpu, p.output_tok_s_gpu, p.tpot_ms, p.ttft_ms}) {
      if (std::isnan(value)) continue;
      if (!(value > 0)) return wrong(where + ": a published number must be above 0");
      ++published;
    }
    if (published == 0) return wrong(where + ": no number is given");
  }
  return {};
}

Result<Fit> fit(const Rows& rows, const std::set<std::int64_t>& held_out) {
  std::map<std::int64_t, std::vector<RowPoint>> seen;
  for (const RowPoint& p : rows.points) {
    if (!held_out.contains(p.conc)) seen[p.tp].push_back(p);
  }
  const auto most = std::ranges::max_element(seen, {}, [](const auto& entry) { return entry.second.size(); });
  if (most == seen.end() || most->second.size() < 2) {
    return bad_input(fmt::format("{}: a fit needs at least two points of one number of GPUs", rows.name), "give more points, or hold out fewer");
  }
  const auto start = [&](std::int64_t tp, bool mixed) {
    Law law;
    law.chunk_tokens = rows.chunk_tokens;
    law.kv_tokens = rows.kv_tokens.at(std::to_string(tp));
    law.mixed = mixed;
    return law;
  };
  std::vector<Law> laws;
  for (const bool mixed : {true, false}) {
    if (rows.mixed.value_or(mixed) == mixed) laws.push_back(start(most->first, mixed));
  }
  const Fitted main = fit_whole(rows, most->second, laws);
  Fit out;
  out.mixed = main.law.is_mixed();
  for (const auto& [tp, points] : seen) {
    if (tp == most->first) {
      out.law[std::to_string(tp)] = main.law;
    } else if (points.size() >= 3) {
      out.law[std::to_string(tp)] = fit_whole(rows, points, {start(tp, out.mixed)}).law;
    } else {
      out.law[std::to_string(tp)] = fit_scaled(rows, points, main.law, start(tp, out.mixed)).law;
    }
  }
  double sum = 0;
  std::int64_t count = 0;
  for (const RowPoint& p : rows.points) {
    const auto law = out.law.find(std::to_string(p.tp));
    if (law == out.law.end()) continue;  // every point of this number of GPUs is held out
    for (Residual r : against(rows, p, law->second)) {
      r.held_out = held_out.contains(p.conc);
      if (!r.held_out) {
        sum += r.relative() * r.relative();
        ++count;
      }
      out.residuals.push_back(std::move(r));
    }
  }
  out.rms = std::sqrt(sum / static_cast<double>(count));
  return out;
}

}  // namespace pawl::engine_law
