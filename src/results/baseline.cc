#include "results/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "codec/describe.h"
#include "results/vocabulary.h"

namespace pawl::results {
namespace {

using codec::Json;

std::optional<std::int64_t> whole_of(const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end()) return std::nullopt;
  if (found->is_number_integer()) return found->get<std::int64_t>();
  return found->is_string() ? parse_int(found->get_ref<const std::string&>()) : std::nullopt;
}
bool is(const Json& row, const char* key, std::int64_t wanted) { return whole_of(row, key) == wanted; }
bool flag(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_boolean() && found->get<bool>();
}

/// Model, engine and hardware: what makes two rows the same deployment of the same thing.
bool same_recipe(const Json& row, const Deployment& d) {
  return text_of(row, "model") == d.model && text_of(row, "hardware") == d.hardware && text_of(row, "framework") == d.framework &&
         text_of(row, "precision") == d.precision && text_of(row, "spec_method") == d.spec_method;
}

bool same_shape(const Json& row, const Deployment& d) {
  return is(row, "prefill_tp", d.prefill_tp) && is(row, "prefill_ep", d.prefill_ep) && is(row, "decode_tp", d.decode_tp) && is(row, "decode_ep", d.decode_ep) &&
         flag(row, "prefill_dp_attention") == d.prefill_dp_attention && flag(row, "decode_dp_attention") == d.decode_dp_attention &&
         (!d.disagg || (is(row, "prefill_num_workers", d.prefill_num_workers) && is(row, "decode_num_workers", d.decode_num_workers)));
}

bool same_point(const Json& row, const WantedPoint& p) {
  return same_recipe(row, p.deployment) && same_shape(row, p.deployment) && flag(row, "disagg") == p.deployment.disagg &&
         flag(row, "is_multinode") == p.deployment.is_multinode && is(row, "conc", p.conc) && whole_of(row, "isl") == p.isl && whole_of(row, "osl") == p.osl;
}

/// Run and attempt out of "…/runs/N/attempts/A".
BaselineProducer producer_of(const std::string& url) {
  BaselineProducer out;
  out.url = url;
  const auto number_behind = [&](std::string_view word) -> std::int64_t {
    const auto at = url.rfind(word);
    if (at == std::string::npos) return 0;
    const std::string_view rest = std::string_view(url).substr(at + word.size());
    return parse_int(rest.substr(0, rest.find('/'))).value_or(0);
  };
  out.run = url.starts_with("pawl:run/") ? number_behind("pawl:run/") : number_behind("/runs/");
  out.attempt = number_behind("/attempts/");
  return out;
}

std::string gpus_told(const Json& row) {
  return fmt::format("{} prefill and {} decode GPUs", whole_of(row, "num_prefill_gpu").value_or(0), whole_of(row, "num_decode_gpu").value_or(0));
}

class Freeze {
 public:
  Freeze(AnswerSource& source, const BaselineRequest& request) : source_(source), request_(request) {}

  Result<FrozenBaseline> run() {
    out_.recipe = request_.recipe, out_.model = request_.display, out_.image = request_.image;
    if (request_.points.empty()) return bad_input(fmt::format("{} has no points", request_.recipe), "the catalogue's recipe selects nothing");
    PAWL_ASSIGN(out_.date, day());
    PAWL_ASSIGN(const Json rows, ask("/api/v1/benchmarks", {{"model", request_.display}, {"date", out_.date}, {"exact", "true"}}));
    PAWL_TRY(match(rows));
    PAWL_ASSIGN(const Json info, ask("/api/v1/workflow-info", {{"date", out_.date}}));
    read_producers(info);
    PAWL_TRY(read_evals());
    return std::move(out_);
  }

 private:
  Result<Json> ask(const std::string& path, const Query& query) {
    out_.sources.push_back(query_text(path, query));
    return source_.get(path, query);
  }

