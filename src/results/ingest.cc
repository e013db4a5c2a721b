#include "results/ingest.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "codec/describe.h"
#include "results/result_store.h"

namespace pawl::results {
namespace {

using codec::Json;

/// Bytes of one log that are kept; the beginning and the end say most.
constexpr std::size_t kLogMax = 16u << 20;

std::string artifact_of(const std::string& path) { return path.substr(0, path.find('/')); }
std::string inside(const std::string& path) {
  const auto slash = path.find('/');
  return slash == std::string::npos ? std::string() : path.substr(slash + 1);
}
std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::optional<std::int64_t> whole_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  if (found->is_number_integer()) return found->get<std::int64_t>();
  return found->is_string() ? parse_int(found->get_ref<const std::string&>()) : std::nullopt;
}

/// Bytes that are no UTF-8, and NUL, become U+FFFD: neither a JSON answer nor PostgreSQL can hold them.
std::string clean_text(std::string text) {
  if (text.size() > kLogMax) {
    const std::size_t left_out = text.size() - kLogMax;
    text = text.substr(0, kLogMax / 2) + fmt::format("\n[… {} bytes left out …]\n", left_out) + text.substr(text.size() - kLogMax / 2);
  }
  if (is_utf8(text) && text.find('\0') == std::string::npos) return text;
  std::string out;
  out.reserve(text.size() + 16);
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
    if (length > 0 && lead != 0 && i + length <= text.size() && is_utf8(std::string_view(text).substr(i, length))) {
      out.append(text, i, length);
      i += length;
    } else {
      out += "\xEF\xBF\xBD";
      ++i;
    }
  }
  return out;
}

class Reader {
 public:
  Reader(const ArtifactSet& set, const RowMapper& mapper, IngestCounts& counts) : set_(set), mapper_(mapper), counts_(counts) {}

  Result<RunBatch> read(const RunHints& hints) {
    for (const std::string& broken : set_.broken) {
      ++counts_.skipped["badZip"];
      note(counts_, broken);
    }
    for (const std::string& text : set_.notes) note(counts_, text);
    merged_first_ = hints.merged_first;
    flatten_reused();
    read_run();
    apply(hints);
    if (batch_.run.run <= 0) {
      return bad_input("nothing in the artifacts says which run they are of",
                       "--run N says it, or a run.json beside them (the run as the forge's API tells it)");
    }
    read_changelog();
    if (!evals_only_) {
      read_benchmarks();
      read_stats();
    }
    read_evals();
    if (batch_.run.date.empty()) batch_.run.date = batch_.run.measured_at.substr(0, std::min<std::size_t>(batch_.run.measured_at.size(), 10));
    if (!is_day(batch_.run.date)) return bad_input("nothing in the artifacts says of which day the run is", "--date YYYY-MM-DD says it");
    read_logs();
    counts_.runs = 1;
    counts_.rows = static_cast<std::int64_t>(batch_.rows.size());
    counts_.evals = static_cast<std::int64_t>(batch_.evals.size());
    counts_.changelog = static_cast<std::int64_t>(batch_.changelog.size());
    counts_.stats = static_cast<std::int64_t>(batch_.stats.size());
    return std::move(batch_);
  }

 private:
  std::optional<Json> json_of(const std::string& path, const std::string& bytes) {
    ++counts_.files;
    auto parsed = parse_artifact_json(bytes, path);
    if (parsed) return std::move(*parsed);
    ++counts_.skipped["badZip"];
    note(counts_, parsed.error().message);
    return std::nullopt;
  }

  /// Files of a reused sweep's bundle stand beside the fresh ones; the fresh ones win.
  void flatten_reused() {
    constexpr std::string_view kBundle = "reused-ingest-artifacts/";
    for (const auto& [path, bytes] : set_.files) {
      if (!path.starts_with(kBundle)) files_[path] = &bytes;
    }
    for (const auto& [path, bytes] : set_.files) {
      if (path.starts_with(kBundle)) files_.try_emplace(path.substr(kBundle.size()), &bytes);
    }
    for (const auto& [path, bytes] : files_) artifacts_.insert(artifact_of(path));
  }

  const std::string* find_file(const std::string& path) const {
    const auto found = files_.find(path);
    return found == files_.end() ? nullptr : found->second;
  }

  /// What a run of ours says of itself.
  const std::string* manifest() const {
    const std::string* now = find_file("sweep-manifest/sweep_manifest.json");
    return now != nullptr ? now : find_file("manifest.json");
  }

