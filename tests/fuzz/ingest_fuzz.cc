// Artifacts of runs: whatever bytes they are, what comes out of the reader has identities, finite numbers, and JSON that can be read again. Input: "A" and an
// archive, else files of a run with 0xFF between them.
#include <cmath>
#include <string>

#include "codec/describe.h"
#include "fuzz_target.h"
#include "results/answer_import.h"
#include "results/ingest.h"

namespace pawl::fuzz {

const std::size_t kInputMax = 2048;

namespace {

using codec::Json;

const results::Vocabulary& vocabulary() {
  static const results::Vocabulary known = [] {
    auto models = results::ModelNames::parse("schema: pawl.models/1\nmodels:\n  - {key: dsr1, display: D}\n", "models");
    PAWL_FUZZ_CHECK(models.has_value());
    auto names = results::Vocabulary::parse(
        "schema: pawl.vocabulary/1\nhardware:\n  - {key: b200}\nframeworks:\n  - {key: sglang}\n  - {key: dynamo-trt, disagg-default: true}\nprecisions:\n  - "
        "{key: fp8}\nspec-methods: [none]\n",
        "vocabulary", std::move(*models));
    PAWL_FUZZ_CHECK(names.has_value());
    return std::move(*names);
  }();
  return known;
}

void numbers_are_finite(const Json& metrics) {
  PAWL_FUZZ_CHECK(metrics.is_object());
  for (const auto& [key, value] : metrics.items()) {
    PAWL_FUZZ_CHECK(value.is_string() || (value.is_number() && std::isfinite(value.get<double>())));
  }
  const std::string text = codec::write_json(metrics, codec::JsonForm::kCompactUtf8);
  PAWL_FUZZ_CHECK(codec::parse_json(text, "metrics").has_value());
}

void batch_is_sound(const results::RunBatch& batch) {
  for (const results::BenchmarkRecord& row : batch.rows) {
    PAWL_FUZZ_CHECK(row.conc > 0 && !row.deployment.model.empty() && !row.deployment.hardware.empty());
    PAWL_FUZZ_CHECK((row.benchmark_type == "agentic_traces") != row.isl.has_value());
    PAWL_FUZZ_CHECK(row.offload_mode == "on" || row.offload_mode == "off");
    numbers_are_finite(row.metrics);
    (void)results::row_key_of(row, 1);
  }
  for (const results::EvalRecord& eval : batch.evals) {
    PAWL_FUZZ_CHECK(!eval.task.empty());
    numbers_are_finite(eval.metrics);
  }
  for (const results::RunStatRecord& stat : batch.stats) PAWL_FUZZ_CHECK(stat.n_success >= 0 && stat.n_success <= stat.total);
}

}  // namespace

bool one_input(std::string_view input) {
  results::ArtifactSet set;
  constexpr std::uint64_t kOne = 1u << 20, kTotal = 4u << 20;
  if (input.starts_with('A')) {
    auto read = results::read_artifact_archive(input.substr(1), "input", {.entries = 64, .one = kOne, .total = kTotal});
    if (!read) {
      PAWL_FUZZ_CHECK(!read.error().message.empty());
      return false;
    }
    std::uint64_t bytes = 0;
    for (const auto& [path, content] : read->files) {
      PAWL_FUZZ_CHECK(path.find("..") == std::string::npos || path.find("/../") == std::string::npos);
      PAWL_FUZZ_CHECK(content.size() <= kOne);
      bytes += content.size();
    }
    PAWL_FUZZ_CHECK(bytes <= kTotal);
    set = std::move(*read);
  } else {
    const char* names[] = {
        "bmk_a_1k1k_x/r.json",   "eval_results_all/agg_eval_all.json", "run.json", "changelog-metadata/c.json", "run-stats/s.json", "eval_a/meta_env.json",
        "eval_a/results_1.json", "eval_a/samples_gsm8k_1.jsonl"};
    for (const char* name : names) {
      const auto cut = input.find('\xFF');
      set.files[name] = std::string(input.substr(0, cut));
      if (cut == std::string_view::npos) break;
      input.remove_prefix(cut + 1);
    }
    if (const auto json = codec::parse_json(set.files[names[0]], "answer")) {
      results::IngestCounts counts;
      results::ImportedAnswers answers;
      results::import_benchmarks(*json, false, answers, counts);
      results::import_evaluations(*json, answers, counts);
      results::import_workflow_info(*json, answers, counts);
      results::import_reliability(*json, answers, counts);
      for (const results::RunBatch& batch : answers.batches) {
        for (const results::BenchmarkRecord& row : batch.rows) PAWL_FUZZ_CHECK(row.conc > 0);
      }
    }
  }
  results::IngestCounts counts;
  const results::RunHints hints{.run = 1, .date = "2026-11-30"};
  const auto batch = results::batch_of_artifacts(set, hints, results::RowMapper(vocabulary()), counts);
  if (!batch) return false;
  batch_is_sound(*batch);
  (void)codec::to_json(counts);
  return !batch->rows.empty() || !batch->evals.empty();
}

}  // namespace pawl::fuzz
