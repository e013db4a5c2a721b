#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "results/api_text.h"
#include "results/result_store.h"
#include "results/stored_columns.h"

// The routes about runs: what was measured when, with which image, and how well it went.
namespace pawl::results {
namespace {

using codec::Json;

std::string compact(const Json& json) { return codec::write_json(json, codec::JsonForm::kCompactUtf8); }

/// What availability and `configs` tell apart. Lengths −1: none.
struct Fact {
  std::string date, model;
  std::int64_t isl, osl;
  std::string precision, hardware, framework, spec_method;
  bool disagg;
  std::string benchmark_type;
  auto operator<=>(const Fact&) const = default;
};

/// Facts of the rows here whose run has a conclusion, and what imported answers say of rows that are not here.
Result<std::set<Fact>> facts_of(const ApiContext& context) {
  std::set<Fact> facts;
  for (const Selected& s : context.index.everything()) {
    if (s.producer->record.conclusion.empty()) continue;
    const Deployment& d = context.index.config(*s.row).deployment;
    facts.insert({s.producer->record.date, d.model, s.row->isl, s.row->osl, d.precision, d.hardware, d.framework, d.spec_method, d.disagg,
                  s.row->agentic ? "agentic_traces" : "single_turn"});
  }
  PAWL_ASSIGN(const auto imported, ResultStore(context.db).availability());
  for (const AvailabilityRecord& f : imported) {
    facts.insert({f.date, f.model, f.isl.value_or(-1), f.osl.value_or(-1), f.precision, f.hardware, f.framework, f.spec_method, f.disagg, f.benchmark_type});
  }
  return facts;
}

Json length_of(std::int64_t length) { return length < 0 ? Json(nullptr) : Json(length); }
Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

ApiAnswer paged(Json rows) {
  ApiAnswer answer;
  answer.body = compact(rows);
  return answer;
}

}  // namespace

Result<ApiAnswer> answer_availability(const ApiContext& context, const ApiRequest& request) {
  Page page;
  if (auto wrong = read_page(request, page)) return *std::move(wrong);
  PAWL_ASSIGN(const std::set<Fact> facts, facts_of(context));
  std::vector<Fact> rows(facts.begin(), facts.end());
  ApiAnswer answer;
  cut(rows, page, answer);
  Json all = Json::array();
  for (const Fact& f : rows) {
    all.push_back({{"model", f.model},
                   {"isl", length_of(f.isl)},
                   {"osl", length_of(f.osl)},
                   {"precision", f.precision},
                   {"hardware", f.hardware},
                   {"framework", f.framework},
                   {"spec_method", f.spec_method},
                   {"disagg", f.disagg},
                   {"benchmark_type", f.benchmark_type},
                   {"date", f.date}});
  }
  answer.body = compact(all);
  return answer;
}

Result<ApiAnswer> answer_workflow_info(const ApiContext& context, const ApiRequest& request) {
  std::optional<std::string> date;
  if (auto wrong = read_date(request, "date", date)) return *std::move(wrong);
  const auto type = request.parameter("benchmarkType");
  std::vector<const IndexedRun*> runs;
  for (const IndexedRun& run : context.index.runs()) {
    if (run.newest && !run.purged && (!date || run.record.date == *date)) runs.push_back(&run);
  }
  std::ranges::sort(runs, [](const IndexedRun* a, const IndexedRun* b) {
    return std::tie(a->record.created_at, a->record.date, a->record.run) < std::tie(b->record.created_at, b->record.date, b->record.run);
  });
  Json run_list = Json::array(), changelogs = Json::array(), configs = Json::array(), run_configs = Json::array();
  std::map<std::pair<std::int64_t, std::int64_t>, const IndexedRun*> by_key;
  for (const IndexedRun* run : runs) {
    const RunRecord& r = run->record;
    by_key[{r.run, r.attempt}] = run;
    if (r.conclusion.empty()) continue;
    run_list.push_back({{"github_run_id", std::to_string(r.run)},
                        {"name", r.name},
                        {"conclusion", r.conclusion},
                        {"run_attempt", r.attempt},
                        {"html_url", text_or_null(r.html_url)},
                        {"created_at", text_or_null(r.created_at)},
                        {"date", r.date}});
  }
  PAWL_TRY(
      context.db.query("SELECT c.run, c.attempt, c.base_ref, c.head_ref, c.config_keys, c.description, c.pr_link, c.append_only FROM results_changelog c ORDER "
                       "BY c.run, c.base_ref",
                       {}, [&](const store::Row& row) -> Status {
                         const auto found = by_key.find({row.whole(0), row.whole(1)});
                         if (found == by_key.end()) return {};
                         PAWL_ASSIGN(const Json keys, codec::parse_json(row.text(4), "a stored changelog entry"));
                         Json entry{{"workflow_run_id", std::to_string(row.whole(0))},
                                    {"date", found->second->record.date},
                                    {"base_ref", row.text(2)},
                                    {"head_ref", row.text(3)},
                                    {"config_keys", keys},
                                    {"description", row.text(5)},
                                    {"pr_link", text_or_null(row.text(6))}};
                         if (row.whole(7) != 0) entry["append_only"] = true;
                         changelogs.push_back(std::move(entry));
                         return {};
                       }));
  PAWL_ASSIGN(const std::set<Fact> facts, facts_of(context));
  std::set<std::string> seen;
  for (const Fact& f : facts) {
    if (date && f.date != *date) continue;
    Json config{{"model", f.model},       {"isl", length_of(f.isl)},  {"osl", length_of(f.osl)},      {"precision", f.precision},
                {"hardware", f.hardware}, {"framework", f.framework}, {"spec_method", f.spec_method}, {"disagg", f.disagg}};
    if (seen.insert(compact(config)).second) configs.push_back(std::move(config));
  }
  seen.clear();
  for (const IndexedRun* run : runs) {
    const RunRecord& r = run->record;
    for (const Selected& s : context.index.rows_of(*run)) {
      const char* row_type = s.row->agentic ? "agentic_traces" : "single_turn";
      if (type && *type != row_type) continue;
      const Deployment& d = context.index.config(*s.row).deployment;
      Json config{{"github_run_id", std::to_string(r.run)},
                  {"run_started_at", text_or_null(r.started_at)},
                  {"html_url", text_or_null(r.html_url)},
                  {"head_sha", text_or_null(r.head_sha)},
                  {"model", d.model},
                  {"precision", d.precision},
                  {"hardware", d.hardware},
                  {"framework", d.framework},
                  {"spec_method", d.spec_method},
                  {"disagg", d.disagg},
                  {"benchmark_type", row_type},
                  {"isl", length_of(s.row->isl)},
                  {"osl", length_of(s.row->osl)}};
      if (seen.insert(compact(config)).second) run_configs.push_back(std::move(config));
    }
  }
  ApiAnswer answer;
  answer.body = compact(Json{{"runs", run_list}, {"changelogs", changelogs}, {"configs", configs}, {"runConfigs", run_configs}});
  return answer;
}

Result<ApiAnswer> answer_evaluations(const ApiContext& context, const ApiRequest& request) {
  std::optional<std::string> display = request.parameter("model"), date;
  if (display) {
    std::string known;
    if (auto wrong = read_model(context, request, known)) return *std::move(wrong);
  }
  if (auto wrong = read_date(request, "date", date)) return *std::move(wrong);
  const bool exact = request.parameter("exact") == "true";
  Page page;
  if (auto wrong = read_page(request, page)) return *std::move(wrong);
  struct Line {
    std::string date, hardware, json;
    std::int64_t id;
  };
  std::vector<Line> lines;
  std::string condition = fmt::format("WHERE r.purged = '' AND {}", kNewestAttempt);
  std::vector<store::Value> values;
  if (date) {
    condition += exact ? " AND r.date = ?1" : " AND r.date <= ?1";
    values.emplace_back(*date);
  }
  PAWL_TRY(each_eval(context.db, condition, values, [&](const EvalRecord& e, const RunRecord& run, std::int64_t config_id) -> Status {
    const IndexedConfig* config = context.index.config_by_id(config_id);
    if (config == nullptr || (display && config->display != *display)) return {};
    Line line{run.date, config->deployment.hardware, {}, e.id};
    line.json = fmt::format("{{\"id\":\"{}\",\"config_id\":{},{}", e.id, config_id, config->members);
    append_member(line.json, "task", e.task);
    append_member(line.json, "date", run.date);
    line.json += ",\"conc\":" + (e.conc ? std::to_string(*e.conc) : "null");
    line.json += ",\"metrics\":" + compact(e.metrics);
    append_member(line.json, "timestamp", !e.timestamp.empty() ? e.timestamp : !run.created_at.empty() ? run.created_at : run.date + "T00:00:00Z");
    line.json += ",\"run_url\":";
    append_text_or_null(line.json, run.html_url);
    Json ours = e.raw.is_object() ? e.raw.value("pawl", Json::object()) : Json::object();
    if (!run.recipe.empty()) ours["recipe"] = run.recipe;
    if (!ours.empty()) line.json += ",\"pawl\":" + compact(ours);
    line.json += '}';
    lines.push_back(std::move(line));
    return {};
  }));
  std::ranges::sort(lines,
                    [](const Line& a, const Line& b) { return a.date != b.date ? a.date > b.date : std::tie(a.hardware, a.id) < std::tie(b.hardware, b.id); });
  ApiAnswer answer;
  cut(lines, page, answer);
  answer.body = "[";
  for (const Line& line : lines) {
    if (answer.body.size() > 1) answer.body += ',';
    answer.body += line.json;
  }
  answer.body += ']';
  return answer;
}

Result<ApiAnswer> answer_reliability(const ApiContext& context, const ApiRequest&) {
  Json all = Json::array();
  PAWL_TRY(context.db.query(
      fmt::format("SELECT s.hardware, r.date, s.n_success, s.total FROM results_run_stat s JOIN results_attempt r ON r.run = s.run AND r.attempt = s.attempt "
                  "WHERE r.purged = '' AND {} ORDER BY r.date DESC, r.run DESC, s.hardware",
                  kNewestAttempt),
      {}, [&](const store::Row& row) {
        all.push_back({{"hardware", row.text(0)}, {"date", row.text(1)}, {"n_success", row.whole(2)}, {"total", row.whole(3)}});
        return Status();
      }));
  return paged(std::move(all));
}

Result<ApiAnswer> answer_submissions(const ApiContext& context, const ApiRequest&) {
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string, bool, bool, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, std::int64_t, std::string>;
  struct Group {
    std::int64_t points = 0, most = 0;
    std::set<std::pair<std::int32_t, std::int32_t>> sequences;
    std::set<std::int32_t> concurrencies;
    std::string image;
    std::int64_t image_run = 0;
  };
  std::map<Key, Group> groups;
  std::map<std::pair<std::string, std::string>, std::int64_t> volume;
  for (const Selected& s : context.index.everything()) {
    const RunRecord& run = s.producer->record;
    if (run.conclusion.empty()) continue;
    const Deployment& d = context.index.config(*s.row).deployment;
    Group& group = groups[{d.model, d.hardware, d.framework, d.precision, d.spec_method, d.disagg, d.is_multinode, d.num_prefill_gpu, d.num_decode_gpu,
                           d.prefill_tp, d.prefill_ep, d.decode_tp, d.decode_ep, run.date}];
    ++group.points;
    group.most = std::max<std::int64_t>(group.most, s.row->conc);
    group.sequences.emplace(s.row->isl, s.row->osl);
    group.concurrencies.insert(s.row->conc);
    if (s.row->image != 0 && run.run >= group.image_run) {
      group.image = context.index.image(*s.row);
      group.image_run = run.run;
    }
    ++volume[{run.date, d.hardware}];
  }
  std::vector<std::pair<const Key*, const Group*>> order;
  for (const auto& [key, group] : groups) order.emplace_back(&key, &group);
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) {
    const std::string &left = std::get<13>(*a.first), &right = std::get<13>(*b.first);
    return left != right ? left > right : a.second->points > b.second->points;
  });
  Json summary = Json::array(), volumes = Json::array();
  for (const auto& [key, group] : order) {
    summary.push_back({{"model", std::get<0>(*key)},
                       {"hardware", std::get<1>(*key)},
                       {"framework", std::get<2>(*key)},
                       {"precision", std::get<3>(*key)},
                       {"spec_method", std::get<4>(*key)},
                       {"disagg", std::get<5>(*key)},
                       {"is_multinode", std::get<6>(*key)},
                       {"num_prefill_gpu", std::get<7>(*key)},
                       {"num_decode_gpu", std::get<8>(*key)},
                       {"prefill_tp", std::get<9>(*key)},
                       {"prefill_ep", std::get<10>(*key)},
                       {"decode_tp", std::get<11>(*key)},
                       {"decode_ep", std::get<12>(*key)},
                       {"date", std::get<13>(*key)},
                       {"total_datapoints", group->points},
                       {"distinct_sequences", group->sequences.size()},
                       {"distinct_concurrencies", group->concurrencies.size()},
                       {"max_concurrency", group->most},
                       {"image", text_or_null(group->image)}});
  }
  for (const auto& [key, count] : volume) volumes.push_back({{"date", key.first}, {"hardware", key.second}, {"datapoints", count}});
  ApiAnswer answer;
  answer.body = compact(Json{{"summary", summary}, {"volume", volumes}});
  return answer;
}