  void read_run() {
    RunRecord& run = batch_.run;
    run.status = "completed", run.conclusion = "success";
    if (const std::string* bytes = find_file("run.json")) {
      if (const auto json = json_of("run.json", *bytes); json && json->is_object()) {
        run.run = whole_of(*json, "id").value_or(0);
        run.attempt = whole_of(*json, "run_attempt").value_or(1);
        run.name = !text_of(*json, "display_title").empty() ? text_of(*json, "display_title") : text_of(*json, "name");
        run.status = text_of(*json, "status"), run.conclusion = text_of(*json, "conclusion");
        run.head_sha = text_of(*json, "head_sha"), run.head_branch = text_of(*json, "head_branch"), run.html_url = text_of(*json, "html_url");
        run.created_at = text_of(*json, "created_at"), run.started_at = text_of(*json, "run_started_at");
        run.date = run.created_at.substr(0, std::min<std::size_t>(run.created_at.size(), 10));
      }
    }
    if (const std::string* bytes = manifest()) {
      if (const auto json = json_of("manifest.json", *bytes); json && json->is_object() && text_of(*json, "schema") == "pawl.sweep-manifest/1") {
        run.run = whole_of(*json, "run").value_or(0);
        run.attempt = whole_of(*json, "attempt").value_or(1);
        run.name = run.recipe = text_of(*json, "recipe");
        run.head_sha = text_of(*json, "head"), run.scale = text_of(*json, "scale");
        run.conclusion = text_of(*json, "state") == "succeeded" || text_of(*json, "state") == "success" ? "success" : "failure";
        run.html_url = fmt::format("pawl:run/{}", run.run);
      }
    }
    const std::string* reused = find_file("reused-ingest-metadata/reuse_source_run.json");
    if (reused == nullptr) return;
    const auto json = json_of("reuse_source_run.json", *reused);
    if (!json || !json->is_object() || !whole_of(*json, "source_run_id")) return;
    // Rows belong to the attempt that measured them; the days stay those of the run that published them.
    run.run = *whole_of(*json, "source_run_id");
    run.attempt = whole_of(*json, "source_run_attempt").value_or(1);
    run.html_url = text_of(*json, "source_run_url");
    if (const std::string head = text_of(*json, "source_head_sha"); !head.empty()) run.head_sha = head;
    note(counts_, fmt::format("reused: rows of run {} attempt {} are published by run {}", run.run, run.attempt, whole_of(*json, "ingest_run_id").value_or(0)));
  }

  void apply(const RunHints& h) {
    RunRecord& run = batch_.run;
    if (h.run > 0) run.run = h.run;
    if (h.attempt > 0) run.attempt = h.attempt;
    for (const auto& [said, into] : {std::pair(&h.name, &run.name),
                                     {&h.conclusion, &run.conclusion},
                                     {&h.html_url, &run.html_url},
                                     {&h.head_sha, &run.head_sha},
                                     {&h.created_at, &run.created_at},
                                     {&h.started_at, &run.started_at},
                                     {&h.recipe, &run.recipe}}) {
      if (!said->empty()) *into = *said;
    }
    if (run.date.empty() && run.created_at.size() >= 10) run.date = run.created_at.substr(0, 10);
    if (!h.date.empty()) run.date = h.date;
  }

  void read_changelog() {
    for (const auto& [path, bytes] : files_) {
      if (artifact_of(path) != "changelog-metadata" || !path.ends_with(".json")) continue;
      const auto json = json_of(path, *bytes);
      if (!json || !json->is_object() || !json->contains("entries") || !(*json)["entries"].is_array()) continue;
      ChangelogRecord record;
      record.base_ref = text_of(*json, "base_ref"), record.head_ref = text_of(*json, "head_ref");
      bool all_append = true, all_evals = true;
      const auto flag = [](const Json& entry, const char* key) { return entry.contains(key) && entry[key].is_boolean() && entry[key].get<bool>(); };
      for (const Json& entry : (*json)["entries"]) {
        if (!entry.is_object()) continue;
        all_append = all_append && flag(entry, "append-only");
        all_evals = all_evals && flag(entry, "evals-only");
        if (entry.contains("config-keys") && entry["config-keys"].is_array()) {
          for (const Json& key : entry["config-keys"]) {
            if (key.is_string()) record.config_keys.push_back(key.get<std::string>());
          }
        }
        std::string description = text_of(entry, "description");
        if (entry.contains("description") && entry["description"].is_array()) {
          for (const Json& line : entry["description"]) {
            if (line.is_string()) description += (description.empty() ? "" : "\n") + line.get<std::string>();
          }
        }
        if (record.pr_link.empty()) record.pr_link = text_of(entry, "pr-link");
        if (const auto at = description.find("PR: https://"); record.pr_link.empty() && at != std::string::npos) {
          record.pr_link = description.substr(at + 4, description.find_first_of(" \n", at + 4) - at - 4);
        }
        record.description += (record.description.empty() ? "" : "\n") + description;
      }
      if (record.config_keys.empty()) continue;
      record.append_only = batch_.run.append_only = all_append;
      evals_only_ = all_evals;
      batch_.changelog.push_back(std::move(record));
    }
  }

