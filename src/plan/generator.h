#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "plan/catalogue.h"

namespace pawl::plan {

/// Which scenarios are generated. In the contract's words `fixed-seq-len` and `agentic-coding`.
struct Scenarios {
  bool fixed = true;
  bool agentic = true;
};

/// What both forms of the generator take (recipes-matrix-changelog 6).
struct GeneratorOptions {
  bool no_evals = false;    ///< mark nothing; excludes the two others
  bool evals_only = false;  ///< the marked rows alone
  bool all_evals = false;   ///< every row of the eval sequence, concurrencies merged (9.3)
  Scenarios scenarios;
  std::optional<std::string> runner_node_filter;      ///< one row a node whose name holds this text (7.5)
  std::vector<std::string> seq_lens;                  ///< `1k1k`, `8k1k`; empty: all
  std::optional<std::int64_t> agentic_min_eval_conc;  ///< instead of the generation's; 0: none
  /// Search-space entries whose rows are kept between choosing the evals and giving the rows out; of later ones the rows are made again. Changes memory
  /// and time, never the rows.
  std::size_t entries_kept = 20'000;
};

/// `full-sweep`: every config that passes the filters, in file order. Empty lists filter nothing.
struct FullSweep : GeneratorOptions {
  std::vector<std::string> model_prefixes;  ///< beginnings of the config key
  std::vector<std::string> precisions, frameworks, runner_types;
  std::int64_t step_size = 2;
  std::optional<std::int64_t> min_conc, max_conc, max_tp, max_ep;
  bool single_node = false, multi_node = false;  ///< neither: both
};

/// `test-config`: the configs that the keys and patterns name, in their order.
struct TestConfig : GeneratorOptions {
  std::vector<std::string> config_keys;
  std::vector<std::int64_t> conc;  ///< keep only these; empty: all
};

/// Where a row comes from. Pointers reach into the catalogue.
struct RowOrigin {
  const Recipe* recipe = nullptr;
  const codec::YamlNode* entry = nullptr;  ///< its search-space entry; of a merged row the first one
};

/// Rows with their origins, index by index. Rows are in the contract's order and key order (8); `row["…"]` values are
/// the raw YAML values (3, raw echo rule).
struct Matrix {
  std::vector<codec::Json> rows;
  std::vector<RowOrigin> origins;
};

/// Receives the rows one after the other, in order. The row is lent for the call. An error ends the generation.
using RowSink = std::function<Status(const codec::Json& row, const RowOrigin& origin)>;

/// Usage errors (exit kUsage) in the contract's order; both forms below begin with it.
[[nodiscard]] Status check_options(const FullSweep& options);
[[nodiscard]] Status check_options(const TestConfig& options);

/// The generator. Validates the whole catalogue first (schema.h), as the reference does; the error is the first
/// violation and its message holds the contract's anchor. Usage errors (exit kUsage) before everything else. Pure: the same
/// catalogue and options give the same rows.
[[nodiscard]] Result<Matrix> full_sweep(const Catalogue& catalogue, const FullSweep& options);
[[nodiscard]] Result<Matrix> test_config(const Catalogue& catalogue, const TestConfig& options);
/// The same, row by row: memory does not grow with the rows. Every error of the catalogue comes before the first row.
[[nodiscard]] Status full_sweep(const Catalogue& catalogue, const FullSweep& options, const RowSink& sink);
[[nodiscard]] Status test_config(const Catalogue& catalogue, const TestConfig& options, const RowSink& sink);

/// The same for recipes already chosen; for callers that make many calls on one catalogue: validates nothing beyond what
/// expansion itself needs. Call `validate` (schema.h) once before.
[[nodiscard]] Result<Matrix> test_config_rows(const Catalogue& catalogue, const std::vector<const Recipe*>& recipes, const TestConfig& options);

/// The recipes that these keys and glob patterns name (6.1): first-seen order, no duplicates. kNotFound with the anchors
/// `matched no config keys` and `Config key(s) not found`.
[[nodiscard]] Result<std::vector<const Recipe*>> resolve_keys(const Catalogue& catalogue, const std::vector<std::string>& keys);

/// `1k1k`, `8k1k`, otherwise `<isl>_<osl>` (7.6).
[[nodiscard]] std::string sequence_name(std::int64_t isl, std::int64_t osl);

/// `--trim-conc` (12.6): rows with `prefill` keep their lowest concurrency; of the others the lowest of every group, with
/// `agentic_multi` also of multi-node agentic rows (generations from 2026-09a on).
[[nodiscard]] Matrix trim_concurrencies(Matrix matrix, bool agentic_multi = false);

/// The text that the reference prints: PY-SPACED, with its line end.
[[nodiscard]] std::string matrix_text(const std::vector<codec::Json>& rows);
/// The same in pieces, for rows that come one by one: what stands before a row (`first`: before the first), and at the end (`empty`: there was none).
[[nodiscard]] std::string_view matrix_text_before(bool first);
[[nodiscard]] std::string_view matrix_text_end(bool empty);

}  // namespace pawl::plan
