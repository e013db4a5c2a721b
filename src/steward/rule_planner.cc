#include "steward/rule_planner.h"

#include <fmt/format.h>

#include "plan/launch_script.h"

namespace pawl::steward {

Result<std::optional<io::Proposal>> RulePlanner::propose(const io::Briefing& briefing) {
  const std::optional<io::Proposal> none;
  if (!briefing.failure) return none;
  const auto diagnosis = book_.classify(briefing.failure->evidence);
  if (!diagnosis || diagnosis->cls != playbook::RepairClass::kFlag || diagnosis->flags.empty()) return none;
  io::Proposal proposal;
  proposal.cause = fmt::format("{} (playbook {})", diagnosis->line, diagnosis->row);
  for (const std::string& flag : diagnosis->flags) {
    const auto change = book_.find_flag(briefing.engine, flag);
    if (!change || change->verdict == playbook::FlagVerdict::kRemoved) return none;
    bool replaced = false;
    for (const auto& [path, before] : briefing.files) {
      const auto current = proposal.files.find(path);
      auto edited = plan::replace_switch(current != proposal.files.end() ? current->second : before, flag, change->replacement);
      if (!edited) continue;
      proposal.files[path] = std::move(*edited);
      replaced = true;
    }
    if (!replaced) return none;
    const std::string now = change->replacement.empty() ? "nothing: its effect is the default now" : change->replacement;
    const std::string now_zh = change->replacement.empty() ? "无需参数（其效果已成为默认行为）" : change->replacement;
    proposal.change += fmt::format("{}launch flag {} becomes {} ({}).", proposal.change.empty() ? "" : " ", flag, now, change->evidence);
    proposal.change_zh += fmt::format("启动参数 {} 改为 {}（依据见英文部分）。", flag, now_zh);
  }
  return std::optional<io::Proposal>(std::move(proposal));
}

}  // namespace pawl::steward