  /// Artifacts that begin so. Of those that one job uploaded several times (its retries) the newest, where a listing says
  /// which that is, else the one with measurements.
  std::vector<std::string> newest_artifacts(std::string_view begin) {
    std::map<std::string, std::vector<std::string>> by_name;
    for (const std::string& artifact : artifacts_) {
      if (artifact.starts_with(begin)) by_name[logical_name(artifact)].push_back(artifact);
    }
    std::map<std::string, std::string> uploaded;
    if (const std::string* listing = find_file("artifacts.json")) {
      const auto json = json_of("artifacts.json", *listing);
      if (json && json->is_object() && json->contains("artifacts") && (*json)["artifacts"].is_array()) {
        for (const Json& item : (*json)["artifacts"]) {
          if (item.is_object()) uploaded[text_of(item, "name")] = text_of(item, "created_at");
        }
      }
    }
    std::vector<std::string> out;
    for (auto& [logical, names] : by_name) {
      const std::string* best = &names.front();
      for (const std::string& name : names) {
        if (std::pair(uploaded[name], measured(name)) > std::pair(uploaded[*best], measured(*best))) best = &name;
      }
      if (names.size() > 1) {
        counts_.skipped["olderUpload"] += static_cast<std::int64_t>(names.size()) - 1;
        note(counts_, fmt::format("{} was uploaded {} times; {} is taken", logical, names.size(), *best));
      }
      out.push_back(*best);
    }
    return out;
  }

  bool measured(const std::string& artifact) const {
    for (auto at = files_.lower_bound(artifact + "/"); at != files_.end() && at->first.starts_with(artifact + "/"); ++at) {
      if (at->second->find("\"tput_per_gpu\"") != std::string::npos || at->second->find("\"per_gpu\"") != std::string::npos) return true;
    }
    return false;
  }

  void read_benchmarks() {
    // Single jobs tell which log is whose; the merged file is what a run of ours and an overlay have.
    std::vector<std::string> artifacts = newest_artifacts(merged_first_ ? "results_" : "bmk_");
    if (artifacts.empty()) artifacts = newest_artifacts(merged_first_ ? "bmk_" : "results_");
    for (const std::string& artifact : artifacts) {
      for (auto at = files_.lower_bound(artifact + "/"); at != files_.end() && at->first.starts_with(artifact + "/"); ++at) {
        if (!at->first.ends_with(".json")) continue;
        const auto json = json_of(at->first, *at->second);
        if (!json) continue;
        if (!json->is_array()) {
          add_row(*json, artifact);
          continue;
        }
        for (const Json& row : *json) add_row(row, artifact);
      }
    }
  }

  void add_row(const Json& row, const std::string& artifact) {
    auto record = mapper_.benchmark(row, artifact, counts_);
    if (!record) return;
    if (artifact.starts_with("bmk_")) record->log = artifact.substr(artifact.starts_with("bmk_agentic_") ? 12 : 4);
    RunRecord& run = batch_.run;
    if (!record->measured_at.empty() && (run.measured_at.empty() || record->measured_at < run.measured_at)) run.measured_at = record->measured_at;
    if (!record->raw.is_null()) {
      if (run.image.empty()) run.image = record->image;
      const Json& ours = record->raw["pawl"];
      if (ours.contains("simulated") && ours["simulated"].is_boolean()) run.simulated = ours["simulated"].get<bool>();
      if (run.scale == "1/1" && !text_of(ours, "scale").empty()) run.scale = text_of(ours, "scale");
    }
    batch_.rows.push_back(std::move(*record));
  }

  void read_stats() {
    for (const auto& [path, bytes] : files_) {
      if (artifact_of(path) != "run-stats" || !path.ends_with(".json")) continue;
      const auto json = json_of(path, *bytes);
      if (!json || !json->is_object()) continue;
      std::map<std::string, RunStatRecord> by_hardware;
      for (const auto& [key, value] : json->items()) {
        const auto good = value.is_object() ? whole_of(value, "n_success") : std::nullopt, all = value.is_object() ? whole_of(value, "total") : std::nullopt;
        const std::string hardware = hardware_word(key);
        if (!good || !all || *good < 0 || *all < *good || hardware.empty()) {
          ++counts_.skipped["badRunStat"];
          continue;
        }
        RunStatRecord& stat = by_hardware[hardware];
        stat.hardware = hardware, stat.n_success += *good, stat.total += *all;
      }
      for (auto& [hardware, stat] : by_hardware) batch_.stats.push_back(stat);
    }
  }

