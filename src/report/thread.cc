#include "report/thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "codec/describe.h"
#include "model/image.h"
#include "model/row.h"

namespace pawl::report {
namespace {

using codec::Json;
using compare::Change;
using control::Attempt;
using control::AttemptKind;
using control::AttemptStatus;
using control::Candidate;
using control::NextStep;

/// The same sentence in both languages.
struct Both {
  std::string en, zh;
};

std::string tag_of(const std::string& image) {
  const auto ref = model::parse_image(image);
  return ref && !ref->tag.empty() ? ref->tag : image;
}

std::string code(const std::string& text) { return "`" + text + "`"; }

std::string image_text(const std::string& image, const std::string& digest) {
  return code(image) + (digest.empty() ? "" : fmt::format(" (digest {})", code(digest)));
}

/// English first, then Chinese after a rule or in a collapsed section, as the profile has it.
std::string compose(const Style& style, const std::string& en, const std::string& zh) {
  if (style.fold_chinese) return en + "\n<details><summary>中文</summary>\n\n" + zh + "\n</details>\n";
  return en + "\n---\n\n" + zh;
}

Both status_text(AttemptStatus status) {
  switch (status) {
    case AttemptStatus::kPlanned:
      return {"planned", "已计划"};
    case AttemptStatus::kQueued:
      return {"queued", "排队中"};
    case AttemptStatus::kRunning:
      return {"running", "运行中"};
    case AttemptStatus::kPassed:
      return {"passed", "已通过"};
    case AttemptStatus::kFailed:
      return {"failed", "失败"};
    case AttemptStatus::kCancelled:
      return {"cancelled", "已取消"};
    case AttemptStatus::kDeferred:
      return {"deferred", "已延期"};
  }
  return {};
}

Both kind_text(const Candidate& c, const Attempt& attempt) {
  switch (attempt.kind) {
    case AttemptKind::kInitial:
      return {"Initial attempt", "初次尝试"};
    case AttemptKind::kRepair:
      return {fmt::format("Repair {}/{}", attempt.repair, c.rules.repairs), fmt::format("修复 {}/{}", attempt.repair, c.rules.repairs)};
    case AttemptKind::kInfrastructureRetry:
      return {fmt::format("Infrastructure retry {}/{}", attempt.retry, c.rules.infrastructure_retries),
              fmt::format("基础设施重试 {}/{}", attempt.retry, c.rules.infrastructure_retries)};
    case AttemptKind::kFinal:
      return {"Final full sweep", "最终完整 sweep"};
  }
  return {};
}

Both next_text(const Candidate& candidate, const Attempt& attempt) {
  switch (attempt.next) {
    case NextStep::kAwaitRun:
      return {"wait for the run, then judge it.", "等待运行结束，然后判定。"};
    case NextStep::kChangelogAndSweep:
      return {"append the changelog entry, check capacity again, and start the final full sweep.", "追加变更日志条目，再次检查容量，并启动最终完整 sweep。"};
    case NextStep::kFinish:
      return {"mark the change request ready and post the receipt.", "将变更请求标记为就绪并发布回执。"};
    case NextStep::kRepair:
      return {fmt::format("repair {}/{}: {} Then measure again.", candidate.repairs, candidate.rules.repairs, neutral(candidate.planned_change)),
              fmt::format("修复 {}/{}：{}然后重新测量。", candidate.repairs, candidate.rules.repairs, neutral(candidate.planned_change_zh))};
    case NextStep::kRetry:
      return {"check capacity and run the same head again; this is not charged.", "检查容量并在同一 head 上重新运行；不计入修复次数。"};
    case NextStep::kMaintenance:
      return {"take main's newer bytes, append the changelog entry to them, prove it, and start the final full sweep.",
              "采用 main 的最新内容，重新追加变更日志条目并验证，然后启动最终完整 sweep。"};
    case NextStep::kStop:
      return {"end this candidate and clean up.", "结束该候选并清理。"};
  }
  return {};
}

Both check_text(const Check& check) {
  const std::string n = fmt::format("{}/{}", check.found, check.wanted);
  if (check.code == "jobs-succeeded") return {"jobs that succeeded: " + n, "成功的任务：" + n};
  if (check.code == "rows-present") return {"points with exactly one result row: " + n, "恰有一行结果的测试点：" + n};
  if (check.code == "image-matches") return {"rows that name the new image: " + n, "记录新镜像的结果行：" + n};
  if (check.code == "numbers-valid") return {"rows whose measurement is not INVALID: " + n, "测量结果并非 INVALID 的行：" + n};
  if (check.code == "logs-clean") return {"engine logs without a traceback: " + n, "无 traceback 的引擎日志：" + n};
  if (check.code == "head-matches") return {"run measured exactly this head: " + n, "运行测量的正是该 head：" + n};
  if (check.code == "run-matches") return {"results come from exactly this run and attempt: " + n, "结果正来自该运行及其 attempt：" + n};
  if (check.code == "full-sweep") return {"run is a full sweep: " + n, "运行为完整 sweep：" + n};
  if (check.code == "evals-clean") return {"evals in which every question was answered: " + n, "所有问题均有回答的评测：" + n};
  if (check.code == "evals-pass") return {"evals at or above their threshold: " + n, "达到阈值的评测：" + n};
  if (check.code == "baseline-covered") return {"baseline points measured again: " + n, "重新测量的基线点：" + n};
  return {check.code + ": " + n, check.code + "：" + n};
}

/// Unit and decimals of a compared metric as tables show it.
struct Column {
  std::string heading;
  double factor;
  int decimals;
};

Column column_of(const std::string& key, compare::Statistic statistic) {
  const std::string which = statistic == compare::Statistic::kMean ? "mean" : "median";
  if (key == "tput_per_gpu") return {"tput/GPU (tok/s) ↑", 1, 1};
  if (key == "output_tput_per_gpu") return {"output tput/GPU (tok/s) ↑", 1, 1};
  if (key.ends_with("_tpot")) return {which + " TPOT (ms) ↓", 1000, 2};
  return {which + " TTFT (ms) ↓", 1000, 1};
}

std::vector<std::string> table_keys(compare::Statistic statistic) {
  const std::string prefix = statistic == compare::Statistic::kMean ? "mean_" : "median_";
  return {"tput_per_gpu", "output_tput_per_gpu", prefix + "tpot", prefix + "ttft"};
}

std::string table_head(const std::string& first, const std::vector<std::string>& headings) {
  std::string head = "| " + first + " |", rule = "| --- |";
  for (const std::string& heading : headings) {
    head += " " + heading + " |";
    rule += " ---: |";
  }
  return head + "\n" + rule + "\n";
}

double value_of(const Json& row, const std::string& key) {
  const auto it = row.find(key);
  return it != row.end() && it->is_number() ? it->get<double>() : model::kUnknown;
}

std::string baseline_table(const Style& style, const model::Baseline& baseline) {
  std::vector<std::string> headings;
  const auto keys = table_keys(style.statistic);
  for (const std::string& key : keys) headings.push_back(column_of(key, style.statistic).heading);
  std::string table = table_head("Point", headings);
  for (const Json& row : baseline.rows) {
    table += "| " + model::row_label(row) + " |";
    for (const std::string& key : keys) {
      const Column column = column_of(key, style.statistic);
      table += " " + number(style, value_of(row, key) * column.factor, column.decimals) + " |";
    }
    table += "\n";
  }
  return table;
}

std::string baseline_evals(const Style& style, const model::Baseline& baseline) {
  std::string table = table_head("Eval", {"em_strict ↑", "se", "em_flexible ↑", "n"});
  for (const Json& row : baseline.evals) {
    table +=
        fmt::format("| {} · {} | {} | {} | {} | {} |\n", row.value("task", std::string()), model::row_label(row), number(style, value_of(row, "em_strict"), 4),
                    number(style, value_of(row, "em_strict_se"), 4), number(style, value_of(row, "em_flexible"), 4), row.value("n_eff", 0));
  }
  return table;
}

std::string cell(const Style& style, const compare::MetricChange& metric) {
  const Column column = column_of(metric.key, style.statistic);
  const std::string now = number(style, metric.candidate * column.factor, column.decimals);
  const std::string change = delta(style, metric.delta_percent);
  if (change.empty()) return now;
  if (!style.old_value_in_cell) return fmt::format("{} ({})", now, change);
  return fmt::format("{} → {} ({})", number(style, metric.baseline * column.factor, column.decimals), now, change);
}

std::string comparison_table(const Style& style, const compare::Comparison& comparison) {
  std::vector<std::string> headings;
  for (const std::string& key : table_keys(style.statistic)) headings.push_back(column_of(key, style.statistic).heading);
  headings.emplace_back("verdict");
  std::string table = table_head("Point", headings);
  for (const compare::PointChange& point : comparison.points) {
    table += "| " + point.label + " |";
    for (const compare::MetricChange& metric : point.metrics) table += " " + cell(style, metric) + " |";
    table += " " + (point.matched ? codec::enum_text(point.change) : std::string("no matched baseline")) + " |\n";
  }
  return table;
}

std::string eval_table(const Style& style, const compare::Comparison& comparison) {
  std::string table = table_head("Eval", {"em_strict ↑", "se", "em_flexible ↑", "n_eff", "threshold", "baseline em_strict"});
  for (const compare::EvalChange& eval : comparison.evals) {
    table += fmt::format("| {} · {} | {} | {} | {} | {} | {} | {} |\n", eval.task, eval.label, number(style, eval.score, 4), number(style, eval.score_se, 4),
                         number(style, eval.flexible, 4), eval.n_eff, number(style, eval.threshold, 2),
                         eval.baseline ? number(style, *eval.baseline, 4) + fmt::format(" (n {})", eval.baseline_n.value_or(0)) : "N/A: " + eval.note);
  }
  return table;
}

/// What the comparison says in one sentence, with counts.
Both verdict_text(const Style& style, const compare::Comparison& comparison) {
  std::map<Change, int> counts;
  std::vector<std::string> worse;
  for (const compare::PointChange& point : comparison.points) {
    if (!point.matched) continue;
    ++counts[point.change];
    for (const compare::MetricChange& metric : point.metrics) {
      if (metric.change == Change::kRegressed)
        worse.push_back(fmt::format("{}: {} {}", point.label, column_of(metric.key, style.statistic).heading, delta(style, metric.delta_percent)));
    }
  }
  const std::string matched = fmt::format("{}/{}", comparison.matched, comparison.points.size());
  Both text;
  if (worse.empty()) {
    text = {fmt::format("No regressions beyond the margins. Points matched to the baseline: {}; missing: {}.", matched, comparison.missing.size()),
            fmt::format("无超出容差的回退。与基线匹配的点：{}；缺失：{}。", matched, comparison.missing.size())};
  } else {
    text = {fmt::format("Regressions, for the reviewers to weigh ({}): {}. Points matched to the baseline: {}; missing: {}.", worse.size(), join(worse, "; "),
                        matched, comparison.missing.size()),
            fmt::format("存在 {} 处回退（见上方英文列表），由评审者判断。与基线匹配的点：{}；缺失：{}。", worse.size(), matched, comparison.missing.size())};
  }
  const auto count = [&](Change change) { return counts.contains(change) ? counts.at(change) : 0; };
  text.en += fmt::format(" Points: {} improved, {} equivalent, {} regressed, {} inconclusive.", count(Change::kImproved), count(Change::kEquivalent),
                         count(Change::kRegressed), count(Change::kInconclusive));
  text.zh += fmt::format(" 各点：提升 {}，持平 {}，回退 {}，不确定 {}。", count(Change::kImproved), count(Change::kEquivalent), count(Change::kRegressed),
                         count(Change::kInconclusive));
  return text;
}

Both conditions(const std::string& scale, bool simulated) {
  Both text;
  if (simulated)
    text = {"Engines are simulated (pawl twin): the numbers show the procedure, not a GPU. ", "引擎为模拟（pawl twin）：数值仅展示流程，不代表 GPU 性能。"};
  if (!scale.empty() && scale != "1/1") {
    text.en += fmt::format("Scale {}: lengths and prompt counts are reduced.", scale);
    text.zh += fmt::format("缩放比例 {}：长度与请求数均已缩减。", scale);
  }
  return text;
}

std::string bullet(const std::string& text) { return text.empty() ? std::string() : "- " + text + "\n"; }

std::string signature() { return "\n*pawl*\n"; }

}  // namespace

std::string check_sentence(const Check& check) { return check_text(check).en; }

std::string request_title(const Candidate& c) {
  const std::string tag = tag_of(c.image_new);
  return fmt::format("[pawl] Update {0} {1} image to {2} / 将 {0} 的 {1} 镜像更新至 {2}", c.recipe, c.engine, tag);
}

std::string request_placeholder(const Candidate& c) {
  return fmt::format("{}: the published baseline is being frozen.\n\n---\n\n{}：正在冻结已发布的基线。\n", c.recipe, c.recipe);
}

std::string request_body(const Style& style, const Candidate& c, const model::Baseline& baseline) {
  const bool simulated = !baseline.rows.empty() && baseline.rows[0].contains("pawl") && baseline.rows[0]["pawl"].value("simulated", false);
  const Both how = conditions(baseline.scale, simulated);
  std::string sources;
  for (const std::string& source : baseline.sources) sources += (sources.empty() ? "" : ", ") + code("GET " + source);

  std::string en = fmt::format("**Goal:** move {} from {} to {}. Model, topologies, workloads and launch script are unchanged.\n\n## Baseline\n\n",
                               code(c.recipe), code(c.image_old), image_text(c.image_new, c.digest_new));
  en += bullet(fmt::format("Published: {}, image {}", baseline.date, image_text(baseline.image, baseline.digest)));
  en += bullet(fmt::format("Producer: run {} / attempt {}{}", baseline.run, baseline.attempt, baseline.head.empty() ? "" : ", head " + code(baseline.head)));
  en += bullet("Sources: " + sources);
  en += bullet(how.en);
  en += "\n" + baseline_table(style, baseline);
  en += baseline.evals.empty() ? "\n- Published eval: N/A (no eval of this identity was published on that date).\n" : "\n" + baseline_evals(style, baseline);
  en += "\n**Stop:** to stop this candidate, close this change request: its runs are cancelled and its branch is removed.\n";

  std::string zh =
      fmt::format("**目标：**将 {} 从 {} 更新至 {}。模型、拓扑、工作负载与启动脚本均不变。\n\n", code(c.recipe), code(c.image_old), code(c.image_new));
  zh += bullet(fmt::format("基线发布日期：{}；生产运行：{} / attempt {}", baseline.date, baseline.run, baseline.attempt));
  zh += bullet("来源：" + sources);
  zh += bullet(how.zh);
  zh += "- 数值见上方表格。\n\n**停止：**如需停止该候选，请关闭此变更请求：其运行会被取消，分支会被删除。\n";
  return compose(style, en, zh) + signature();
}

std::string attempt_comment(const Style& style, const Candidate& c, const Attempt& attempt, const AttemptFacts& facts) {
  const Both kind = kind_text(c, attempt), status = status_text(attempt.status), next = next_text(c, attempt), how = conditions(facts.scale, facts.simulated);
  const std::string head = attempt.head.substr(0, static_cast<std::size_t>(style.head_digits));
  std::string en = fmt::format("## {} — {}\n\n", kind.en, status.en), zh = fmt::format("## {} — {}\n\n", kind.zh, status.zh);
  en += bullet(fmt::format("Image: {} → {}, head {}", code(c.image_old), image_text(c.image_new, c.digest_new), code(head)));
  zh += bullet(fmt::format("镜像：{} → {}，head {}", code(c.image_old), code(c.image_new), code(head)));
  if (facts.run != 0) {
    en += bullet(fmt::format("Run {} / attempt {}, started {}: {} jobs", facts.run, facts.run_attempt, attempt.started, facts.jobs));
    zh += bullet(fmt::format("运行 {} / attempt {}，开始于 {}：{} 个任务", facts.run, facts.run_attempt, attempt.started, facts.jobs));
  }
  if (facts.run == 0) {
    // Nothing is measured yet, or, where main's bytes are taken, never.
  } else if (attempt.final) {
    en += bullet("Scope: the complete family matrix and its default evals; nothing trimmed.");
    zh += bullet("范围：完整家族矩阵及其默认评测；未裁剪。");
  } else {
    en += bullet(
        fmt::format("Points: {} (lowest concurrency of each deployment shape, and one eval). This is startup and compatibility evidence, not a full curve.",
                    join(facts.smoke_points, ", ")));
    zh += bullet(fmt::format("测试点：{}（每种部署形态的最低并发，另加一项评测）。这只是启动与兼容性证据，不是完整曲线。", join(facts.smoke_points, "、")));
  }
  if (attempt.kind == AttemptKind::kRepair) {
    en += bullet("Change: " + neutral(attempt.change));
    zh += bullet("变更：" + neutral(attempt.change_zh));
  } else {
    const bool repaired = attempt.final && c.repairs > 0;
    en += bullet("Change: one image line and, before the final sweep, one changelog entry" +
                 (repaired ? fmt::format("; repairs made before: {}.", c.repairs) : std::string(".")));
    zh += bullet("变更：一行镜像；在最终 sweep 之前另加一条变更日志" + (repaired ? fmt::format("；此前的修复次数：{}。", c.repairs) : std::string("。")));
  }
  en += bullet(how.en);
  zh += bullet(how.zh);
  for (const Check& check : facts.checks) {
    const Both text = check_text(check);
    en += bullet(fmt::format("{} {}", check.ok ? "✓" : "✗", text.en));
    zh += bullet(fmt::format("{} {}", check.ok ? "✓" : "✗", text.zh));
  }
  if (facts.comparison && !facts.comparison->points.empty()) {
    en += "\n" + comparison_table(style, *facts.comparison);
    if (!facts.comparison->evals.empty()) en += "\n" + eval_table(style, *facts.comparison);
    const Both verdict = verdict_text(style, *facts.comparison);
    en += "\n" + bullet(verdict.en);
    zh += "\n" + bullet(verdict.zh) + "- 数值见上方英文表格。\n";
  }
  if (!attempt.finding.empty()) {
    en += "\n" + bullet("First error: " + code(neutral(attempt.finding)));
    zh += "\n" + bullet("首个错误：" + code(neutral(attempt.finding)));
  }
  en += "\n**Next:** " + next.en + "\n";
  zh += "\n**下一步：**" + next.zh + "\n";
  return compose(style, en, zh) + signature();
}

std::string deferral_comment(const Style& style, const Candidate& c) {
  const std::string head = code(c.head.substr(0, static_cast<std::size_t>(style.head_digits)));
  const bool smoked = !c.attempts.empty() && c.attempts.back().status == AttemptStatus::kPassed;
  std::string en = "## Capacity deferral\n\n", zh = "## 容量推迟\n\n";
  if (smoked) {
    en += bullet(fmt::format("State: the smoke passed (run {}). The change stands at head {}. No final sweep was started; the sweep label was never applied.",
                             c.attempts.back().run, head));
    zh += bullet(fmt::format("状态：冒烟测试已通过（运行 {}）。变更位于 head {}。未启动最终 sweep；从未添加 sweep 标签。", c.attempts.back().run, head));
  } else {
    en += bullet(fmt::format("State: nothing was measured. The change stands at head {}.", head));
    zh += bullet(fmt::format("状态：尚未进行测量。变更位于 head {}。", head));
  }
  en += bullet(fmt::format(
      "Reason: the capacity check of the target clusters failed {} times in a row, so the candidate is deferred rather than queued. Repairs used: {}/{}.",
      c.rules.capacity_failures, c.repairs, c.rules.repairs));
  zh += bullet(fmt::format("原因：目标集群的容量检查连续 {} 次未通过，因此推迟该候选而不是排队。已用修复次数：{}/{}。", c.rules.capacity_failures, c.repairs,
                           c.rules.repairs));
  en += bullet(
      "Disposition: this change request is closed and its branch deleted, so that the same candidate can be tried again from the published data. Nothing found "
      "so far speaks against the image.");
  zh += bullet("处置：关闭此变更请求并删除分支，以便后续根据已发布数据重试同一候选。目前没有任何发现表明镜像存在问题。");
  return compose(style, en, zh) + signature();
}

std::string pending_receipt(const Style& style, const Candidate& c) {
  const std::string outcome = c.outcome ? codec::enum_text(*c.outcome) : "unknown";
  return compose(
      style, fmt::format("pawl: **{}**. Finishing cleanup at head {}: owned runs are stopped and checked before the request closes.\n", outcome, code(c.head)),
      fmt::format("pawl：**{}**。正在清理（head {}）：关闭请求前，将先停止并确认自有运行的状态。\n", outcome, code(c.head)));
}

std::string parked_comment(const Style& style, const Candidate& c) {
  std::vector<std::string> ids;
  if (c.parked) {
    for (const std::int64_t run : c.parked->runs) ids.push_back(std::to_string(run));
  }
  const std::string list = join(ids, ", ");
  const std::int64_t session = c.parked ? c.parked->session : c.session;
  if (ids.empty()) {
    return compose(style,
                   fmt::format("parked · Session {} found no room for the final sweep. What was measured is kept; room is looked for again, and a new session "
                               "goes on when there is some.\n",
                               session),
                   fmt::format("parked · 第 {} 个会话未找到运行最终 sweep 的容量。已测结果保留；将再次检查容量，有容量时由新会话继续。\n", session));
  }
  return compose(
      style,
      fmt::format("parked · Session {} has nothing to do until run {} ends; the next session starts then. A preempted run is run again before that.\n", session,
                  list),
      fmt::format("parked · 第 {} 个会话等待运行 {} 结束，随后启动下一会话。被抢占的运行会先重新运行。\n", session, list));
}

std::string resumed_comment(const Style& style, const Candidate& c) {
  return compose(style, fmt::format("resumed · Session {} goes on with the same ledger: repairs {}, attempts {}.\n", c.session, c.repairs, c.attempts.size()),
                 fmt::format("resumed · 第 {} 个会话基于同一台账继续：修复 {} 次，尝试 {} 次。\n", c.session, c.repairs, c.attempts.size()));
}

std::string reuse_comment(const Style& style, const Candidate& c) {
  const std::int64_t run = c.proof ? c.proof->run : 0;
  return compose(style, fmt::format("/reuse-sweep-run {}\n\nThe validated run may be published with the merge instead of being measured again.\n", run),
                 fmt::format("合并时可直接发布已验证的运行 {}，无需重新测量。\n", run));
}

std::string completion_receipt(const Style& style, const Candidate& c) {
  const std::string outcome = c.outcome ? codec::enum_text(*c.outcome) : "unknown";
  std::vector<std::int64_t> runs = c.runs;
  std::ranges::sort(runs);
  std::vector<std::string> ids, ids_zh;
  for (const std::int64_t run : runs) {
    const auto known = std::ranges::find(c.owned, run, &control::OwnedRun::run);
    // A run that only a gate saw used nothing, and is said to have; of any other, hours that nobody told stay unsaid.
    const bool gate = known != c.owned.end() && known->gate_only;
    const bool hours = known != c.owned.end() && !gate && known->gpu_hours;
    ids.push_back(std::to_string(run) + (gate ? " (gate only, 0 GPU hours)" : hours ? fmt::format(" ({:.2f} GPU hours)", *known->gpu_hours) : ""));
    ids_zh.push_back(std::to_string(run) + (gate ? "（仅门禁，0 GPU 小时）" : hours ? fmt::format("（{:.2f} GPU 小时）", *known->gpu_hours) : ""));
  }
  std::string list = ids.empty() ? "none" : join(ids, ", "), list_zh = ids.empty() ? "无" : join(ids_zh, ", ");
  if (!c.runs_complete) {
    list = ids.empty() ? "unknown" : "at least " + list + "; the whole list is unknown";
    list_zh = ids.empty() ? "未知" : "至少 " + list_zh + "；完整列表未知";
  }
  std::string en = fmt::format("pawl: **{}** (profile {}). All owned runs are terminal. Repairs: {}. Runs: {}.\n\n", outcome, style.profile, c.repairs, list);
  std::string zh = fmt::format("pawl：**{}**（profile {}）。所有自有运行均已结束。修复次数：{}。运行：{}。\n\n", outcome, style.profile, c.repairs, list_zh);
  if (c.outcome == model::Outcome::kValidated) {
    const control::Proof proof = c.proof.value_or(control::Proof{c.head, c.attempts.empty() ? 0 : c.attempts.back().run, 1});
    en += fmt::format("The full sweep is verified (head {}, run {} / attempt {}); this change request stays ready for review.\n", code(proof.head), proof.run,
                      proof.attempt);
    zh += fmt::format("完整 sweep 已通过验证（head {}，运行 {} / attempt {}）；变更请求保持就绪，等待审查。\n", code(proof.head), proof.run, proof.attempt);
  } else {
    if (!c.detail.empty()) en += "Reason: " + neutral(c.detail) + (c.reason.empty() ? "" : " (" + code(c.reason) + ")") + "\n\n";
    if (!c.reason.empty()) zh += "原因代码：" + code(c.reason) + "\n\n";
    if (c.branch_kept) {
      en += "The change request is closed; its branch is kept.\n";
      zh += "变更请求已关闭；分支保留。\n";
    } else {
      en += "The change request is closed and its branch deleted, so that the candidate can be tried again.\n";
      zh += "变更请求已关闭，分支已删除，后续可以重试。\n";
    }
  }
  return compose(style, en, zh);
}

}  // namespace pawl::report