  /// The newest day on which the image was measured for any of the points. Looking for it is no source of a number.
  Result<std::string> day() {
    if (request_.date) return *request_.date;
    std::string newest;
    const auto look = [&](const Json& rows) {
      if (!rows.is_array()) return;
      for (const Json& row : rows) {
        if (!row.is_object() || text_of(row, "image") != request_.image) continue;
        if (std::ranges::any_of(request_.points, [&](const WantedPoint& p) { return same_point(row, p); })) newest = std::max(newest, text_of(row, "date"));
      }
    };
    PAWL_ASSIGN(const Json now, source_.get("/api/v1/benchmarks", {{"model", request_.display}}));
    look(now);
    std::set<std::pair<std::int64_t, std::int64_t>> lengths;
    for (const WantedPoint& p : request_.points) {
      if (p.isl && p.osl) lengths.emplace(*p.isl, *p.osl);
    }
    for (const auto& [isl, osl] : lengths) {
      if (!newest.empty()) break;
      PAWL_ASSIGN(const Json history,
                  source_.get("/api/v1/benchmarks/history", {{"model", request_.display}, {"isl", std::to_string(isl)}, {"osl", std::to_string(osl)}}));
      look(history);
    }
    if (newest.empty()) {
      return not_found(fmt::format("{}: {} has no published row with the image {}", request_.recipe, source_.shown(), request_.image),
                       "--image names another image; --date another day; pawl results query shows what is there");
    }
    return newest;
  }

  Status match(const Json& rows) {
    if (!rows.is_array()) return bad_input(source_.shown() + ": benchmarks are no list");
    std::set<std::string> other_images, duplicates;
    for (const WantedPoint& point : request_.points) {
      const Json* chosen = nullptr;
      int times = 0;
      for (const Json& row : rows) {
        if (!row.is_object() || !same_point(row, point)) continue;
        if (text_of(row, "image") != request_.image) {
          other_images.insert(text_of(row, "image"));
          continue;
        }
        ++times;
        if (chosen == nullptr) {
          chosen = &row;
        } else if ((*chosen)["metrics"] != row["metrics"] || text_of(*chosen, "run_url") != text_of(row, "run_url")) {
          return Error{ErrorClass::kConflict, ExitStatus::kRunFailed,
                       fmt::format("{}: two different published rows on {} claim to be {}: {} and {}", request_.recipe, out_.date, point.label,
                                   text_of(*chosen, "id"), text_of(row, "id")),
                       "a person must say which is the baseline"};
        }
      }
      if (chosen == nullptr) {
        out_.missing.push_back(point.label);
        continue;
      }
      if (times > 1) duplicates.insert(fmt::format("{}: the row stands in the feed {} times", point.label, times));
      if (text_of(*chosen, "run_url").empty()) {
        return bad_input(fmt::format("{}: the published row of {} names no run", request_.recipe, point.label), "a row without provenance is no baseline");
      }
      note_gpus(*chosen, point, "the row");
      std::string id;
      if (const auto number = whole_of(*chosen, "id")) id = std::to_string(*number);
      out_.points.push_back({point.label, point.point_key, id, *chosen});
    }
    for (const std::string& text : duplicates) out_.notes.push_back(text);
    if (out_.points.empty()) {
      std::string images;
      for (const std::string& image : other_images) images += (images.empty() ? "" : ", ") + image;
      return not_found(fmt::format("{}: no published row on {} with the image {}{}", request_.recipe, out_.date, request_.image,
                                   images.empty() ? "" : fmt::format("; that day has {}", images)),
                       "--date names another day, --image another image");
    }
    if (!other_images.empty()) out_.notes.push_back(fmt::format("{} published rows of that day have another image and were left out", other_images.size()));
    return {};
  }

  /// A single-node engine occupies as many GPUs as its topology says, in both columns.
  void note_gpus(const Json& row, const WantedPoint& point, const std::string& what) {
    const Deployment& d = point.deployment;
    if (d.is_multinode || d.disagg) return;
    const auto told = whole_of(row, "num_decode_gpu");
    if (!told || *told == 0 || *told == d.num_decode_gpu) return;
    out_.notes.push_back(fmt::format("{} of {} tells {}; the recipe's topology has {}", what, point.label, gpus_told(row), d.num_decode_gpu));
  }