  void read_evals() {
    for (const auto& [path, bytes] : files_) {
      if (artifact_of(path) != "eval_results_all" || !path.ends_with(".json")) continue;
      const auto json = json_of(path, *bytes);
      if (!json || !json->is_array()) continue;
      for (const Json& row : *json) {
        if (auto record = mapper_.evaluation(row, counts_)) batch_.evals.push_back(std::move(*record));
      }
    }
    const bool merged = !batch_.evals.empty();
    for (const auto& [path, bytes] : files_) {
      if (!path.starts_with("eval_") || path.starts_with("eval_results_all/") || file_name(path) != "meta_env.json") continue;
      const auto meta = json_of(path, *bytes);
      if (meta && meta->is_object()) read_eval_folder(path.substr(0, path.size() - std::string_view("meta_env.json").size()), *meta, merged);
    }
  }

  /// One job's eval: its rows where no merged file told them, and the samples.
  void read_eval_folder(const std::string& folder, const Json& meta, bool merged) {
    const std::string *newest = nullptr, *newest_path = nullptr;
    for (auto at = files_.lower_bound(folder); at != files_.end() && at->first.starts_with(folder); ++at) {
      // Names end in the time of the run: the last one is the newest.
      if (file_name(at->first).starts_with("results") && at->first.ends_with(".json")) newest = at->second, newest_path = &at->first;
    }
    if (newest == nullptr) return;
    const auto results = json_of(*newest_path, *newest);
    if (!results || !results->is_object() || !results->contains("results") || !(*results)["results"].is_object()) return;
    for (const auto& [task, metrics] : (*results)["results"].items()) {
      if (!metrics.is_object()) continue;
      Json row = meta;
      row["task"] = task;
      row["source"] = *newest_path;
      for (const auto& [from, to] : {std::pair("exact_match,strict-match", "em_strict"),
                                     {"exact_match_stderr,strict-match", "em_strict_se"},
                                     {"exact_match,flexible-extract", "em_flexible"},
                                     {"exact_match_stderr,flexible-extract", "em_flexible_se"},
                                     {"acc,none", "score"},
                                     {"acc_stderr,none", "score_se"}}) {
        if (metrics.contains(from)) row[to] = metrics[from];
      }
      if (results->contains("n-samples") && (*results)["n-samples"].is_object() && (*results)["n-samples"].contains(task)) {
        const Json& counts = (*results)["n-samples"][task];
        if (counts.is_object() && counts.contains("effective")) row["n_eff"] = counts["effective"];
      }
      IngestCounts quiet;
      auto record = mapper_.evaluation(row, merged ? quiet : counts_);
      if (!record) continue;
      std::vector<SampleRecord> samples = samples_of(folder, task);
      if (!merged) {
        record->samples = std::move(samples);
        batch_.evals.push_back(std::move(*record));
        continue;
      }
      const std::string key = row_key_of(*record, 0);
      const auto same = std::ranges::find_if(batch_.evals, [&](const EvalRecord& e) {
        EvalRecord plain = e;
        plain.point_key = record->point_key;
        return row_key_of(plain, 0) == key && codec::write_json(codec::to_json(plain.deployment), codec::JsonForm::kCompactUtf8) ==
                                                  codec::write_json(codec::to_json(record->deployment), codec::JsonForm::kCompactUtf8);
      });
      if (same != batch_.evals.end()) same->samples = std::move(samples);
    }
  }

  std::vector<SampleRecord> samples_of(const std::string& folder, const std::string& task) {
    std::vector<SampleRecord> out;
    const std::string* newest = nullptr;
    for (auto at = files_.lower_bound(folder); at != files_.end() && at->first.starts_with(folder); ++at) {
      if (file_name(at->first).starts_with("samples_" + task) && at->first.ends_with(".jsonl")) newest = at->second;
    }
    if (newest == nullptr) return out;
    ++counts_.files;
    std::set<std::int64_t> seen;
    for (const std::string_view line : split(*newest, '\n')) {
      if (trim(line).empty()) continue;
      const auto json = parse_artifact_json(line, folder + "samples");
      if (!json || !json->is_object()) {
        ++counts_.skipped["badSample"];
        continue;
      }
      SampleRecord sample = sample_of(*json);
      if (seen.insert(sample.doc_id).second) out.push_back(std::move(sample));  // the first text wins
    }
    return out;
  }