Result<ApiAnswer> answer_latest_images(const ApiContext& context, const ApiRequest&) {
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string, bool, std::int32_t, std::int32_t>;
  std::map<Key, Selected> newest;
  for (const Selected& s : context.index.everything()) {
    if (s.row->image == 0) continue;
    const Deployment& d = context.index.config(*s.row).deployment;
    const auto newness = [](const Selected& x) { return std::tie(x.producer->record.date, x.producer->record.started_at, x.producer->record.run, x.row->id); };
    const auto [found, fresh] = newest.try_emplace({d.model, d.hardware, d.framework, d.precision, d.spec_method, s.row->agentic, s.row->isl, s.row->osl}, s);
    if (!fresh && newness(found->second) < newness(s)) found->second = s;
  }
  Json all = Json::array();
  for (const auto& [key, s] : newest) {
    const Deployment& d = context.index.config(*s.row).deployment;
    all.push_back({{"model", d.model},
                   {"hardware", d.hardware},
                   {"framework", d.framework},
                   {"precision", d.precision},
                   {"spec_method", d.spec_method},
                   {"disagg", d.disagg},
                   {"isl", length_of(s.row->isl)},
                   {"osl", length_of(s.row->osl)},
                   {"benchmark_type", s.row->agentic ? "agentic_traces" : "single_turn"},
                   {"image", context.index.image(*s.row)},
                   {"date", s.producer->record.date}});
  }
  return paged(std::move(all));
}

}  // namespace pawl::results
