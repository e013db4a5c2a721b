#include "upstream/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "codec/describe.h"
#include "upstream/clip.h"

namespace pawl::upstream {
namespace {

/// Text of others, fit for a comment: one line, no mention, no backtick that would end a code span.
std::string tame(std::string text, std::size_t most = 240) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '@' || c == '`' || c == '|') continue;
    out += u < 0x20 || u == 0x7f ? ' ' : c;
  }
  if (out.size() > most) out = clip(std::move(out), most) + "…";
  return out;
}

std::string code(const std::string& text) { return "`" + tame(text, 160) + "`"; }

class Writer {
 public:
  Writer(const AuditReport& report, Language language, const SectionLength& length) : r_(report), zh_(language == Language::kChinese), length_(length) {}

  std::string all() {
    head();
    flags();
    environment();
    defaults();
    effective();
    dependencies();
    images();
    moves();
    changes();
    others();
    added();
    endpoints();
    doubts();
    return std::move(out_);
  }

 private:
  const AuditReport& r_;
  const bool zh_;
  const SectionLength length_;
  std::string out_;

  std::string say(const char* english, const char* chinese) const { return zh_ ? chinese : english; }
  void line(const std::string& text) { out_ += text + "\n"; }
  void heading(const char* english, const char* chinese) { line(fmt::format("\n**{}**\n", say(english, chinese))); }

  std::string verdict(Verdict v) const {
    static const std::map<Verdict, std::pair<const char*, const char*>> words{
        {Verdict::kDefined, {"defined", "仍有定义"}},
        {Verdict::kAlias, {"alias", "别名"}},
        {Verdict::kDeprecated, {"deprecated", "已弃用"}},
        {Verdict::kRenamed, {"renamed", "已改名"}},
        {Verdict::kNowTheDefault, {"now the default", "已成为默认"}},
        {Verdict::kSplit, {"split", "已拆分"}},
        {Verdict::kAmbiguous, {"ambiguous", "前缀有歧义"}},
        {Verdict::kValuesChanged, {"values changed", "取值已变"}},
        {Verdict::kDefaultChanged, {"default changed", "默认值已变"}},
        {Verdict::kRemoved, {"removed", "已移除"}},
        {Verdict::kUndefined, {"undefined", "未定义"}},
        {Verdict::kUnknown, {"unknown", "未知"}},
    };
    const auto at = words.find(v);
    return at == words.end() ? "?" : say(at->second.first, at->second.second);
  }

  std::string effect(Effect e, const std::string& because) const {
    const std::string why = because.empty() ? std::string() : " (" + code(because) + ")";
    switch (e) {
      case Effect::kAffects:
        return say("affects this recipe", "影响本配方") + why;
      case Effect::kMayAffect:
        return say("may affect this recipe", "可能影响本配方") + why;
      case Effect::kPinned:
        return say("pinned by this recipe", "本配方已显式指定") + why;
      case Effect::kGated:
        return say("gated off by another flag", "由其他参数关闭") + why;
      case Effect::kOtherHardware:
        return say("other GPU generation only", "仅其他 GPU 代次") + why;
      case Effect::kOtherModel:
        return say("other model only", "仅其他模型");
    }
    return "?";
  }

  static std::string places(const std::vector<Place>& all) {
    std::vector<std::string> texts;
    for (const Place& place : all) {
      if (texts.size() == 3) {
        texts.push_back(fmt::format("+{}", all.size() - 3));
        break;
      }
      texts.push_back(place.text());
    }
    return join(texts, ", ");
  }

  std::string arrow(const Place& before, const Place& after) const {
    if (before.file.empty() && after.file.empty()) return {};
    if (before.file.empty()) return after.text();
    if (after.file.empty()) return before.text();
    return before.text() + " → " + after.text();
  }

