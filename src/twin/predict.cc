#include "twin/predict.h"

#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "model/point.h"
#include "twin/profile.h"

namespace pawl::twin {
namespace {

using codec::Json;

/// A load larger than this is not simulated: minutes of a processor for one point.
constexpr std::int64_t kMostTokens = 400'000'000;

/// The rows of a matrix, wherever they lie; a row with several concurrencies gives one for each.
void collect(const Json& json, std::vector<Json>& out) {
  if (json.is_array()) {
    for (const Json& item : json) collect(item, out);
  } else if (json.is_object() && json.contains("image")) {
    const auto conc = json.find("conc");
    if (conc == json.end() || !conc->is_array()) {
      out.push_back(json);
      return;
    }
    for (const Json& one : *conc) {
      Json row = json;
      row["conc"] = Json::array({one});
      out.push_back(std::move(row));
    }
  } else if (json.is_object()) {
    for (const Json& item : json) collect(item, out);
  }
}

struct Made {
  engine_law::Deployment deployment;
  bool fitted = true;
};

Made deployment_of(const Profile& profile, const model::Point& p) {
  Made made;
  const auto law = [&](std::int64_t tp, std::int64_t ep) {
    made.fitted = made.fitted && profile.has_law(tp);
    engine_law::Law out = profile.law_for(tp, ep);
    out.poll_steps = profile.poll_steps(p.conc);
    return out;
  };
  engine_law::Deployment& d = made.deployment;
  d.max_running = std::max(profile.max_running_requests, p.conc);
  if (!p.prefill || !p.decode) {
    d.law = law(p.tp, p.ep);
    return made;
  }
  d.law = law(p.decode->tp, p.decode->ep);
  d.ranks = std::max<std::int64_t>(1, p.decode->num_worker);
  made.fitted = false;  // no profile is fitted to separate pools
  if (p.prefill->num_worker == 0) return made;
  d.prefill = engine_law::PrefillPool{p.prefill->num_worker, law(p.prefill->tp, p.prefill->ep), kTransferBaseMs, kTransferTokPerMs};
  return made;
}

}  // namespace

Result<std::vector<PredictedPoint>> predict(const io::Assets& assets, const Json& matrix, const PredictOptions& options,
                                            const std::function<bool(std::size_t, std::size_t)>& told) {
  std::vector<Json> rows;
  collect(matrix, rows);
  if (rows.empty()) return bad_input("the matrix has no row", "make one with pawl matrix full-sweep");
  std::map<std::string, Profile> profiles;
  std::map<std::string, engine_law::Outcome> known;
  std::vector<PredictedPoint> out;
  for (const Json& row : rows) {
    PAWL_ASSIGN(const model::Point p, model::point_of_row(row));
    PredictedPoint point;
    point.recipe = p.exp_name;
    point.label = p.label();
    point.conc = p.conc;
    point.gpus = p.gpus();
    PAWL_ASSIGN(point.profile, profile_for(assets, p.image, p.model_prefix, p.runner));
    if (!profiles.contains(point.profile)) {
      PAWL_ASSIGN(Profile read, load_profile(assets, point.profile));
      profiles.emplace(point.profile, std::move(read));
    }
    const Profile& profile = profiles.at(point.profile);
    if (!p.isl || !p.osl) {
      point.skipped = "no fixed lengths: an agentic replay is not simulated";
    } else {
      point.isl = *p.isl;
      point.osl = *p.osl;
      const Made made = deployment_of(profile, p);
      point.fitted = made.fitted;
      if (made.deployment.law.kv_tokens < point.isl + point.osl || (made.deployment.prefill && made.deployment.prefill->law.kv_tokens < point.isl + 1)) {
        point.skipped = "a request does not fit the KV cache that the law leaves";
      } else if (options.requests_per_slot * p.conc * (point.isl + point.osl) > kMostTokens * 10 ||
                 options.requests_per_slot * p.conc * point.osl > kMostTokens) {
        point.skipped = "too large to simulate";
      } else {
        const std::string key = fmt::format("{}/{}/{}/{}/{}/{}/{}", point.profile, p.topology(), p.ep, p.conc, point.isl, point.osl, point.gpus);
        auto got = known.find(key);
        if (got == known.end()) {
          got = known
                    .emplace(key,
                             engine_law::simulate(made.deployment, {p.conc, options.requests_per_slot * p.conc, point.isl, point.osl, options.range_ratio, 7}))
                    .first;
        }
        const engine_law::Outcome& o = got->second;
        const double gpus = static_cast<double>(point.gpus);
        point.total_tok_s_gpu = o.total_tok_s / gpus;
        point.output_tok_s_gpu = o.output_tok_s / gpus;
        point.ttft_ms = o.ttft_mean_ms;
        point.tpot_ms = o.tpot_mean_ms;
        point.preemptions = o.preemptions;
        point.start_s = profile.real_start_s > 0 ? profile.real_start_s : options.start_s;
        point.bench_s = o.duration_s;
        point.warmup_s = o.duration_s * static_cast<double>(options.warmups_per_slot) / static_cast<double>(options.requests_per_slot);
        point.gpu_hours = (point.start_s + point.warmup_s + point.bench_s) * gpus / 3600;
      }
    }
    out.push_back(std::move(point));
    if (!told(out.size(), rows.size())) return cancelled();
  }
  return out;
}

}  // namespace pawl::twin
