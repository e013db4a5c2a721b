#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "cli.h"
#include "codec/describe.h"
#include "http/client.h"
#include "http/target.h"
#include "results/answer_diff.h"
#include "results/answer_import.h"
#include "results/artifact_set.h"
#include "results/dump.h"
#include "results/ingest.h"
#include "results/result_store.h"
#include "results/vocabulary.h"
#include "store/workspace.h"
#include "store_place.h"

namespace pawl::app {
namespace {

using codec::Json;
using results::IngestCounts;

bool is_url(const std::string& text) { return text.starts_with("http://") || text.starts_with("https://"); }

void print_counts(const IngestCounts& c) {
  fmt::print("read {} files: {} runs, {} rows, {} evals, {} changelog entries, {} run statistics\n", c.files, c.runs, c.rows, c.evals, c.changelog, c.stats);
  const auto list = [](const char* what, const std::map<std::string, std::int64_t>& counts) {
    for (const auto& [key, count] : counts) fmt::print("  {} {}: {}\n", what, key, count);
  };
  list("skipped", c.skipped);
  list("held", c.held);
  if (c.unit_rule_not_applied > 0) fmt::print("  units not judged, rows of a scaled run: {}\n", c.unit_rule_not_applied);
  list("dropped, no finite number:", c.non_finite_metric);
  list("not in the tables of names:", c.unmapped);
  for (const std::string& note : c.notes) fmt::print("  {}\n", note);
}

Json report_json(const char* schema, const IngestCounts& counts, const results::WriteReport* report) {
  Json out{{"schema", schema}, {"counts", codec::to_json(counts)}, {"written", report != nullptr}};
  if (report != nullptr) {
    out["inserted"] = report->inserted, out["updated"] = report->updated, out["removed"] = report->removed;
    out["renumbered"] = report->renumbered, out["generation"] = report->generation;
  }
  return out;
}

// ── ingest ──────────────────────────────────────────────────────────────────────────────────────────────────────────

struct IngestFlags {
  StorePlace store;
  std::string what;
  results::RunHints hints;
  bool dry_run = false;
};

/// The artifacts that `what` names, and what its place says about the run.
Result<results::ArtifactSet> read_artifacts(World& world, const CommonFlags& common, const std::string& what, results::RunHints& hints) {
  if (is_url(what)) {
    http::ClientRequest request;
    request.url = what;
    request.answer_max = 512u << 20;
    request.timeout = Seconds{300};
    PAWL_ASSIGN(const http::Response response, http::fetch(request, world.stop));
    if (response.status != 200) return peer_error(fmt::format("{}: status {}", what, response.status), "an archive of a run's artifacts is wanted");
    return results::read_artifact_archive(response.body, what);
  }
  std::error_code ignored;
  if (!std::filesystem::exists(what, ignored) && parse_int(what)) {
    PAWL_ASSIGN(const store::Workspace workspace, store::Workspace::open(world.files, common.workspace));
    const std::int64_t run = *parse_int(what);
    std::int64_t attempt = hints.attempt;
    if (attempt == 0) {
      while (world.files.exists(workspace.run_folder(run, attempt + 1))) ++attempt;
    }
    if (attempt == 0) return not_found(fmt::format("the workspace has no run {}", run), "pawl sweep list shows its runs");
    hints.run = run, hints.attempt = attempt;
    return results::read_artifact_folder(world.files, workspace.run_folder(run, attempt));
  }
  if (std::filesystem::is_regular_file(what, ignored)) {
    PAWL_ASSIGN(const std::string bytes, world.files.read(what, 2048ull << 20));
    return results::read_artifact_archive(bytes, what);
  }
  return results::read_artifact_folder(world.files, what);
}

Result<ExitStatus> ingest(World& world, const CommonFlags& common, const IngestFlags& flags) {
  PAWL_ASSIGN(const results::Vocabulary vocabulary, results::Vocabulary::load(*world.assets));
  results::RunHints hints = flags.hints;
  PAWL_ASSIGN(const results::ArtifactSet artifacts, read_artifacts(world, common, flags.what, hints));
  IngestCounts counts;
  PAWL_ASSIGN(results::RunBatch batch, results::batch_of_artifacts(artifacts, hints, results::RowMapper(vocabulary), counts));
  const std::int64_t run = batch.run.run, attempt = batch.run.attempt;
  const bool empty = batch.rows.empty() && batch.evals.empty() && batch.stats.empty() && batch.changelog.empty();
  std::optional<results::WriteReport> report;
  if (!flags.dry_run && !empty) {
    const std::string at = iso_utc(world.clock.wall());
    batch.run.published_at = at;
    PAWL_ASSIGN(store::Database database, flags.store.open(world, common));
    PAWL_ASSIGN(report, results::ResultStore(database).write({std::move(batch)}, results::WriteMode::kUpsert, {at, "ingest", flags.what}, counts));
  }
  if (common.json) {
    Json out = report_json("pawl.ingest/1", counts, report ? &*report : nullptr);
    out["run"] = std::to_string(run), out["attempt"] = attempt;
    print_json(out);
  } else {
    print_counts(counts);
    if (report)
      fmt::print("run {} attempt {}: {} new, {} changed; the store is at write {}\n", run, attempt, report->inserted, report->updated, report->generation);
    if (flags.dry_run) fmt::print("run {} attempt {}: nothing written (--dry-run)\n", run, attempt);
  }
  if (empty)
    return bad_input(fmt::format("{}: no row, eval, statistic or changelog entry to store", flags.what), "the counts above say what became of every file");
  return ExitStatus::kDone;
}

// ── import ──────────────────────────────────────────────────────────────────────────────────────────────────────────

struct ImportFlags {
  StorePlace store;
  std::string from;
  std::vector<std::string> models;
  bool dry_run = false;
};

Result<results::ImportedAnswers> import_from_server(World& world, const ImportFlags& flags, IngestCounts& counts) {
  const auto source = results::answers_of_server(flags.from, world.clock, world.stop);
  results::ImportedAnswers out;
  std::vector<std::string> models = flags.models;
  if (models.empty()) return usage_error("--model is needed to import from a server", "--model DeepSeek-R1-0528; may be repeated");
  const auto progress_of = [&](const std::string& path, const results::Query& query) -> Result<Json> {
    if (world.stop.stop_requested()) return cancelled();
    ++counts.files;
    return source->get(path, query);
  };
  std::set<std::string> days;
  for (const std::string& model : models) {
    PAWL_ASSIGN(const Json rows, progress_of("/api/v1/benchmarks", {{"model", model}}));
    results::import_benchmarks(rows, false, out, counts);
    for (const Json& row : rows) {
      if (row.is_object()) days.insert(results::text_of(row, "date"));
    }
  }
  PAWL_ASSIGN(const Json evals, progress_of("/api/v1/evaluations", {}));
  results::import_evaluations(evals, out, counts);
  for (const std::string& day : days) {
    if (!results::is_day(day)) continue;
    PAWL_ASSIGN(const Json info, progress_of("/api/v1/workflow-info", {{"date", day}}));
    results::import_workflow_info(info, out, counts);
  }
  counts.runs = static_cast<std::int64_t>(out.batches.size());
  for (const results::RunBatch& batch : out.batches) {
    counts.rows += static_cast<std::int64_t>(batch.rows.size()), counts.evals += static_cast<std::int64_t>(batch.evals.size());
    counts.changelog += static_cast<std::int64_t>(batch.changelog.size());
  }
  return out;
}

Result<ExitStatus> import(World& world, const CommonFlags& common, const ImportFlags& flags) {
  IngestCounts counts;
  results::ImportedAnswers answers;
  if (is_url(flags.from)) {
    PAWL_ASSIGN(answers, import_from_server(world, flags, counts));
  } else {
    PAWL_ASSIGN(answers, results::import_folder(world.files, flags.from, counts));
  }
  std::optional<results::WriteReport> report;
  if (!flags.dry_run) {
    PAWL_ASSIGN(store::Database database, flags.store.open(world, common));
    results::ResultStore store(database);
    PAWL_TRY(database.transaction([&]() -> Status {
      PAWL_TRY(store.settle_attempts(answers.batches));
      PAWL_ASSIGN(report, store.write(answers.batches, results::WriteMode::kMerge, {iso_utc(world.clock.wall()), "import", flags.from}, counts));
      return store.write_availability(answers.availability);
    }));
  }
  if (common.json) {
    print_json(report_json("pawl.import/1", counts, report ? &*report : nullptr));
  } else {
    print_counts(counts);
    if (report)
      fmt::print("{} new, {} changed{}; the store is at write {}\n", report->inserted, report->updated,
                 report->renumbered > 0 ? fmt::format(", {} under another id because theirs is taken", report->renumbered) : "", report->generation);
  }
  return ExitStatus::kDone;
}

// ── query ───────────────────────────────────────────────────────────────────────────────────────────────────────────

struct QueryFlags {
  StorePlace store;
  std::string from, route = "benchmarks", model, date, hardware, framework, precision;
  bool exact = false, held = false;
};

std::string cell(const Json& row, const char* key, double scale = 1, int digits = 1) {
  const Json* value = nullptr;
  if (row.contains("metrics") && row["metrics"].contains(key)) value = &row["metrics"][key];
  return value != nullptr && value->is_number() ? fmt::format("{:.{}f}", value->get<double>() * scale, digits) : "-";
}

Result<ExitStatus> list_held(World& world, const CommonFlags& common, const QueryFlags& flags) {
  PAWL_ASSIGN(store::Database database, flags.store.open(world, common));
  Json rows = Json::array();
  PAWL_TRY(
      database.query("SELECT b.id, b.run, b.attempt, b.conc, b.held, c.deployment FROM results_benchmark b JOIN results_config c ON c.id = b.config_id WHERE "
                     "b.held <> '' ORDER BY b.id",
                     {}, [&](const store::Row& row) -> Status {
                       PAWL_ASSIGN(const Json deployment, codec::parse_json(row.text(5), "a stored deployment"));
                       rows.push_back({{"id", std::to_string(row.whole(0))},
                                       {"run", std::to_string(row.whole(1))},
                                       {"attempt", row.whole(2)},
                                       {"conc", row.whole(3)},
                                       {"held", row.text(4)},
                                       {"deployment", deployment}});
                       return {};
                     }));
  if (common.json) {
    print_json({{"schema", "pawl.held-rows/1"}, {"rows", rows}});
    return ExitStatus::kDone;
  }
  for (const Json& row : rows) {
    const Json& d = row["deployment"];
    fmt::print("{:>8}  run {} attempt {}  {} {} {} {} conc {}: {}\n", row["id"].get<std::string>(), row["run"].get<std::string>(), row["attempt"].get<int>(),
               results::text_of(d, "model"), results::text_of(d, "hardware"), results::text_of(d, "framework"), results::text_of(d, "precision"),
               row["conc"].get<int>(), results::text_of(row, "held"));
  }
  if (rows.empty()) fmt::print("no row is held\n");
  return ExitStatus::kDone;
}

Result<ExitStatus> query(World& world, const CommonFlags& common, const QueryFlags& flags) {
  if (flags.held) return list_held(world, common, flags);
  PAWL_ASSIGN(const AnswerPlace place, open_answers(world, common, flags.store, flags.from));
  results::Query asked;
  for (const auto& [name, value] : {std::pair("model", &flags.model), {"date", &flags.date}}) {
    if (!value->empty()) asked.emplace_back(name, *value);
  }
  if (flags.exact) asked.emplace_back("exact", "true");
  const std::string path = "/api/v1/" + flags.route;
  PAWL_ASSIGN(Json answer, place.source->get(path, asked));
  if (answer.is_array()) {
    Json kept = Json::array();
    for (Json& row : answer) {
      const auto fits = [&](const char* key, const std::string& wanted) { return wanted.empty() || results::text_of(row, key) == wanted; };
      if (fits("hardware", flags.hardware) && fits("framework", flags.framework) && fits("precision", flags.precision)) kept.push_back(std::move(row));
    }
    answer = std::move(kept);
  }
  if (common.json) {
    print_json({{"schema", "pawl.answer/1"}, {"source", place.source->shown()}, {"query", results::query_text(path, asked)}, {"answer", answer}});
    return ExitStatus::kDone;
  }
  if (!answer.is_array()) {
    fmt::print("{}", codec::write_json_pretty(answer));
    return ExitStatus::kDone;
  }
  for (const Json& row : answer) {
    const auto number = [&](const char* key) { return row.contains(key) && row[key].is_number() ? row[key].get<std::int64_t>() : 0; };
    const std::string shape =
        fmt::format("TP{}/EP{}{}", number("decode_tp"), number("decode_ep"), row.contains("disagg") && row["disagg"] == true ? " disagg" : "");
    if (flags.route == "evaluations") {
      fmt::print("{}  {:<10} {:<14} {:<5} {:<14} {:<16} conc {:<5} {:<10} strict {} flexible {}\n", results::text_of(row, "date"),
                 results::text_of(row, "hardware"), results::text_of(row, "framework"), results::text_of(row, "precision"), results::text_of(row, "model"),
                 shape, number("conc"), results::text_of(row, "task"), cell(row, "em_strict", 1, 4), cell(row, "em_flexible", 1, 4));
    } else if (row.contains("metrics")) {
      fmt::print("{}  {:<10} {:<14} {:<5} {:<5} {:>5}/{:<5} {:<16} conc {:<5} {:>9} tok/s/GPU  TTFT {:>8} ms  TPOT {:>7} ms  {}\n",
                 results::text_of(row, "date"), results::text_of(row, "hardware"), results::text_of(row, "framework"), results::text_of(row, "precision"),
                 results::text_of(row, "spec_method"), number("isl"), number("osl"), shape, number("conc"), cell(row, "tput_per_gpu"),
                 cell(row, "median_ttft", 1000), cell(row, "median_tpot", 1000, 2), results::text_of(row, "image"));
    } else {
      fmt::print("{}\n", codec::write_json(row, codec::JsonForm::kCompactUtf8));
    }
  }
  fmt::print("{} rows: {} of {}\n", answer.size(), results::query_text(path, asked), place.source->shown());
  return ExitStatus::kDone;
}

// ── export, diff, purge, accept ─────────────────────────────────────────────────────────────────────────────────────

struct ExportFlags {
  StorePlace store;
  std::string form = "csv";
  std::filesystem::path out;
};

Result<ExitStatus> export_rows(World& world, const CommonFlags& common, const ExportFlags& flags) {
  PAWL_ASSIGN(store::Database database, flags.store.open(world, common));
  results::ResultStore store(database);
  if (flags.form == "csv") {
    std::string csv;
    PAWL_TRY(database.snapshot([&]() -> Status {
      PAWL_ASSIGN(csv, results::rows_as_csv(store));
      return {};
    }));
    if (flags.out.empty()) {
      std::fwrite(csv.data(), 1, csv.size(), stdout);
    } else {
      PAWL_TRY(world.files.write_atomic(flags.out, csv));
    }
    return ExitStatus::kDone;
  }
  if (flags.out.empty()) return usage_error("--out FOLDER is needed for a dump", "it becomes configs.json, workflow_runs.json, benchmark_results.json, …");
  std::map<std::string, std::string> tables;
  PAWL_TRY(database.snapshot([&]() -> Status {
    PAWL_ASSIGN(tables, results::dump_tables(store));
    return {};
  }));
  for (const auto& [name, bytes] : tables) PAWL_TRY(world.files.write_atomic(flags.out / name, bytes));
  if (common.json) print_json({{"schema", "pawl.export/1"}, {"folder", flags.out.string()}, {"files", tables.size()}});
  return ExitStatus::kDone;
}

struct DiffFlags {
  StorePlace store;
  std::string left, right, query;
};

Result<Json> side_of(World& world, const CommonFlags& common, const DiffFlags& flags, const std::string& side) {
  std::error_code ignored;
  const bool file = std::filesystem::is_regular_file(side, ignored) && (side.ends_with(".json") || side.ends_with(".json.gz"));
  if (file) {
    PAWL_ASSIGN(std::string bytes, world.files.read(side, 1024ull << 20));
    if (side.ends_with(".gz")) {
      PAWL_ASSIGN(bytes, results::unpack_gzip(bytes, side, 1024ull << 20));
    }
    return codec::parse_json(bytes, side, 1024ull << 20);
  }
  if (flags.query.empty())
    return usage_error(fmt::format("{} is a source: --query says what to ask it", side), "--query '/api/v1/benchmarks?model=DeepSeek-R1-0528'");
  PAWL_ASSIGN(const http::Target target, http::parse_target(flags.query));
  PAWL_ASSIGN(const AnswerPlace place, open_answers(world, common, flags.store, side == "-" ? std::string() : side));
  return place.source->get(target.path, target.query);
}

Result<ExitStatus> diff(World& world, const CommonFlags& common, const DiffFlags& flags) {
  PAWL_ASSIGN(const Json left, side_of(world, common, flags, flags.left));
  PAWL_ASSIGN(const Json right, side_of(world, common, flags, flags.right));
  const results::AnswerDiff d = results::diff_answers(left, right);
  const bool same = d.right_has_all_of_left();
  if (common.json) {
    Json out{{"schema", "pawl.answer-diff/1"}, {"right_has_all_of_left", same}};
    const Json members = codec::to_json(d);
    for (const auto& [key, value] : members.items()) out[key] = value;
    print_json(out);
  } else {
    fmt::print("left {} rows, right {} rows, {} matched, {} in another order\n", d.left, d.right, d.matched, d.out_of_order);
    const auto list = [](const char* what, const std::map<std::string, std::int64_t>& members) {
      for (const auto& [key, count] : members) fmt::print("  {} {}: {} rows\n", what, key, count);
    };
    list("changed", d.changed);
    list("only left has", d.missing);
    list("only right has", d.added);
    for (const std::string& text : d.examples) fmt::print("    {}\n", text);
    for (const std::string& text : d.only_left) fmt::print("  only left:  {}\n", text);
    for (const std::string& text : d.only_right) fmt::print("  only right: {}\n", text);
    fmt::print("{}\n", same ? "the right side has everything that the left side has" : "the sides differ");
  }
  return same ? ExitStatus::kDone : ExitStatus::kRunFailed;
}

struct RulingFlags {
  StorePlace store;
  std::int64_t id = 0, attempt = 0;
  std::string reason;
  bool undo = false;
};

Result<ExitStatus> purge(World& world, const CommonFlags& common, const RulingFlags& flags) {
  if (flags.reason.empty() && !flags.undo) return usage_error("--reason is needed to purge a run", "it is kept with the run; --undo takes a purge back");
  PAWL_ASSIGN(store::Database database, flags.store.open(world, common));
  PAWL_TRY(results::ResultStore(database).purge(flags.id, flags.attempt > 0 ? std::optional(flags.attempt) : std::nullopt, flags.undo ? "" : flags.reason,
                                                iso_utc(world.clock.wall())));
  if (!common.json) fmt::print("run {} is {}\n", flags.id, flags.undo ? "shown again" : "in no answer any more");
  if (common.json) print_json({{"schema", "pawl.purge/1"}, {"run", std::to_string(flags.id)}, {"purged", !flags.undo}});
  return ExitStatus::kDone;
}

Result<ExitStatus> accept(World& world, const CommonFlags& common, const RulingFlags& flags) {
  PAWL_ASSIGN(store::Database database, flags.store.open(world, common));
  PAWL_TRY(results::ResultStore(database).accept(flags.id, flags.reason, iso_utc(world.clock.wall())));
  if (!common.json) fmt::print("row {} is in the answers\n", flags.id);
  if (common.json) print_json({{"schema", "pawl.accept/1"}, {"id", std::to_string(flags.id)}});
  return ExitStatus::kDone;
}

}  // namespace

void add_results_commands(Cli& cli) {
  CLI::App* group = cli.command(cli.root, "results", "Published results: take them in, ask for them, give them out",
                                "  pawl results ingest artifacts/ --run 27485974465\n  pawl results query --model Demo-8B");
  group->require_subcommand(1);

  const auto ingest_flags = std::make_shared<IngestFlags>();
  CLI::App* app = cli.command(*group, "ingest", "Take in the artifacts of one run: rows, evals, samples, logs, statistics, changelog",
                              "  pawl results ingest artifacts/                        a folder as `gh run download` leaves it\n"
                              "  pawl results ingest run-17.zip --run 17 --date 2026-11-30\n"
                              "  pawl results ingest 3 --workspace pawl-demo           a run of this workspace\n"
                              "  pawl results ingest artifacts/ --dry-run --json       only say what would become of it");
  app->add_option("what", ingest_flags->what, "Folder, archive, number of a run of the workspace, or URL of an archive")->required();
  app->add_option("--run", ingest_flags->hints.run, "Number of the run, where its artifacts do not say")->check(CLI::PositiveNumber);
  app->add_option("--attempt", ingest_flags->hints.attempt, "Attempt of the run")->check(CLI::PositiveNumber);
  app->add_option("--date", ingest_flags->hints.date, "Day of publication, YYYY-MM-DD");
  app->add_option("--name", ingest_flags->hints.name, "Name of the run");
  app->add_option("--conclusion", ingest_flags->hints.conclusion, "How the run ended, such as success");
  app->add_option("--url", ingest_flags->hints.html_url, "Page of the run, without attempt");
  app->add_option("--head", ingest_flags->hints.head_sha, "Commit that the run measured");
  app->add_option("--recipe", ingest_flags->hints.recipe, "Key of the recipe, when the run is of one");
  app->add_flag("--dry-run", ingest_flags->dry_run, "Write nothing");
  ingest_flags->store.add_to(*app);
  app->callback([&cli, ingest_flags] { cli.selected = [ingest_flags](World& w, const CommonFlags& c) { return ingest(w, c, *ingest_flags); }; });

  const auto import_flags = std::make_shared<ImportFlags>();
  app = cli.command(*group, "import", "Take in what another server of this API says: a dump, saved answers, or the server itself",
                    "  pawl results import db-dump/                          workflow_runs.json, benchmark_results.json, …\n"
                    "  pawl results import answers/                          benchmarks.json, evaluations.json, …\n"
                    "  pawl results import https://inferencex.semianalysis.com --model DeepSeek-R1-0528");
  app->add_option("from", import_flags->from, "Folder or URL of a server")->required();
  app->add_option("--model", import_flags->models, "Display name; of a server; may be repeated");
  app->add_flag("--dry-run", import_flags->dry_run, "Write nothing");
  import_flags->store.add_to(*app);
  app->callback([&cli, import_flags] { cli.selected = [import_flags](World& w, const CommonFlags& c) { return import(w, c, *import_flags); }; });

  const auto query_flags = std::make_shared<QueryFlags>();
  app = cli.command(*group, "query", "Rows of a store, a server or a dump",
                    "  pawl results query --model Demo-8B\n  pawl results query --model Qwen-3.5-397B-A17B --date 2026-07-04 --exact --hardware h200\n"
                    "  pawl results query --route evaluations --from https://inferencex.semianalysis.com\n  pawl results query --held");
  app->add_option("--from", query_flags->from, "Server (http…), folder with a dump or saved answers, or store; default: the store");
  app->add_option("--route", query_flags->route, "Which route of the API")
      ->check(CLI::IsMember({"benchmarks", "evaluations", "availability", "workflow-info", "reliability", "submissions", "latest-images"}))
      ->capture_default_str();
  app->add_option("--model", query_flags->model, "Display name of the model");
  app->add_option("--date", query_flags->date, "As of this day");
  app->add_flag("--exact", query_flags->exact, "Only that day");
  app->add_option("--hardware", query_flags->hardware, "Only this hardware");
  app->add_option("--framework", query_flags->framework, "Only this framework");
  app->add_option("--precision", query_flags->precision, "Only this precision");
  app->add_flag("--held", query_flags->held, "Rows that are held back because their units look wrong");
  query_flags->store.add_to(*app);
  app->callback([&cli, query_flags] { cli.selected = [query_flags](World& w, const CommonFlags& c) { return query(w, c, *query_flags); }; });

  const auto export_flags = std::make_shared<ExportFlags>();
  app = cli.command(*group, "export", "Every row of the store as CSV, or the whole of it as a dump of JSON tables",
                    "  pawl results export > rows.csv\n  pawl results export --format json --out dump/");
  app->add_option("--format", export_flags->form, "csv, or json: the tables of a dump")->check(CLI::IsMember({"csv", "json"}))->capture_default_str();
  app->add_option("--out", export_flags->out, "File (csv; default standard output) or folder (json)");
  export_flags->store.add_to(*app);
  app->callback([&cli, export_flags] { cli.selected = [export_flags](World& w, const CommonFlags& c) { return export_rows(w, c, *export_flags); }; });

  const auto diff_flags = std::make_shared<DiffFlags>();
  app = cli.command(*group, "diff", "How two answers of the API differ; exit status 1 when the right one lacks something",
                    "  pawl results diff benchmarks.json http://127.0.0.1:8080 --query '/api/v1/benchmarks?model=DeepSeek-R1-0528'\n"
                    "  pawl results diff dump/ - --query '/api/v1/evaluations'            - is the store");
  app->add_option("left", diff_flags->left, "Saved answer (.json, .json.gz), server, folder, store, or -")->required();
  app->add_option("right", diff_flags->right, "The same")->required();
  app->add_option("--query", diff_flags->query, "What to ask of a source");
  diff_flags->store.add_to(*app);
  app->callback([&cli, diff_flags] { cli.selected = [diff_flags](World& w, const CommonFlags& c) { return diff(w, c, *diff_flags); }; });

  const auto purge_flags = std::make_shared<RulingFlags>();
  app = cli.command(*group, "purge", "Take a run, or one attempt, out of every answer; its rows stay in the store",
                    "  pawl results purge 27485974465 --reason 'wrong recipe'\n  pawl results purge 27485974465 --undo");
  app->add_option("run", purge_flags->id, "Number of the run")->required();
  app->add_option("--attempt", purge_flags->attempt, "Only this attempt")->check(CLI::PositiveNumber);
  app->add_option("--reason", purge_flags->reason, "Why");
  app->add_flag("--undo", purge_flags->undo, "Take the purge back");
  purge_flags->store.add_to(*app);
  app->callback([&cli, purge_flags] { cli.selected = [purge_flags](World& w, const CommonFlags& c) { return purge(w, c, *purge_flags); }; });

  const auto accept_flags = std::make_shared<RulingFlags>();
  app = cli.command(*group, "accept", "Let a held row into the answers", "  pawl results accept 432218 --reason 'units checked with the owner'");
  app->add_option("id", accept_flags->id, "Id of the row (pawl results query --held)")->required()->check(CLI::PositiveNumber);
  app->add_option("--reason", accept_flags->reason, "Why")->required();
  accept_flags->store.add_to(*app);
  app->callback([&cli, accept_flags] { cli.selected = [accept_flags](World& w, const CommonFlags& c) { return accept(w, c, *accept_flags); }; });
}

}  // namespace pawl::app