  void read_producers(const Json& info) {
    std::set<std::string> seen;
    for (const BaselinePoint& point : out_.points) {
      const std::string url = text_of(point.row, "run_url");
      if (!seen.insert(url).second) continue;
      BaselineProducer producer = producer_of(url);
      const auto list = [&](const char* key) { return info.is_object() && info.contains(key) && info[key].is_array() ? info[key] : Json::array(); };
      for (const Json& config : list("runConfigs")) {
        if (producer.head.empty() && whole_of(config, "github_run_id") == producer.run) producer.head = text_of(config, "head_sha");
      }
      for (const Json& entry : list("changelogs")) {
        if (whole_of(entry, "workflow_run_id") != producer.run) continue;
        if (producer.change_request.empty()) producer.change_request = text_of(entry, "pr_link");
        if (producer.head.empty()) producer.head = text_of(entry, "head_ref");
      }
      out_.producers.push_back(std::move(producer));
    }
    for (const BaselinePoint& point : out_.points) {
      const auto curve = whole_of(point.row, "curve_workflow_run_id");
      const std::int64_t run = producer_of(text_of(point.row, "run_url")).run;
      if (curve && *curve != run) {
        out_.notes.push_back(fmt::format("the curve snapshot curve_workflow_run_id {} is not the producer ({})", *curve, run));
        break;
      }
    }
  }

  Status read_evals() {
    const auto of_this = [&](const Json& row) {
      return row.is_object() &&
             std::ranges::any_of(request_.points, [&](const WantedPoint& p) { return same_recipe(row, p.deployment) && same_shape(row, p.deployment); });
    };
    const Query exact{{"model", request_.display}, {"date", out_.date}, {"exact", "true"}};
    PAWL_ASSIGN(const Json rows, source_.get("/api/v1/evaluations", exact));
    // Servers that know no filter answer with everything, and each in its own order.
    std::vector<Json> of_day;
    for (const Json& row : rows.is_array() ? rows : Json::array()) {
      if (of_this(row) && text_of(row, "date") == out_.date) of_day.push_back(row);
    }
    const auto order = [](const Json& row) { return std::tuple(whole_of(row, "conc").value_or(0), text_of(row, "task"), whole_of(row, "id").value_or(0)); };
    std::ranges::stable_sort(of_day, [&](const Json& a, const Json& b) { return order(a) < order(b); });
    std::set<std::string> seen;
    for (const Json& row : of_day) {
      const std::int64_t run = producer_of(text_of(row, "run_url")).run;
      const bool ours = std::ranges::any_of(out_.producers, [&](const BaselineProducer& p) { return p.run == run; });
      const auto point =
          std::ranges::find_if(request_.points, [&](const WantedPoint& p) { return same_recipe(row, p.deployment) && same_shape(row, p.deployment); });
      const bool contradicts = flag(row, "disagg") != point->deployment.disagg;
      const std::string name = fmt::format("the eval {} ({} at concurrency {})", text_of(row, "id"), text_of(row, "task"), whole_of(row, "conc").value_or(0));
      if (!ours) {
        out_.notes.push_back(fmt::format("{} is of another run ({}) and was left out", name, run));
        continue;
      }
      if (contradicts) {
        out_.notes.push_back(
            fmt::format("{} is labelled disagg: {} with {}, which does not match the {} recipe; its score is kept because it is of the producer run, the "
                        "benchmark rows carry the identity",
                        name, flag(row, "disagg"), gpus_told(row), point->deployment.disagg ? "disaggregated" : "aggregated"));
      } else {
        note_gpus(row, *point, name);
      }
      const std::string scores = text_of(row, "task") + std::to_string(whole_of(row, "conc").value_or(0)) + row["metrics"].dump();
      if (!seen.insert(scores).second) {
        out_.notes.push_back(name + " repeats another");
        continue;
      }
      out_.evals.push_back(row);
    }
    if (!out_.evals.empty()) {
      out_.sources.push_back(query_text("/api/v1/evaluations", exact));
      return {};
    }
    // None on the day: what is there of other days is context, never a baseline.
    PAWL_ASSIGN(const Json all, ask("/api/v1/evaluations", {{"model", request_.display}}));
    std::string newest;
    for (const Json& row : all.is_array() ? all : Json::array()) {
      if (of_this(row) && text_of(row, "date") < out_.date) newest = std::max(newest, text_of(row, "date"));
    }
    out_.eval_note = fmt::format("N/A: the evaluations feed has no row for this identity on {}{}", out_.date,
                                 newest.empty() ? "" : fmt::format("; the newest before it is from {} and is not comparable", newest));
    return {};
  }

  AnswerSource& source_;
  const BaselineRequest& request_;
  FrozenBaseline out_;
};

}  // namespace