  void head() {
    const auto side = [&](const SideFacts& s) {
      return fmt::format("{}{}", tame(s.shown), s.revision.empty() || s.shown.find(s.revision) != std::string::npos ? "" : " @ " + s.revision.substr(0, 12));
    };
    line(fmt::format("**{}: {} {} → {}**\n", say("Upstream source comparison", "上游源码对比"), tame(r_.engine), side(r_.before), side(r_.after)));
    line(fmt::format("- {}: {}", say("old source", "旧源码"), tame(r_.before.origin)));
    line(fmt::format("- {}: {}", say("new source", "新源码"), tame(r_.after.origin)));
    line(fmt::format("- {}: {} → {}; {}: {} → {}; {}: {} → {}", say("arguments", "参数"), r_.before.arguments, r_.after.arguments,
                     say("option names", "选项名"), r_.before.names, r_.after.names, say("decisions in code", "代码中的取值决定"), r_.before.decisions,
                     r_.after.decisions));
    if (!r_.gpu.empty()) line(fmt::format("- GPU: {}{}", tame(r_.gpu), r_.family.empty() ? "" : " (" + r_.family + ")"));
  }

  void finding(const FlagFinding& f) {
    std::string text =
        fmt::format("- {}{}{}", f.breaks ? "**" : "", code(f.values.empty() ? f.flag : f.flag + " " + join(f.values, " ")), f.breaks ? "**" : "");
    text += ": " + verdict(f.verdict);
    if (f.already) text += say(" (in the old version too)", "（旧版本中已如此）");
    if (!f.successor.empty()) text += " → " + code(f.successor);
    if (f.moved) text += say("; its definition moved", "；定义位置已移动");
    text += "; " + (zh_ || f.evidence.empty() ? arrow(f.old_place, f.new_place) : tame(f.evidence));
    line(text);
  }

  void flags() {
    heading("Flag audit", "参数审计");
    line(zh_ ? fmt::format("配方使用 {} 个启动参数：{}。", r_.flags.size(), counts()) : fmt::format("{}.", headline(r_)));
    line("");
    std::vector<std::string> plain;
    for (const FlagFinding& f : r_.flags) {
      if (f.verdict == Verdict::kDefined) {
        plain.push_back(code(f.flag));
      } else {
        finding(f);
      }
    }
    if (!plain.empty()) line(fmt::format("- {} ({}): {}", verdict(Verdict::kDefined), plain.size(), join(plain, ", ")));
  }

  std::string counts() const {
    std::map<Verdict, std::size_t> by;
    for (const FlagFinding& f : r_.flags) ++by[f.verdict];
    std::vector<std::string> parts;
    for (const auto& [v, n] : by) parts.push_back(fmt::format("{} {}", n, verdict(v)));
    return join(parts, zh_ ? "、" : ", ");
  }

  void environment() {
    if (r_.environment.empty()) return;
    heading("Environment names of the engine", "引擎环境变量");
    for (const FlagFinding& f : r_.environment) finding(f);
  }

  void defaults() {
    if (r_.defaults.empty()) {
      heading("Changed defaults", "默认值变化");
      line(say("None among the arguments that both versions have.", "两个版本共有的参数中没有变化。"));
      return;
    }
    heading("Changed defaults", "默认值变化");
    for (const Effect e : {Effect::kAffects, Effect::kMayAffect, Effect::kPinned, Effect::kGated, Effect::kOtherHardware, Effect::kOtherModel}) {
      std::vector<const DefaultFinding*> these;
      for (const DefaultFinding& d : r_.defaults) {
        if (d.effect == e) these.push_back(&d);
      }
      if (these.empty()) continue;
      line(fmt::format("{} ({}):\n", effect(e, ""), these.size()));
      std::size_t shown = 0;
      for (const DefaultFinding* d : these) {
        if (++shown > length_.defaults) break;
        const auto values = [&](const std::vector<std::string>& v) { return v.empty() ? say("(none)", "（无）") : code(join(v, " | ")); };
        line(fmt::format("- {}{}: {} → {}{}; {}{}{}", code(d->flag), d->decided ? say(" (decided in code)", "（由代码决定）") : "", values(d->old_values),
                         values(d->new_values), d->because.empty() ? "" : fmt::format(" [{}]", code(d->because)), places(d->old_places),
                         d->old_places.empty() || d->new_places.empty() ? "" : " → ", places(d->new_places)));
      }
      if (these.size() > length_.defaults) line(fmt::format("- {} {}", say("and more:", "另有："), these.size() - length_.defaults));
      line("");
    }
  }

