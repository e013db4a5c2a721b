#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "results/model_names.h"
#include "results/records.h"
#include "store/database.h"

namespace pawl::results {

/// A deployment, and what answers repeat of it.
struct IndexedConfig {
  std::int64_t id = 0;
  Deployment deployment;  ///< `model` is the raw key of the name table
  std::string display;    ///< the model's display name
  std::string members;    ///< the 17 members as JSON text, without braces
};

/// A benchmark row without its measurements: what selection needs.
struct IndexedRow {
  std::int64_t id = 0;
  std::uint32_t config = 0, run = 0, scope = 0, image = 0, fingerprint = 0;  ///< indexes; image 0 and fingerprint 0: none
  std::int32_t isl = -1, osl = -1, conc = 0;                                 ///< lengths −1: none
  bool agentic = false, offload = false, hidden = false;                     ///< hidden: failed, or held (api-dashboard 2.5.5)
};

struct IndexedRun {
  RunRecord record;
  bool purged = false;
  bool newest = false;                  ///< of its run number; older attempts are invisible
  std::vector<std::uint32_t> rows;      ///< all of the attempt
  std::vector<std::uint32_t> stitched;  ///< rows of other runs that a published curve of this run held (imports)
};

/// A row of an answer: the run that measured it, and the run whose curve it stands in.
struct Selected {
  const IndexedRow* row = nullptr;
  const IndexedRun* producer = nullptr;
  const IndexedRun* curve = nullptr;
};

/// What an answer selects. Of each run only the newest attempt exists for it.
struct Selection {
  std::string display;              ///< of the model
  std::optional<std::string> date;  ///< as-of day
  bool exact = false;               ///< only this day
  std::optional<std::int64_t> run;  ///< as of this run's start; with `exact_run` its own curves
  bool exact_run = false;
};

/// Every benchmark row of a store, small enough to stay in memory (about 100 bytes a row), with the rules of
/// api-dashboard 2.2: what is the newest snapshot of each curve, as of a day or a run. Reading is const and thread-safe;
/// `refresh` needs the index for itself.
class ResultIndex {
 public:
  /// `names` is not copied.
  explicit ResultIndex(const ModelNames& names) : names_(&names) {}

  /// Brings the index to the state of the store; call it inside `Database::snapshot`. Reads only runs that changed.
  Status refresh(store::Database& db);
  /// Of the store when it was read; −1 before.
  [[nodiscard]] std::int64_t generation() const { return generation_; }

  /// The snapshot of every curve (rules 1 to 5), ordered by config, concurrency, lengths.
  [[nodiscard]] std::vector<Selected> benchmarks(const Selection& selection) const;
  /// Every snapshot of every curve with these lengths (−1: agentic traces), ordered by date, config, concurrency (rule 6).
  [[nodiscard]] std::vector<Selected> history(const std::string& display, std::int32_t isl, std::int32_t osl) const;
  /// Every visible row of the newest attempts, unordered.
  [[nodiscard]] std::vector<Selected> everything() const;
  /// Rows of one run that an answer may show.
  [[nodiscard]] std::vector<Selected> rows_of(const IndexedRun& run) const;
  /// The row with this id, when an answer may show it.
  [[nodiscard]] std::optional<Selected> find(std::int64_t id) const;

  /// Whether any row's model has this display name.
  [[nodiscard]] bool has_display(const std::string& display) const { return models_.contains(display); }
  [[nodiscard]] std::vector<std::string> displays() const;
  [[nodiscard]] const IndexedConfig& config(const IndexedRow& row) const { return configs_[row.config]; }
  [[nodiscard]] const IndexedConfig* config_by_id(std::int64_t id) const;
  [[nodiscard]] const std::string& image(const IndexedRow& row) const { return texts_[row.image]; }
  [[nodiscard]] const std::string& fingerprint(const IndexedRow& row) const { return texts_[row.fingerprint]; }
  [[nodiscard]] const std::vector<IndexedRun>& runs() const { return runs_; }
  [[nodiscard]] std::size_t row_count() const { return row_count_; }

 private:
  struct Scope {
    std::map<std::uint32_t, std::vector<std::uint32_t>> runs;  ///< rows of each run
  };

  Status read_configs(store::Database& db);
  Status read_runs(store::Database& db);
  Status read_stitched(store::Database& db);
  void add_row(const store::Row& row, std::uint32_t run);
  void drop_rows(std::uint32_t run);
  std::uint32_t text(const std::string& text);
  /// Runs of the scope that a selection sees, newest first.
  [[nodiscard]] std::vector<std::uint32_t> ranked(const Scope& scope, const Selection& selection) const;
  [[nodiscard]] bool one_image(const std::vector<std::uint32_t>& rows, std::uint32_t& image) const;
  void snapshot_of(const Scope& scope, std::uint32_t scope_index, const std::vector<std::uint32_t>& ranked, std::size_t from, bool stitched,
                   std::vector<Selected>& out) const;
  [[nodiscard]] bool visible(const IndexedRun& run) const { return run.newest && !run.purged; }

  const ModelNames* names_;
  std::int64_t generation_ = -1, newest_config_ = 0;
  std::size_t row_count_ = 0;
  std::vector<IndexedConfig> configs_;
  std::unordered_map<std::int64_t, std::uint32_t> config_by_id_;
  std::vector<std::string> texts_{""};
  std::unordered_map<std::string, std::uint32_t> text_index_{{"", 0}};
  std::vector<IndexedRow> rows_;
  std::vector<std::uint32_t> free_rows_;
  std::unordered_map<std::int64_t, std::uint32_t> row_by_id_;
  std::vector<IndexedRun> runs_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> run_by_key_;
  std::vector<Scope> scopes_;
  std::unordered_map<std::string, std::uint32_t> scope_by_key_;
  std::map<std::string, std::vector<std::uint32_t>> models_;  ///< scopes by display name
};

}  // namespace pawl::results
