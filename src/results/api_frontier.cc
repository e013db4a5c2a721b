#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "results/api_text.h"
#include "results/frontier.h"
#include "results/result_store.h"

// `pareto` (api-dashboard 1.3.2) and `tco-feed` (1.3.1).
namespace pawl::results {
namespace {

using codec::Json;

std::string compact(const Json& json) { return codec::write_json(json, codec::JsonForm::kCompactUtf8); }

std::optional<double> metric_of(const Json& metrics, const std::string& key) {
  const auto found = metrics.find(key);
  if (found == metrics.end() || !found->is_number()) return std::nullopt;
  const auto value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// An answer when a parameter is unknown, empty or repeated.
std::optional<ApiAnswer> check_strict(const ApiRequest& request) {
  const ApiRoute* route = ResultsApi::find(request.path);
  std::set<std::string> seen;
  for (const auto& [key, value] : request.query) {
    const bool known = std::ranges::any_of(route->parameters, [&](const ApiParameter& p) { return key == p.name; });
    if (!known) return api_error(400, fmt::format("Unknown parameter: {}", key));
    if (!seen.insert(key).second) return api_error(400, fmt::format("{} is given more than once", key));
    if (value.empty()) return api_error(400, fmt::format("{} is empty", key));
  }
  for (const ApiParameter& p : route->parameters) {
    if (p.required && !seen.contains(p.name)) return api_error(400, fmt::format("{} is required", p.name));
  }
  return std::nullopt;
}

bool is_metric_name(const std::string& name) {
  return !name.empty() && name.size() <= 100 && name[0] >= 'a' && name[0] <= 'z' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == std::string::npos;
}

bool is_power_metric(const std::string& name) {
  return name.find("power") != std::string::npos || name.find("joules") != std::string::npos || name.find("energy") != std::string::npos;
}

double rounded(double value) { return std::round(value * 1000) / 1000; }

/// A tier or a weight as it was written: shortest form.
std::string short_number(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}
Json json_number(double value) { return value == std::floor(value) && std::abs(value) < 1e15 ? Json(static_cast<std::int64_t>(value)) : Json(value); }

std::optional<std::vector<double>> number_list(const std::string& text, std::size_t most) {
  std::vector<double> out;
  for (const std::string_view part : split(text, ',')) {
    const auto value = parse_number(trim(part));
    if (!value || out.size() == most) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

struct Workload {
  std::int32_t isl = 0, osl = 0;
  [[nodiscard]] std::string text() const { return fmt::format("{}x{}", isl, osl); }
};

std::optional<std::vector<Workload>> workloads_of(const std::string& text) {
  constexpr std::size_t kWorkloadsMax = 8;
  std::vector<Workload> out;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view word = trim(part);
    const auto x = word.find('x');
    if (x == std::string_view::npos || out.size() == kWorkloadsMax) return std::nullopt;
    const auto isl = parse_int(word.substr(0, x)), osl = parse_int(word.substr(x + 1));
    if (!isl || !osl || *isl <= 0 || *osl <= 0 || *isl > (1 << 30) || *osl > (1 << 30)) return std::nullopt;
    const Workload w{static_cast<std::int32_t>(*isl), static_cast<std::int32_t>(*osl)};
    if (std::ranges::any_of(out, [&](const Workload& o) { return o.isl == w.isl && o.osl == w.osl; })) return std::nullopt;
    out.push_back(w);
  }
  return out;
}

/// One hardware's frontier of one workload.
struct Curve {
  std::vector<CurvePoint> frontier;
  std::vector<Selected> rows;  ///< by `CurvePoint::origin`
  std::string latest, oldest;  ///< days of all rows; of the frontier's
};

struct Reading {
  double value = 0;
  std::string boundary;
  bool interpolated = false;
  std::optional<std::pair<std::string, std::string>> evidence;
};

Reading read_tier(const Curve& curve, const SteffenSpline& spline, double tier) {
  const auto& knots = spline.knots();
  const auto day = [&](const CurvePoint& p) { return curve.rows[p.origin].producer->record.date; };
  if (tier > knots.back().x) return {0, "unreachable", false, std::nullopt};
  if (tier < knots.front().x) return {rounded(knots.front().y), "clamped_low", false, std::pair(day(knots.front()), day(knots.front()))};
  const auto above = std::ranges::lower_bound(knots, tier, {}, &CurvePoint::x);
  double low = knots.front().y, high = low;
  for (const CurvePoint& p : knots) low = std::min(low, p.y), high = std::max(high, p.y);
  const double value = rounded(std::clamp(spline.at(tier), low, high));
  if (above->x == tier) return {value, "interpolated", false, std::pair(day(*above), day(*above))};
  auto days = std::minmax(day(*(above - 1)), day(*above));
  return {value, "interpolated", true, std::pair<std::string, std::string>(days.first, days.second)};
}

struct Weights {
  std::vector<double> tiers, workloads;
  double alpha = 0.25;
};

/// Non-negative, as many as wanted, not all 0; normalised to 1.
bool normalise(std::vector<double>& weights, std::size_t wanted) {
  double sum = 0;
  for (const double w : weights) {
    if (w < 0) return false;
    sum += w;
  }
  if (weights.size() != wanted || sum <= 0) return false;
  for (double& w : weights) w /= sum;
  return true;
}

}  // namespace

Result<ApiAnswer> answer_pareto(const ApiContext& context, const ApiRequest& request) {
  if (auto wrong = check_strict(request)) return *std::move(wrong);
  Selection selection;
  if (auto wrong = read_model(context, request, selection.display)) return *std::move(wrong);
  const auto lengths = lengths_of_sequence(*request.parameter("sequence"));
  if (!lengths) return api_error(400, "Unknown sequence");
  const std::string x_metric = *request.parameter("xMetric"), y_metric = *request.parameter("yMetric");
  if (!is_metric_name(x_metric) || !is_metric_name(y_metric)) return api_error(400, "xMetric and yMetric must match ^[a-z][a-z0-9_.]{0,99}$");
  const std::string x_direction = *request.parameter("xDirection"), y_direction = *request.parameter("yDirection");
  for (const std::string& direction : {x_direction, y_direction}) {
    if (direction != "min" && direction != "max") return api_error(400, "xDirection and yDirection must be min or max");
  }
  if (auto wrong = read_date(request, "date", selection.date)) return *std::move(wrong);
  for (const char* name : {"exact", "exactRun"}) {
    const auto value = request.parameter(name);
    if (value && *value != "true") return api_error(400, fmt::format("{} must be true", name));
  }
  if (request.parameter("exact") && !selection.date) return api_error(400, "exact needs date");
  if (request.parameter("exactRun") && selection.date) return api_error(400, "date may not accompany exactRun");
  selection.exact = request.parameter("exact").has_value();
  const auto run = request.parameter("runId");
  if (run) {
    selection.run = run->find_first_not_of("0123456789") == std::string::npos ? parse_int(*run) : std::nullopt;
    if (!selection.run) return api_error(400, "runId must be digits");
  }
  if (request.parameter("exactRun") && !selection.run) return api_error(400, "exactRun needs runId");
  selection.exact_run = request.parameter("exactRun").has_value();
  const auto power = request.parameter("powerValid");
  if (power && *power != "strictV2") return api_error(400, "Unknown powerValid filter");
  if (!power && (is_power_metric(x_metric) || is_power_metric(y_metric))) return api_error(400, "a power metric needs powerValid=strictV2");

  std::vector<Selected> rows = context.index.benchmarks(selection);
  const std::size_t returned = rows.size();
  const std::string raw_model = *request.parameter("rawModel");
  const auto hardware = request.parameter("hardware"), framework = request.parameter("framework"), precision = request.parameter("precision");
  std::erase_if(rows, [&](const Selected& s) {
    const Deployment& d = context.index.config(*s.row).deployment;
    return d.model != raw_model || (hardware && d.hardware != *hardware) || (framework && d.framework != *framework) ||
           (precision && d.precision != *precision) || (s.row->agentic ? lengths->first >= 0 : s.row->isl != lengths->first || s.row->osl != lengths->second);
  });
  PAWL_ASSIGN(const auto bodies, read_bodies(context, rows));
  std::vector<CurvePoint> points;
  std::size_t selected = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    PAWL_ASSIGN(const Json metrics, codec::parse_json(bodies.at(rows[i].row->id).metrics, "stored metrics"));
    if (power && !(metric_of(metrics, "power_valid") == 1 && metric_of(metrics, "power_metric_schema_version") == 2)) continue;
    ++selected;
    const auto x = metric_of(metrics, x_metric), y = metric_of(metrics, y_metric);
    if (x && y) points.push_back({*x, *y, i});
  }
  const auto listing = [&](const std::vector<CurvePoint>& frontier) {
    std::string out = "[";
    for (std::size_t i = 0; i < frontier.size();) {
      out += fmt::format("{}{{\"x\":{},\"y\":{},\"observations\":[", i > 0 ? "," : "", compact(Json(frontier[i].x)), compact(Json(frontier[i].y)));
      const std::size_t begin = i;
      for (; i < frontier.size() && frontier[i].x == frontier[begin].x && frontier[i].y == frontier[begin].y; ++i) {
        if (i > begin) out += ',';
        const Selected& s = rows[frontier[i].origin];
        const RowBody& body = bodies.at(s.row->id);
        append_benchmark_row(out, context, s, body, body.metrics);
      }
      out += "]}";
    }
    return out + "]";
  };
  std::string source = fmt::format("/api/v1/benchmarks?model={}", url_value(selection.display));
  for (const char* name : {"date", "exact", "runId", "exactRun", "powerValid"}) {
    if (const auto value = request.parameter(name)) source += fmt::format("&{}={}", name, url_value(*value));
  }
  const auto text_or_null = [](const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); };
  Json head{{"source_url", source},
            {"selection",
             {{"model", selection.display},
              {"rawModel", raw_model},
              {"sequence", *request.parameter("sequence")},
              {"xMetric", x_metric},
              {"yMetric", y_metric},
              {"xDirection", x_direction},
              {"yDirection", y_direction},
              {"hardware", text_or_null(hardware)},
              {"framework", text_or_null(framework)},
              {"precision", text_or_null(precision)}}},
            {"counts", {{"returned", returned}, {"selected", selected}, {"eligible", points.size()}, {"missing_or_nonfinite", selected - points.size()}}}};
  ApiAnswer answer;
  answer.body = compact(head);
  answer.body.pop_back();
  const bool x_max = x_direction == "max", y_max = y_direction == "max";
  answer.body += ",\"frontier\":" + listing(global_frontier(points, x_max, y_max));
  answer.body += ",\"hinterland\":" + listing(global_frontier(points, !x_max, !y_max)) + "}";
  return answer;
}

Result<ApiAnswer> answer_tco_feed(const ApiContext& context, const ApiRequest& request) {
  const std::string model = request.parameter("model").value_or("dsv4");
  const std::string tiers_text = request.parameter("tiers").value_or("30,50,75,100"),
                    workloads_text = request.parameter("workloads").value_or("1024x1024,8192x1024");
  const std::string view = request.parameter("view").value_or("points"), format = request.parameter("format").value_or("json");
  const std::string display = context.names.knows_display(model) || context.index.has_display(model) ? model : context.names.display(model);
  if (display == model && !context.names.knows_display(model) && !context.index.has_display(model)) return api_error(400, "Unknown model");
  const auto workloads = workloads_of(workloads_text);
  if (!workloads) return api_error(400, "workloads must be 1 to 8 distinct pairs such as 1024x1024");
  constexpr std::size_t kTiersMax = 20;
  const auto tiers = number_list(tiers_text, kTiersMax);
  if (!tiers || std::ranges::any_of(*tiers, [](double t) { return t <= 0 || t > 10000; }) ||
      std::set<double>(tiers->begin(), tiers->end()).size() != tiers->size()) {
    return api_error(400, "tiers must be 1 to 20 distinct numbers above 0 and up to 10000");
  }
  if (view != "points" && view != "scores") return api_error(400, "view must be points or scores");
  const auto wants_bands = request.parameter("bands");
  if (wants_bands && (*wants_bands != "true" || view != "points")) return api_error(400, "bands must be true, with view=points");
  if (format != "json" && format != "csv") return api_error(400, "format must be json or csv");
  Selection selection;
  selection.display = display;
  if (auto wrong = read_date(request, "date", selection.date)) return *std::move(wrong);
  Weights weights;
  const bool scores = view == "scores";
  for (const char* name : {"weights", "workload_weights", "alpha"}) {
    if (!scores && request.parameter(name)) return api_error(400, fmt::format("{} needs view=scores", name));
  }
  if (scores) {
    const bool default_tiers = *tiers == std::vector<double>{30, 50, 75, 100};
    weights.tiers = default_tiers ? std::vector<double>{0.35, 0.4, 0.2, 0.05} : std::vector<double>(tiers->size(), 1);
    weights.workloads = std::vector<double>(workloads->size(), 1);
    for (const auto& [name, into] : {std::pair("weights", &weights.tiers), {"workload_weights", &weights.workloads}}) {
      const auto text = request.parameter(name);
      if (text) *into = number_list(*text, kTiersMax).value_or(std::vector<double>());
      if (!normalise(*into, into == &weights.tiers ? tiers->size() : workloads->size())) {
        return api_error(
            400, fmt::format("{} must be as many non-negative numbers as there are {}, not all 0", name, into == &weights.tiers ? "tiers" : "workloads"));
      }
    }
    if (const auto text = request.parameter("alpha")) {
      const auto alpha = parse_number(*text);
      if (!alpha || *alpha < 0 || *alpha > 10) return api_error(400, "alpha must be a number from 0 to 10");
      weights.alpha = *alpha;
    }
  }

  std::vector<Selected> rows = context.index.benchmarks(selection);
  std::erase_if(rows, [&](const Selected& s) {
    return s.row->agentic || std::ranges::none_of(*workloads, [&](const Workload& w) { return w.isl == s.row->isl && w.osl == s.row->osl; });
  });
  PAWL_ASSIGN(const auto bodies, read_bodies(context, rows));
  std::set<std::string> raw_keys;
  for (const ModelName& name : context.names.all()) {
    if (name.display == display) raw_keys.insert(name.key);
  }
  std::map<std::string, std::map<std::string, Curve>> curves;  // by workload, hardware
  std::map<std::string, std::map<std::string, std::vector<CurvePoint>>> points;
  for (const Selected& s : rows) {
    const Deployment& d = context.index.config(*s.row).deployment;
    raw_keys.insert(d.model);
    PAWL_ASSIGN(const Json metrics, codec::parse_json(bodies.at(s.row->id).metrics, "stored metrics"));
    const auto y = metric_of(metrics, "output_tput_per_gpu");
    auto x = metric_of(metrics, "median_intvty");
    if (const auto itl = metric_of(metrics, "median_itl"); !x && itl && *itl > 0) x = 1 / *itl;
    if (!y || *y <= 0 || !x || *x <= 0) continue;
    const std::string workload = Workload{s.row->isl, s.row->osl}.text();
    Curve& curve = curves[workload][d.hardware];
    points[workload][d.hardware].push_back({*x, *y, curve.rows.size()});
    curve.latest = std::max(curve.latest, s.producer->record.date);
    curve.rows.push_back(s);
  }
  for (auto& [workload, by_hardware] : curves) {
    for (auto& [hardware, curve] : by_hardware) {
      curve.frontier = corner_frontier(points[workload][hardware], Corner::kUpperLeft);
      for (const CurvePoint& p : curve.frontier) {
        const std::string& day = curve.rows[p.origin].producer->record.date;
        if (curve.oldest.empty() || day < curve.oldest) curve.oldest = day;
      }
    }
  }

  Json envelope{{"model", model},
                {"db_model_keys", Json(std::vector<std::string>(raw_keys.begin(), raw_keys.end()))},
                {"date", selection.date ? Json(*selection.date) : Json(nullptr)}};
  envelope["workloads"] = Json::array();
  for (const Workload& w : *workloads) envelope["workloads"].push_back(w.text());
  envelope["tiers"] = Json::array();
  for (const double t : *tiers) envelope["tiers"].push_back(json_number(t));
  Json out = Json::array();
  std::string csv;
  if (!scores) {
    csv =
        "hardware,workload,tier,output_tput_per_gpu,boundary,frontier_points,frontier_min_interactivity,frontier_max_interactivity,latest_date,oldest_frontier_"
        "date\n";
    for (const Workload& w : *workloads) {
      for (const auto& [hardware, curve] : curves[w.text()]) {
        const SteffenSpline spline(curve.frontier);
        for (const double tier : *tiers) {
          const Reading r = read_tier(curve, spline, tier);
          const double low = rounded(curve.frontier.front().x), high = rounded(curve.frontier.back().x);
          out.push_back({{"hardware", hardware},
                         {"workload", w.text()},
                         {"tier", json_number(tier)},
                         {"output_tput_per_gpu", json_number(r.value)},
                         {"boundary", r.boundary},
                         {"is_interpolated", r.interpolated},
                         {"frontier_points", curve.frontier.size()},
                         {"frontier_min_interactivity", json_number(low)},
                         {"frontier_max_interactivity", json_number(high)},
                         {"latest_date", curve.latest},
                         {"oldest_frontier_date", curve.oldest},
                         {"evidence_date", r.evidence ? Json{{"from", r.evidence->first}, {"to", r.evidence->second}} : Json(nullptr)}});
          if (wants_bands) {
            constexpr int kResamples = 200;
            const Band band = bootstrap_band(points[w.text()][hardware], tier, kResamples);
            out.back()["band"] =
                Json{{"low", json_number(rounded(band.low))}, {"high", json_number(rounded(band.high))}, {"level", 0.9}, {"resamples", kResamples}};
          }
          csv += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", hardware, w.text(), short_number(tier), short_number(r.value), r.boundary,
                             curve.frontier.size(), short_number(low), short_number(high), curve.latest, curve.oldest);
        }
      }
    }
  } else {
    std::set<std::string> all_hardware;
    for (const auto& [workload, by_hardware] : curves) {
      for (const auto& [hardware, curve] : by_hardware) all_hardware.insert(hardware);
    }
    csv = "hardware,score,workloads_covered,unreachable_tiers,clamped_tiers,latest_date,oldest_frontier_date";
    for (const Workload& w : *workloads) csv += ",score_" + w.text();
    csv += '\n';
    for (const std::string& hardware : all_hardware) {
      Json by_workload = Json::object();
      double total = 0, covered_weight = 0;
      int covered = 0, unreachable = 0, clamped = 0;
      std::string latest, oldest, cells;
      for (std::size_t i = 0; i < workloads->size(); ++i) {
        const Workload& w = (*workloads)[i];
        const auto found = curves[w.text()].find(hardware);
        if (found == curves[w.text()].end()) {
          by_workload[w.text()] = nullptr;
          cells += ',';
          continue;
        }
        const Curve& curve = found->second;
        const SteffenSpline spline(curve.frontier);
        double sum = 0;
        for (std::size_t t = 0; t < tiers->size(); ++t) {
          const Reading r = read_tier(curve, spline, (*tiers)[t]);
          unreachable += r.boundary == "unreachable" ? 1 : 0;
          clamped += r.boundary == "clamped_low" ? 1 : 0;
          sum += weights.tiers[t] * r.value;
        }
        const double score = sum * (1 + weights.alpha * static_cast<double>(w.isl) / static_cast<double>(w.osl));
        by_workload[w.text()] = json_number(rounded(score));
        cells += "," + short_number(rounded(score));
        total += weights.workloads[i] * score;
        covered_weight += weights.workloads[i];
        ++covered;
        latest = std::max(latest, curve.latest);
        if (oldest.empty() || curve.oldest < oldest) oldest = curve.oldest;
      }
      const double score = covered_weight > 0 ? rounded(total / covered_weight) : 0;
      out.push_back({{"hardware", hardware},
                     {"score", json_number(score)},
                     {"workload_scores", by_workload},
                     {"workloads_covered", covered},
                     {"unreachable_tiers", unreachable},
                     {"clamped_tiers", clamped},
                     {"latest_date", latest},
                     {"oldest_frontier_date", oldest}});
      csv += fmt::format("{},{},{},{},{},{},{}{}\n", hardware, short_number(score), covered, unreachable, clamped, latest, oldest, cells);
    }
    envelope["weights"] = weights.tiers;
    envelope["workload_weights"] = weights.workloads;
    envelope["alpha"] = json_number(weights.alpha);
  }
  ApiAnswer answer;
  if (format == "csv") {
    answer.type = "text/csv; charset=utf-8";
    answer.body = std::move(csv);
  } else {
    envelope["rows"] = std::move(out);
    answer.body = compact(envelope);
  }
  return answer;
}

}  // namespace pawl::results