  void effective() {
    std::vector<std::string> same;
    std::string changed;
    for (const EffectiveValue& v : r_.effective) {
      if (v.changed) {
        changed += fmt::format("- {}: {} → {}\n", code(v.dest), code(v.before), code(v.after));
      } else {
        same.push_back(code(v.dest));
      }
    }
    if (r_.effective.empty()) return;
    heading("Effective configuration", "生效配置");
    out_ += changed;
    if (!same.empty()) line(fmt::format("- {} ({}): {}", say("the same before and after", "前后相同"), same.size(), join(same, ", ")));
  }

  void dependencies() {
    heading("Coupled dependencies", "耦合依赖");
    std::size_t coupled = 0, rest = 0;
    std::vector<std::string> others;
    for (const DependencyFinding& d : r_.dependencies) {
      const auto side = [&](const std::string& text) { return text.empty() ? say("(not there)", "（无）") : tame(text, 80); };
      const std::string text = fmt::format("{} {} → {}", tame(d.name, 80), side(d.before), side(d.after));
      if (d.coupled) {
        ++coupled;
        line(fmt::format("- {}; {}", text, arrow(d.old_place, d.new_place)));
      } else {
        ++rest;
        if (others.size() < length_.options) others.push_back(text);
      }
    }
    if (coupled == 0) line(say("- none changed", "- 无变化"));
    if (rest > 0) line(fmt::format("- {} ({}): {}{}", say("others", "其他"), rest, join(others, "; "), rest > others.size() ? " …" : ""));
  }

  void images() {
    if (r_.provenance.empty()) return;
    heading("Images", "镜像");
    for (const Provenance& p : r_.provenance) {
      line(fmt::format("- {} {}: {}{}{}{}", p.side == "old" ? say("old", "旧") : say("new", "新"), code(p.image), p.digest.empty() ? "" : code(p.digest) + "; ",
                       p.commit.empty() ? say("no label names its commit", "没有标签说明其源码提交")
                                        : fmt::format("{} {} ({})", say("commit", "提交"), code(p.commit), code(p.label)),
                       p.agree ? "" : say("; labels disagree", "；标签互相矛盾"), p.matches ? "" : say("; not the source compared", "；与所比较的源码不同")));
    }
    for (const std::string& text : r_.identity) line("- " + tame(text));
  }

  void changes() {
    if (!r_.history) return;
    const History& h = *r_.history;
    heading("History", "提交历史");
    line(zh_ ? fmt::format("- {} 个提交中有 {} 个涉及所查路径", h.looked_at, h.changes.size())
             : fmt::format("- {} of {} commits touch the paths looked at", h.changes.size(), h.looked_at));
    for (const std::string& path : h.none) line(fmt::format("- {} {}", say("none under", "没有提交涉及"), code(path)));
    if (!h.straight)
      line(say("- the old revision is no ancestor of the new one: commits of the old side alone were not looked at",
               "- 旧版本不是新版本的祖先：未检查仅属于旧分支的提交"));
    std::size_t shown = 0;
    for (const Change& c : h.changes) {
      if (++shown > length_.options) break;
      line(fmt::format("- {} {} {}", c.commit.substr(0, 12), c.day, tame(c.subject, 120)));
    }
    if (h.changes.size() > length_.options) line(fmt::format("- {} {}", say("and more:", "另有："), h.changes.size() - length_.options));
  }