  /// One line of lm-eval's samples file (api-dashboard 2.6).
  static SampleRecord sample_of(const Json& line) {
    SampleRecord s;
    s.doc_id = whole_of(line, "doc_id").value_or(0);
    const auto shown = [](const Json& value) {
      return clean_text(value.is_string() ? value.get<std::string>() : codec::write_json(value, codec::JsonForm::kCompactUtf8));
    };
    const auto first_text = [&](const Json& tree) -> std::string {
      const Json* at = &tree;
      while ((at->is_array() || at->is_object()) && !at->empty()) at = &*at->begin();
      return at->is_string() ? clean_text(at->get<std::string>()) : std::string();
    };
    if (line.contains("arguments")) s.prompt = first_text(line["arguments"]);
    if (s.prompt.empty() && line.contains("doc") && line["doc"].is_object()) {
      for (const char* key : {"question", "input"}) {
        if (s.prompt.empty()) s.prompt = clean_text(text_of(line["doc"], key));
      }
    }
    if (line.contains("target")) s.target = shown(line["target"]);
    if (line.contains("resps")) s.raw_response = first_text(line["resps"]);
    if (line.contains("filtered_resps")) s.response = first_text(line["filtered_resps"]);
    if (s.response.empty()) s.response = s.raw_response;
    const auto named = [](const std::string& key) {
      return std::ranges::any_of(std::initializer_list<const char*>{"exact_match", "score", "acc", "f1", "rouge", "bleu", "pass", "em"},
                                 [&](const char* begin) { return key.starts_with(begin); });
    };
    for (const auto& [key, value] : line.items()) {
      if (value.is_number() && named(key)) s.metrics[key] = value;
    }
    for (const char* key : {"exact_match,strict-match", "exact_match", "score", "acc"}) {
      if (!s.score && s.metrics.contains(key)) s.score = s.metrics[key].get<double>();
    }
    for (const auto& [key, value] : s.metrics.items()) {
      if (!s.score && key.ends_with(",strict-match")) s.score = value.get<double>();
    }
    if (!s.score && !s.metrics.empty()) s.score = s.metrics.begin()->get<double>();
    s.passed = s.score.value_or(0) >= 0.5;
    return s;
  }

  void read_logs() {
    std::set<std::string> wanted;
    for (const BenchmarkRecord& row : batch_.rows) wanted.insert(row.log);
    for (const auto& [path, bytes] : files_) {
      if (!path.ends_with(".log") && !path.ends_with(".out")) continue;
      const std::string artifact = artifact_of(path);
      for (const std::string_view begin : {"multinode_server_logs_", "server_logs_"}) {
        if (!artifact.starts_with(begin)) continue;
        const std::string name = artifact.substr(begin.size());
        if (wanted.contains(name)) {
          ++counts_.files;
          batch_.logs.push_back({name, inside(path), clean_text(*bytes)});
        }
        break;
      }
    }
    // Jobs of our own runs keep the log in a folder of their own; the manifest says which row a job made.
    const std::string* told = manifest();
    if (told == nullptr) return;
    const auto json = codec::parse_json(*told, "manifest.json");
    if (!json || !json->is_object() || !json->contains("jobs") || !(*json)["jobs"].is_array()) return;
    for (const Json& job : (*json)["jobs"]) {
      if (!job.is_object() || text_of(job, "kind").starts_with("eval") || text_of(job, "point_key").empty()) continue;
      const std::string name = text_of(job, "job");
      const std::string* log = find_file(name + "/server.log");
      if (log == nullptr) continue;
      for (BenchmarkRecord& row : batch_.rows) {
        if (row.point_key != text_of(job, "point_key")) continue;
        row.log = name;
        batch_.logs.push_back({name, "server.log", clean_text(*log)});
      }
    }
  }

  const ArtifactSet& set_;
  const RowMapper& mapper_;
  IngestCounts& counts_;
  RunBatch batch_;
  bool evals_only_ = false, merged_first_ = false;
  std::map<std::string, const std::string*> files_;
  std::set<std::string> artifacts_;
};

}  // namespace

Result<RunBatch> batch_of_artifacts(const ArtifactSet& artifacts, const RunHints& hints, const RowMapper& mapper, IngestCounts& counts) {
  return Reader(artifacts, mapper, counts).read(hints);
}

}  // namespace pawl::results
