#include "results/result_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "codec/describe.h"
#include "results/stored_columns.h"

namespace pawl::results {
namespace {

using codec::Json;

constexpr const char* kRowColumns = "b.id, b.config_id, b.benchmark_type, b.isl, b.osl, b.conc, b.offload_mode, b.image, b.recipe_fingerprint, b.error, b.held";

std::int32_t small(const store::Row& row, int column) {
  if (row.is_null(column)) return -1;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(row.whole(column), -1, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace

std::uint32_t ResultIndex::text(const std::string& text) {
  const auto [found, fresh] = text_index_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
  if (fresh) texts_.push_back(text);
  return found->second;
}

Status ResultIndex::refresh(store::Database& db) {
  std::int64_t now = 0;
  PAWL_TRY(db.query("SELECT value FROM results_meta WHERE key = 'generation'", {}, [&](const store::Row& row) {
    now = row.whole(0);
    return Status();
  }));
  if (now == generation_) return {};
  PAWL_TRY(read_configs(db));
  PAWL_TRY(read_runs(db));
  PAWL_TRY(read_stitched(db));
  generation_ = now;
  return {};
}

Status ResultIndex::read_configs(store::Database& db) {
  return db.query("SELECT id, deployment FROM results_config WHERE id > ?1 ORDER BY id", {newest_config_}, [&](const store::Row& row) -> Status {
    IndexedConfig config;
    config.id = row.whole(0);
    PAWL_ASSIGN(config.deployment, deployment_of_text(row.text(1)));
    // The table of names may have grown since the row was stored.
    config.deployment.model = names_->resolve(config.deployment.model, "").value_or(config.deployment.model);
    config.display = names_->display(config.deployment.model);
    const std::string json = codec::write_json(codec::to_json(config.deployment), codec::JsonForm::kCompactUtf8);
    config.members = json.substr(1, json.size() - 2);
    newest_config_ = config.id;
    config_by_id_[config.id] = static_cast<std::uint32_t>(configs_.size());
    configs_.push_back(std::move(config));
    return {};
  });
}

void ResultIndex::add_row(const store::Row& source, std::uint32_t run) {
  IndexedRow row;
  row.id = source.whole(0);
  row.config = config_by_id_.at(source.whole(1));
  row.agentic = source.text(2) == "agentic_traces";
  row.isl = small(source, 3), row.osl = small(source, 4), row.conc = small(source, 5);
  row.offload = source.text(6) == "on";
  row.image = text(source.text(7)), row.fingerprint = text(source.text(8));
  row.hidden = !source.text(9).empty() || !source.text(10).empty();
  row.run = run;
  const Deployment& d = configs_[row.config].deployment;
  // Agentic sweeps replace a curve with all its variants (rule 2).
  const std::string key = row.agentic ? fmt::format("a {} {} {} {}", d.model, d.hardware, d.framework, d.precision)
                                      : fmt::format("s {} {} {} {} {} {} {} {} {}", d.model, d.hardware, d.framework, d.precision, row.isl, row.osl,
                                                    d.spec_method, d.disagg, row.offload);
  const auto [found, fresh] = scope_by_key_.try_emplace(key, static_cast<std::uint32_t>(scopes_.size()));
  if (fresh) {
    scopes_.emplace_back();
    models_[configs_[row.config].display].push_back(found->second);
  }
  row.scope = found->second;
  std::uint32_t at = static_cast<std::uint32_t>(rows_.size());
  if (free_rows_.empty()) {
    rows_.push_back(row);
  } else {
    at = free_rows_.back();
    free_rows_.pop_back();
    rows_[at] = row;
  }
  row_by_id_[row.id] = at;
  runs_[run].rows.push_back(at);
  if (!row.hidden) scopes_[row.scope].runs[run].push_back(at);
  ++row_count_;
}

void ResultIndex::drop_rows(std::uint32_t run) {
  for (const std::uint32_t at : runs_[run].rows) {
    scopes_[rows_[at].scope].runs.erase(run);
    row_by_id_.erase(rows_[at].id);
    free_rows_.push_back(at);
    --row_count_;
  }
  runs_[run].rows.clear();
}

Status ResultIndex::read_runs(store::Database& db) {
  std::vector<std::uint32_t> changed;
  PAWL_TRY(db.query(fmt::format("SELECT {}, r.purged FROM results_attempt r WHERE r.generation > ?1", kRunColumns), {generation_}, [&](const store::Row& row) {
    RunRecord record = run_at(row, 0);
    const auto [found, fresh] = run_by_key_.try_emplace({record.run, record.attempt}, static_cast<std::uint32_t>(runs_.size()));
    if (fresh) runs_.emplace_back();
    IndexedRun& run = runs_[found->second];
    run.record = std::move(record);
    run.purged = !row.text(kRunColumnCount).empty();
    changed.push_back(found->second);
    return Status();
  }));
  for (const std::uint32_t run : changed) drop_rows(run);
  constexpr std::size_t kManyRuns = 64;
  if (generation_ < 0 || changed.size() > kManyRuns) {
    const std::set<std::uint32_t> wanted(changed.begin(), changed.end());
    // A piece at a time: the whole of a large store would stand in memory twice.
    constexpr std::int64_t kPiece = 50'000;
    const std::string sql = fmt::format("SELECT {}, b.run, b.attempt FROM results_benchmark b WHERE b.id > ?1 ORDER BY b.id LIMIT ?2", kRowColumns);
    for (std::int64_t last = 0, got = kPiece; got == kPiece;) {
      got = 0;
      PAWL_TRY(db.query(sql, {last, kPiece}, [&](const store::Row& row) {
        ++got;
        last = row.whole(0);
        const std::uint32_t run = run_by_key_.at({row.whole(11), row.whole(12)});
        if (wanted.contains(run)) add_row(row, run);
        return Status();
      }));
    }
  } else {
    for (const std::uint32_t run : changed) {
      PAWL_TRY(db.query(fmt::format("SELECT {} FROM results_benchmark b WHERE b.run = ?1 AND b.attempt = ?2", kRowColumns),
                        {runs_[run].record.run, runs_[run].record.attempt}, [&](const store::Row& row) {
                          add_row(row, run);
                          return Status();
                        }));
    }
  }
  std::map<std::int64_t, std::uint32_t> newest;
  for (const auto& [key, run] : run_by_key_) {
    runs_[run].newest = false;
    if (!runs_[run].purged) newest[key.first] = run;  // keys are in order of attempts
  }
  for (const auto& [number, run] : newest) runs_[run].newest = true;
  return {};
}

Status ResultIndex::read_stitched(store::Database& db) {
  for (IndexedRun& run : runs_) run.stitched.clear();
  return db.query("SELECT run, attempt, row_id FROM results_curve_row", {}, [&](const store::Row& row) {
    const auto run = run_by_key_.find({row.whole(0), row.whole(1)});
    const auto at = row_by_id_.find(row.whole(2));
    if (run != run_by_key_.end() && at != row_by_id_.end()) runs_[run->second].stitched.push_back(at->second);
    return Status();
  });
}

std::vector<std::uint32_t> ResultIndex::ranked(const Scope& scope, const Selection& s) const {
  std::string started;
  if (s.run && !s.exact_run && s.date && !s.exact) {
    // An unknown run limits nothing.
    for (const IndexedRun& run : runs_) {
      if (run.record.run == *s.run && visible(run)) started = run.record.started_at;
    }
  }
  std::vector<std::uint32_t> found;
  for (const auto& [index, rows] : scope.runs) {
    const IndexedRun& run = runs_[index];
    if (!visible(run)) continue;
    if (s.date && (s.exact ? run.record.date != *s.date : run.record.date > *s.date)) continue;
    if (!started.empty() && !run.record.started_at.empty() && run.record.started_at > started) continue;
    found.push_back(index);
  }
  const auto newness = [&](std::uint32_t index) {
    const RunRecord& r = runs_[index].record;
    return std::tuple(std::string_view(r.date), !r.started_at.empty(), std::string_view(r.started_at), r.run);
  };
  std::ranges::sort(found, [&](std::uint32_t a, std::uint32_t b) { return newness(a) > newness(b); });
  if (s.exact_run && s.run) {
    const auto at = std::ranges::find_if(found, [&](std::uint32_t index) { return runs_[index].record.run == *s.run; });
    found.erase(found.begin(), at);
  }
  return found;
}

bool ResultIndex::one_image(const std::vector<std::uint32_t>& rows, std::uint32_t& image) const {
  image = rows_[rows.front()].image;
  return image != 0 && std::ranges::all_of(rows, [&](std::uint32_t at) { return rows_[at].image == image; });
}

void ResultIndex::snapshot_of(const Scope& scope, std::uint32_t scope_index, const std::vector<std::uint32_t>& ranked, std::size_t from, bool stitched,
                              std::vector<Selected>& out) const {
  if (from >= ranked.size()) return;
  const IndexedRun& curve = runs_[ranked[from]];
  const std::size_t begin = out.size();
  const auto add = [&](std::uint32_t at) { out.push_back({&rows_[at], &runs_[rows_[at].run], &curve}); };
  for (const std::uint32_t at : scope.runs.at(ranked[from])) add(at);
  std::uint32_t first_image = 0;
  const bool chain = one_image(scope.runs.at(ranked[from]), first_image);
  for (std::size_t k = from; chain && k + 1 < ranked.size() && runs_[ranked[k]].record.append_only; ++k) {
    const std::vector<std::uint32_t>& next = scope.runs.at(ranked[k + 1]);
    std::uint32_t image = 0;
    if (!one_image(next, image) || image != first_image) break;
    for (const std::uint32_t at : next) {
      const IndexedRow& row = rows_[at];
      const bool measured_again = std::any_of(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), [&](const Selected& s) {
        return s.row->config == row.config && s.row->isl == row.isl && s.row->osl == row.osl && s.row->offload == row.offload &&
               s.row->fingerprint == row.fingerprint && s.row->conc == row.conc;
      });
      if (!measured_again) add(at);
    }
  }
  if (!stitched) return;
  for (const std::uint32_t at : curve.stitched) {
    if (rows_[at].scope == scope_index && visible(runs_[rows_[at].run]) && !rows_[at].hidden) add(at);
  }
}

std::vector<Selected> ResultIndex::benchmarks(const Selection& selection) const {
  std::vector<Selected> out;
  const auto scopes = models_.find(selection.display);
  if (scopes == models_.end()) return out;
  for (const std::uint32_t index : scopes->second) {
    const Scope& scope = scopes_[index];
    // A day told exactly asks for what was measured on it; stitched curves are of several days.
    const bool stitched = !selection.exact && !selection.exact_run;
    std::vector<std::uint32_t> runs = ranked(scope, selection);
    if (selection.exact_run && (runs.empty() || runs_[runs.front()].record.run != selection.run)) continue;
    snapshot_of(scope, index, runs, 0, stitched, out);
  }
  std::ranges::sort(out, [&](const Selected& a, const Selected& b) {
    const auto order = [&](const Selected& s) { return std::tuple(configs_[s.row->config].id, s.row->conc, s.row->isl, s.row->osl, s.row->id); };
    return order(a) < order(b);
  });
  return out;
}

std::vector<Selected> ResultIndex::history(const std::string& display, std::int32_t isl, std::int32_t osl) const {
  std::vector<Selected> out;
  const auto scopes = models_.find(display);
  if (scopes == models_.end()) return out;
  for (const std::uint32_t index : scopes->second) {
    const Scope& scope = scopes_[index];
    const std::vector<std::uint32_t> runs = ranked(scope, {});
    if (runs.empty()) continue;
    const IndexedRow& any = rows_[scope.runs.at(runs.front()).front()];
    if (any.agentic != (isl < 0) || (isl >= 0 && (any.isl != isl || any.osl != osl))) continue;
    for (std::size_t from = 0; from < runs.size(); ++from) snapshot_of(scope, index, runs, from, false, out);
  }
  std::ranges::sort(out, [&](const Selected& a, const Selected& b) {
    const auto order = [&](const Selected& s) {
      return std::tuple(std::string_view(s.curve->record.date), configs_[s.row->config].id, s.row->conc, s.curve->record.run, s.row->id);
    };
    return order(a) < order(b);
  });
  return out;
}

std::vector<Selected> ResultIndex::rows_of(const IndexedRun& run) const {
  std::vector<Selected> out;
  if (!visible(run)) return out;
  for (const std::uint32_t at : run.rows) {
    if (!rows_[at].hidden) out.push_back({&rows_[at], &run, &run});
  }
  return out;
}

std::vector<Selected> ResultIndex::everything() const {
  std::vector<Selected> out;
  for (const IndexedRun& run : runs_) {
    const std::vector<Selected> rows = rows_of(run);
    out.insert(out.end(), rows.begin(), rows.end());
  }
  return out;
}

std::optional<Selected> ResultIndex::find(std::int64_t id) const {
  const auto at = row_by_id_.find(id);
  if (at == row_by_id_.end()) return std::nullopt;
  const IndexedRow& row = rows_[at->second];
  if (row.hidden || !visible(runs_[row.run])) return std::nullopt;
  return Selected{&row, &runs_[row.run], &runs_[row.run]};
}

std::vector<std::string> ResultIndex::displays() const {
  std::vector<std::string> out;
  for (const auto& [display, scopes] : models_) out.push_back(display);
  return out;
}

const IndexedConfig* ResultIndex::config_by_id(std::int64_t id) const {
  const auto found = config_by_id_.find(id);
  return found == config_by_id_.end() ? nullptr : &configs_[found->second];
}

}  // namespace pawl::results