  void moves() {
    if (r_.moved.empty()) return;
    heading("What moved (a move is no removal)", "代码移动（移动不等于移除）");
    for (const MovedParts& m : r_.moved) {
      const std::string what = m.what == "definitions" ? say("argument definitions", "参数定义") : say("decisions about values", "取值决定");
      line(fmt::format("- {}: {} → {}", what, tame(m.before, 600), tame(m.after, 600)));
    }
  }

  void others() {
    if (r_.others.empty()) return;
    heading("Changes of options that this recipe does not set", "本配方未使用的选项的变化");
    std::size_t shown = 0;
    for (const OtherChange& o : r_.others) {
      if (++shown > length_.options) break;
      line(fmt::format("- {}: {}{}{}; {}", code(o.flag), verdict(o.verdict), o.successor.empty() ? "" : " → " + code(o.successor),
                       o.verdict == Verdict::kValuesChanged && !o.detail.empty() ? "; " + tame(o.detail, 120) : "", arrow(o.old_place, o.new_place)));
    }
    if (r_.others.size() > length_.options) line(fmt::format("- {} {}", say("and more:", "另有："), r_.others.size() - length_.options));
  }

  void added() {
    if (r_.added.empty()) return;
    heading("New options left out (tuning, not compatibility)", "未采用的新选项（属于调优而非兼容性）");
    std::vector<std::string> names;
    for (const OptionFinding& o : r_.added) {
      if (names.size() < length_.options) names.push_back(code(o.flag));
    }
    line(fmt::format("{}: {}{}", r_.added.size(), join(names, ", "), r_.added.size() > names.size() ? " …" : ""));
  }

  void endpoints() {
    if (r_.endpoints_added.empty() && r_.endpoints_removed.empty()) return;
    heading("HTTP endpoints", "HTTP 接口");
    const auto list = [&](const std::vector<OptionFinding>& all) {
      std::vector<std::string> names;
      for (const OptionFinding& o : all) names.push_back(code(o.flag));
      return names.empty() ? say("none", "无") : join(names, ", ");
    };
    line(fmt::format("- {}: {}", say("new", "新增"), list(r_.endpoints_added)));
    line(fmt::format("- {}: {}", say("gone", "移除"), list(r_.endpoints_removed)));
  }

  void doubts() {
    heading("Residual uncertainty", "剩余不确定性");
    if (zh_) {
      line(fmt::format("- {} 项（详见英文部分）", r_.uncertain.size()));
      line("- 审计只读源码、不执行：运行时才确定的条件按“可能”计。");
      return;
    }
    for (const std::string& text : r_.uncertain) line("- " + tame(text, 400));
    line("- the sources were read, not run: what depends on the machine at run time counts as \"may\"");
  }
};

}  // namespace

std::string headline(const AuditReport& report) {
  std::map<std::string, std::size_t> by;
  for (const FlagFinding& f : report.flags) ++by[replace_all(codec::enum_text(f.verdict), "-", " ")];
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : by) parts.push_back(fmt::format("{} {}", count, verdict));
  return fmt::format("{} flag{}{}{}; {}", report.flags.size(), report.flags.size() == 1 ? "" : "s", parts.empty() ? "" : ": ", join(parts, ", "),
                     report.breaking() == 0 ? std::string("nothing breaks") : fmt::format("{} must be changed", report.breaking()));
}

std::string section(const AuditReport& report, Language language, const SectionLength& length) { return Writer(report, language, length).all(); }

codec::Json audit_json(const AuditReport& report) {
  codec::Json json{{"schema", "pawl.upstream-audit/1"}, {"headline", headline(report)}, {"breaking", report.breaking()}};
  const codec::Json body = codec::to_json(report);
  for (auto it = body.begin(); it != body.end(); ++it) json[it.key()] = it.value();
  return json;
}

}  // namespace pawl::upstream
