#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "results/api_text.h"
#include "results/result_store.h"
#include "results/stored_columns.h"

namespace pawl::results {
namespace {

using codec::Json;

/// What the calculator reads of a row (api-dashboard 1.2.2).
const std::set<std::string>& calculator_keys() {
  static const std::set<std::string> keys = [] {
    std::set<std::string> all{"tput_per_gpu", "input_tput_per_gpu", "output_tput_per_gpu", "prefill_pp", "decode_pp"};
    for (const char* stat : {"median", "p75", "p90"}) {
      for (const char* family : {"intvty", "itl", "full_response_itl", "e2el", "ttlt"}) all.insert(fmt::format("{}_{}", stat, family));
    }
    return all;
  }();
  return keys;
}

/// What history leaves out.
const std::set<std::string>& spread_keys() {
  static const std::set<std::string> keys = [] {
    std::set<std::string> all;
    for (const char* stat : {"mean", "std"}) {
      for (const char* family : {"ttft", "tpot", "itl", "e2el", "intvty"}) all.insert(fmt::format("{}_{}", stat, family));
    }
    return all;
  }();
  return keys;
}

template <class Keep>
Result<std::string> filtered(const std::string& metrics, const Keep& keep) {
  PAWL_ASSIGN(const Json all, codec::parse_json(metrics, "stored metrics"));
  Json kept = Json::object();
  for (const auto& [key, value] : all.items()) {
    if (keep(key)) kept[key] = value;
  }
  return codec::write_json(kept, codec::JsonForm::kCompactUtf8);
}

/// What we know of a row beyond the contract: provenance, scale, clock, verdict, the three dates of 2.8.
Result<std::string> our_member(const Selected& s, const RowBody& body) {
  Json ours = Json::object();
  if (!body.raw.empty()) {
    PAWL_ASSIGN(const Json raw, codec::parse_json(body.raw, "a stored row"));
    ours = raw.value("pawl", Json::object());
  }
  const RunRecord& run = s.producer->record;
  if (!run.recipe.empty()) ours["recipe"] = run.recipe;
  if (!body.measured_at.empty() && !ours.contains("measured_at")) ours["measured_at"] = body.measured_at;
  if (!run.created_at.empty() && run.recipe.empty()) ours["attempt_at"] = run.created_at;
  if (!run.published_at.empty()) ours["published_at"] = run.published_at;
  if (!body.accepted.empty()) ours["accepted"] = body.accepted;
  return ours.empty() ? std::string() : codec::write_json(ours, codec::JsonForm::kCompactUtf8);
}

bool power_is_valid(const std::string& metrics) {
  const auto parsed = codec::parse_json(metrics, "stored metrics");
  if (!parsed) return false;
  const auto is = [&](const char* key, double wanted) { return parsed->contains(key) && (*parsed)[key].is_number() && (*parsed)[key].get<double>() == wanted; };
  return is("power_valid", 1) && is("power_metric_schema_version", 2);
}

/// Rows as columns: dictionaries for texts, six significant digits for measurements. For charts; never the contract's form.
Result<std::string> columns_of(const ApiContext& context, const std::vector<Selected>& rows, const std::map<std::int64_t, RowBody>& bodies,
                               const std::set<std::string>& wanted) {
  struct Words {
    std::vector<std::string> words;
    std::map<std::string, std::size_t> index;
    std::string column;
    void add(const std::string& word) {
      const auto [found, fresh] = index.try_emplace(word, words.size());
      if (fresh) words.push_back(word);
      fmt::format_to(std::back_inserter(column), "{}{}", column.empty() ? "" : ",", found->second);
    }
  };
  std::map<std::string, Words> texts;
  std::map<std::string, std::string> numbers;
  const auto number = [&](const char* name, std::int64_t value) {
    std::string& column = numbers[name];
    fmt::format_to(std::back_inserter(column), "{}{}", column.empty() ? "" : ",", value < 0 ? "null" : std::to_string(value));
  };
  std::vector<Json> metrics;
  std::set<std::string> keys;
  for (const Selected& s : rows) {
    const Deployment& d = context.index.config(*s.row).deployment;
    for (const auto& [name, value] : {std::pair("hardware", d.hardware),
                                      {"framework", d.framework},
                                      {"model", d.model},
                                      {"precision", d.precision},
                                      {"spec_method", d.spec_method},
                                      {"image", context.index.image(*s.row)},
                                      {"date", s.producer->record.date},
                                      {"run_url", attempt_url(s.producer->record)}}) {
      texts[name].add(value);
    }
    texts["offload_mode"].add(s.row->offload ? "on" : "off");
    texts["benchmark_type"].add(s.row->agentic ? "agentic_traces" : "single_turn");
    number("id", s.row->id), number("isl", s.row->isl), number("osl", s.row->osl), number("conc", s.row->conc);
    number("disagg", d.disagg ? 1 : 0), number("is_multinode", d.is_multinode ? 1 : 0);
    number("prefill_tp", d.prefill_tp), number("prefill_ep", d.prefill_ep), number("prefill_dp_attention", d.prefill_dp_attention ? 1 : 0);
    number("prefill_num_workers", d.prefill_num_workers), number("decode_tp", d.decode_tp), number("decode_ep", d.decode_ep);
    number("decode_dp_attention", d.decode_dp_attention ? 1 : 0), number("decode_num_workers", d.decode_num_workers);
    number("num_prefill_gpu", d.num_prefill_gpu), number("num_decode_gpu", d.num_decode_gpu);
    PAWL_ASSIGN(Json parsed, codec::parse_json(bodies.at(s.row->id).metrics, "stored metrics"));
    for (const auto& [key, value] : parsed.items()) {
      if (value.is_number() && (wanted.empty() || wanted.contains(key))) keys.insert(key);
    }
    metrics.push_back(std::move(parsed));
  }
  std::string out = fmt::format("{{\"schema\":\"pawl.columns/1\",\"rows\":{},\"digits\":6,\"words\":{{", rows.size());
  const char* comma = "";
  for (const auto& [name, words] : texts) {
    out.append(comma).append("\"").append(name).append("\":{\"words\":").append(codec::write_json(Json(words.words), codec::JsonForm::kCompactUtf8));
    out.append(",\"rows\":[").append(words.column).append("]}");
    comma = ",";
  }
  out += "},\"numbers\":{";
  comma = "";
  for (const auto& [name, column] : numbers) {
    out.append(comma).append("\"").append(name).append("\":[").append(column).append("]");
    comma = ",";
  }
  out += "},\"metrics\":{";
  comma = "";
  for (const std::string& key : keys) {
    out += comma;
    append_text(out, key);
    out += ":[";
    bool first = true;
    for (const Json& row : metrics) {
      if (!first) out += ',';
      first = false;
      const auto found = row.find(key);
      if (found == row.end() || !found->is_number()) {
        out += "null";
      } else {
        fmt::format_to(std::back_inserter(out), "{:.6g}", found->get<double>());
      }
    }
    out += ']';
    comma = ",";
  }
  out += "}}";
  return out;
}

/// The rows of an answer in the form that the request wants.
Result<ApiAnswer> rows_answer(const ApiContext& context, const ApiRequest& request, std::vector<Selected> rows, const std::set<std::string>* dropped) {
  const auto view = request.parameter("view");
  const bool calculator = view == "calculator", columns = view == "columns" || request.columns;
  const auto power = request.parameter("powerValid");
  if (power && (*power != "strictV2" || calculator)) return api_error(400, "Unknown powerValid filter");
  if (calculator) {
    const auto lengths = lengths_of_sequence(request.parameter("sequence").value_or(""));
    if (!lengths) return api_error(400, "Unknown calculator sequence");
    std::erase_if(rows,
                  [&](const Selected& s) { return s.row->agentic ? lengths->first >= 0 : s.row->isl != lengths->first || s.row->osl != lengths->second; });
  }
  for (const char* name : {"hardware", "framework", "precision"}) {
    const auto wanted = request.parameter(name);
    if (!wanted) continue;
    std::erase_if(rows, [&](const Selected& s) {
      const Deployment& d = context.index.config(*s.row).deployment;
      return (std::string_view(name) == "hardware" ? d.hardware : std::string_view(name) == "framework" ? d.framework : d.precision) != *wanted;
    });
  }
  Page page;
  if (auto wrong = read_page(request, page)) return *std::move(wrong);
  ApiAnswer answer;
  std::map<std::int64_t, RowBody> bodies;
  if (power) {
    PAWL_ASSIGN(bodies, read_bodies(context, rows));
    std::erase_if(rows, [&](const Selected& s) { return !power_is_valid(bodies.at(s.row->id).metrics); });
  }
  cut(rows, page, answer);
  if (!power) {
    PAWL_ASSIGN(bodies, read_bodies(context, rows));
  }
  std::set<std::string> wanted;
  if (const auto list = request.parameter("metrics")) {
    for (const std::string_view key : split(*list, ',')) {
      if (!key.empty()) wanted.emplace(key);
    }
  }
  if (columns) {
    PAWL_ASSIGN(answer.body, columns_of(context, rows, bodies, wanted));
    answer.type = "application/vnd.pawl.columns+json";
    return answer;
  }
  answer.body.reserve(rows.size() * 2048);
  answer.body = "[";
  for (const Selected& s : rows) {
    if (answer.body.size() > 1) answer.body += ',';
    RowBody& body = bodies.at(s.row->id);
    if (calculator) body.workers.clear();
    if (!calculator && dropped == nullptr && wanted.empty()) {
      append_benchmark_row(answer.body, context, s, body, body.metrics);
      continue;
    }
    PAWL_ASSIGN(const std::string metrics, filtered(body.metrics, [&](const std::string& key) {
                  return (!calculator || calculator_keys().contains(key)) && (dropped == nullptr || !dropped->contains(key)) &&
                         (wanted.empty() || wanted.contains(key));
                }));
    append_benchmark_row(answer.body, context, s, body, metrics);
  }
  answer.body += ']';
  return answer;
}

}  // namespace

Result<std::map<std::int64_t, RowBody>> read_bodies(const ApiContext& context, const std::vector<Selected>& rows) {
  // One statement of a fixed size serves every list: the last id fills it up.
  constexpr std::size_t kBatch = 200;
  static const std::string sql = [] {
    std::string text = "SELECT id, metrics, workers, power_invalid_reasons, power_audit, raw, accepted, measured_at FROM results_benchmark WHERE id IN (";
    for (std::size_t i = 1; i <= kBatch; ++i) text += fmt::format("{}?{}", i > 1 ? "," : "", i);
    return text + ")";
  }();
  std::map<std::int64_t, RowBody> bodies;
  std::vector<store::Value> ids(kBatch);
  for (std::size_t begin = 0; begin < rows.size(); begin += kBatch) {
    for (std::size_t i = 0; i < kBatch; ++i) ids[i] = rows[std::min(begin + i, rows.size() - 1)].row->id;
    PAWL_TRY(context.db.query(sql, ids, [&](const store::Row& row) {
      bodies[row.whole(0)] = {row.text(1), row.text(2), row.text(3), row.text(4), row.text(5), row.text(6), row.text(7)};
      return Status();
    }));
  }
  return bodies;
}

void append_benchmark_row(std::string& out, const ApiContext& context, const Selected& s, const RowBody& body, std::string_view metrics) {
  const auto json_or_null = [](const std::string& text) { return text.empty() ? std::string_view("null") : std::string_view(text); };
  const RunRecord& run = s.producer->record;
  const RunRecord& curve = s.curve->record;
  fmt::format_to(std::back_inserter(out), "{{\"id\":\"{}\",{}", s.row->id, context.index.config(*s.row).members);
  out.append(s.row->agentic ? ",\"benchmark_type\":\"agentic_traces\"" : ",\"benchmark_type\":\"single_turn\"");
  out.append(s.row->offload ? ",\"offload_mode\":\"on\"" : ",\"offload_mode\":\"off\"");
  append_length_member(out, "isl", s.row->isl);
  append_length_member(out, "osl", s.row->osl);
  append_number_member(out, "conc", s.row->conc);
  out += ",\"image\":";
  append_text_or_null(out, context.index.image(*s.row));
  out += ",\"recipe_fingerprint\":";
  append_text_or_null(out, context.index.fingerprint(*s.row));
  out.append(",\"metrics\":").append(metrics);
  out.append(",\"workers\":").append(json_or_null(body.workers));
  out.append(",\"power_invalid_reasons\":").append(json_or_null(body.power_invalid_reasons));
  out.append(",\"power_audit\":").append(json_or_null(body.power_audit));
  append_member(out, "date", run.date);
  if (s.row->agentic) {
    append_member(out, "workflow_run_id", std::to_string(run.run));
    if (!run.started_at.empty()) append_member(out, "run_started_at", postgres_time(run.started_at));
  }
  out += ",\"run_url\":";
  append_text_or_null(out, attempt_url(run));
  append_member(out, "curve_date", curve.date);
  append_member(out, "curve_workflow_run_id", std::to_string(curve.run));
  if (!curve.started_at.empty()) append_member(out, "curve_run_started_at", postgres_time(curve.started_at));
  if (const auto ours = our_member(s, body); ours && !ours->empty()) out.append(",\"pawl\":").append(*ours);
  out += '}';
}

Result<ApiAnswer> answer_benchmarks(const ApiContext& context, const ApiRequest& request) {
  Selection selection;
  if (auto wrong = read_model(context, request, selection.display)) return *std::move(wrong);
  if (auto wrong = read_date(request, "date", selection.date)) return *std::move(wrong);
  selection.exact = selection.date && request.parameter("exact") == "true";
  // Anything but digits is ignored, as in the reference.
  const auto run = request.parameter("runId");
  if (run && !run->empty() && run->find_first_not_of("0123456789") == std::string::npos) selection.run = parse_int(*run);
  selection.exact_run = selection.run && request.parameter("exactRun") == "true";
  return rows_answer(context, request, context.index.benchmarks(selection), nullptr);
}

Result<ApiAnswer> answer_history(const ApiContext& context, const ApiRequest& request) {
  std::string display;
  const bool agentic = request.parameter("benchmarkType") == "agentic_traces";
  const auto isl = parse_int(request.parameter("isl").value_or("")), osl = parse_int(request.parameter("osl").value_or(""));
  constexpr std::int64_t kLengthMax = 1 << 30;
  const bool lengths = isl && osl && *isl > 0 && *osl > 0 && *isl <= kLengthMax && *osl <= kLengthMax;
  if (!request.parameter("model") || (!agentic && !lengths)) return api_error(400, "model, isl, and osl are required");
  if (auto wrong = read_model(context, request, display)) return *std::move(wrong);
  std::optional<std::string> from, to;
  if (auto wrong = read_date(request, "from", from)) return *std::move(wrong);
  if (auto wrong = read_date(request, "to", to)) return *std::move(wrong);
  std::vector<Selected> rows = context.index.history(display, agentic ? -1 : static_cast<std::int32_t>(*isl), agentic ? -1 : static_cast<std::int32_t>(*osl));
  std::erase_if(rows, [&](const Selected& s) { return (from && s.curve->record.date < *from) || (to && s.curve->record.date > *to); });
  return rows_answer(context, request, std::move(rows), &spread_keys());
}

Result<ApiAnswer> answer_siblings(const ApiContext& context, const ApiRequest& request) {
  const auto id = parse_int(request.parameter("id").value_or(""));
  if (!id || *id <= 0) return api_error(400, "id is required (benchmark_result_id)");
  const auto self = context.index.find(*id);
  if (!self) return api_error(404, "Not found");
  const IndexedConfig& config = context.index.config(*self->row);
  const Deployment& d = config.deployment;
  std::vector<Selected> rows = context.index.rows_of(*self->producer);
  std::erase_if(rows, [&](const Selected& s) {
    const Deployment& o = context.index.config(*s.row).deployment;
    return s.producer != self->producer || o.hardware != d.hardware || o.framework != d.framework || o.model != d.model || o.precision != d.precision ||
           o.spec_method != d.spec_method || s.row->agentic != self->row->agentic;
  });
  std::ranges::sort(rows, [&](const Selected& a, const Selected& b) {
    const auto order = [&](const Selected& s) {
      const Deployment& o = context.index.config(*s.row).deployment;
      return std::tuple(o.decode_tp, o.decode_ep, s.row->offload, s.row->conc, s.row->id);
    };
    return order(a) < order(b);
  });
  PAWL_ASSIGN(const auto bodies, read_bodies(context, rows));
  const RunRecord& run = self->producer->record;
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json siblings = Json::array();
  for (const Selected& s : rows) {
    const Deployment& o = context.index.config(*s.row).deployment;
    PAWL_ASSIGN(const Json metrics, codec::parse_json(bodies.at(s.row->id).metrics, "stored metrics"));
    const auto metric = [&](const char* key) { return metrics.contains(key) ? metrics[key] : Json(nullptr); };
    siblings.push_back({{"id", std::to_string(s.row->id)},
                        {"conc", s.row->conc},
                        {"offload_mode", s.row->offload ? "on" : "off"},
                        {"kv_offloading", metric("kv_offloading")},
                        {"decode_tp", o.decode_tp},
                        {"decode_ep", o.decode_ep},
                        {"decode_pp", metric("decode_pp")},
                        {"decode_dcp_size", metric("decode_dcp_size")},
                        {"decode_pcp_size", metric("decode_pcp_size")},
                        {"decode_dp_attention", o.decode_dp_attention},
                        {"decode_num_workers", o.decode_num_workers},
                        {"prefill_tp", o.prefill_tp},
                        {"prefill_ep", o.prefill_ep},
                        {"prefill_pp", metric("prefill_pp")},
                        {"prefill_dcp_size", metric("prefill_dcp_size")},
                        {"prefill_pcp_size", metric("prefill_pcp_size")},
                        {"prefill_dp_attention", o.prefill_dp_attention},
                        {"prefill_num_workers", o.prefill_num_workers},
                        {"num_prefill_gpu", o.num_prefill_gpu},
                        {"num_decode_gpu", o.num_decode_gpu},
                        {"disagg", o.disagg},
                        {"is_multinode", o.is_multinode},
                        {"tput_per_gpu", metric("tput_per_gpu")},
                        {"p90_intvty", metric("p90_intvty")},
                        {"p90_ttft", metric("p90_ttft")},
                        {"total_requests", metric("total_requests_completed")},
                        {"is_current", s.row->id == *id},
                        {"has_trace", false}});
  }
  ApiAnswer answer;
  answer.body = codec::write_json(Json{{"sku",
                                        {{"hardware", d.hardware},
                                         {"framework", d.framework},
                                         {"model", d.model},
                                         {"precision", d.precision},
                                         {"spec_method", d.spec_method},
                                         {"benchmark_type", self->row->agentic ? "agentic_traces" : "single_turn"},
                                         {"github_run_id", std::to_string(run.run)},
                                         {"date", run.date},
                                         {"dataset_slug", text_or_null(run.dataset)}}},
                                       {"siblings", siblings}},
                                  codec::JsonForm::kCompactUtf8);
  return answer;
}

}  // namespace pawl::results