Result<WantedPoint> wanted_point(const Json& matrix_row, const ModelNames& names) {
  PAWL_ASSIGN(const model::Point p, model::point_of_row(matrix_row));
  WantedPoint out;
  out.label = p.label(), out.point_key = model::point_key(matrix_row);
  out.isl = p.isl, out.osl = p.osl, out.conc = p.conc;
  Deployment& d = out.deployment;
  const auto raw = names.resolve(p.model_prefix, p.model);
  if (!raw)
    return bad_input(fmt::format("{}: the table of names does not know the model {}", p.label(), p.model_prefix.empty() ? p.model : p.model_prefix),
                     "data/models.yaml has the names");
  d.model = *raw;
  d.hardware = hardware_word(p.runner);
  d.framework = lower_case(p.framework), d.precision = lower_case(p.precision), d.spec_method = lower_case(p.spec_decoding);
  if (d.precision == "nvfp4" || d.precision == "mxfp4") d.precision = "fp4";
  if (d.spec_method.empty()) d.spec_method = "none";
  d.disagg = p.disagg, d.is_multinode = p.prefill.has_value();
  if (!p.prefill || !p.decode) {
    d.prefill_tp = d.decode_tp = p.tp, d.prefill_ep = d.decode_ep = p.ep;
    d.prefill_dp_attention = d.decode_dp_attention = p.dp_attn;
    d.num_prefill_gpu = d.num_decode_gpu = p.gpus();
    return out;
  }
  const auto gpus = [](const model::Worker& w) { return w.num_worker * w.tp * w.pp * w.pcp_size; };
  d.prefill_tp = p.prefill->tp, d.prefill_ep = p.prefill->ep, d.prefill_dp_attention = p.prefill->dp_attn, d.prefill_num_workers = p.prefill->num_worker;
  d.decode_tp = p.decode->tp, d.decode_ep = p.decode->ep, d.decode_dp_attention = p.decode->dp_attn, d.decode_num_workers = p.decode->num_worker;
  d.num_prefill_gpu = gpus(*p.prefill), d.num_decode_gpu = gpus(*p.decode);
  return out;
}

Result<FrozenBaseline> freeze_baseline(AnswerSource& source, const BaselineRequest& request) { return Freeze(source, request).run(); }

Result<std::optional<io::Baseline>> AnswerBaselines::newest(const std::string& recipe, const std::string& image, const std::vector<std::string>& point_keys) {
  PAWL_ASSIGN(BaselineRequest request, request_of_(recipe));
  request.image = image;
  std::vector<WantedPoint> wanted;
  for (const std::string& key : point_keys) {
    const auto found = std::ranges::find(request.points, key, &WantedPoint::point_key);
    if (found == request.points.end()) return bad_input(fmt::format("{}: no point {}", recipe, key));
    wanted.push_back(*found);
  }
  if (wanted.empty()) return std::optional<io::Baseline>();
  request.points = std::move(wanted);
  auto frozen = freeze_baseline(*source_, request);
  if (!frozen && frozen.error().cls == ErrorClass::kNotFound) return std::optional<io::Baseline>();
  if (!frozen) return std::move(frozen).error();
  if (!frozen->missing.empty()) return std::optional<io::Baseline>();
  io::Baseline out;
  out.date = frozen->date, out.image = frozen->image, out.scale = "1/1";
  out.run = frozen->producers.front().run, out.attempt = std::max<std::int64_t>(frozen->producers.front().attempt, 1),
  out.head = frozen->producers.front().head;
  out.sources = frozen->sources;
  for (const BaselinePoint& point : frozen->points) {
    Json row = point.row;
    const Json metrics = row["metrics"];
    row.erase("metrics");
    for (const auto& [name, value] : metrics.items()) row[name] = value;
    Json ours = row.contains("pawl") && row["pawl"].is_object() ? row["pawl"] : Json::object();
    ours["point_key"] = point.point_key;
    row["pawl"] = std::move(ours);
    if (const std::string scale = text_of(row["pawl"], "scale"); !scale.empty()) out.scale = scale;
    out.rows.push_back(std::move(row));
  }
  for (const Json& eval : frozen->evals) {
    Json row = eval;
    const Json metrics = row["metrics"];
    row.erase("metrics");
    for (const auto& [name, value] : metrics.items()) row[name] = value;
    out.evals.push_back(std::move(row));
  }
  return std::optional<io::Baseline>(std::move(out));
}

}  // namespace pawl::results
