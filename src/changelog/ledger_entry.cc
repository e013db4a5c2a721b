#include "changelog/ledger_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "changelog/rule.h"
#include "plan/typing.h"

namespace pawl::changelog {
namespace {

using codec::Json;
using codec::YamlDocument;
using codec::YamlNode;

const std::vector<std::string> kAugustKeys{"config-keys", "description",         "pr-link",      "evals-only", "all-evals",
                                           "append-only", "eval-min-prefill-ep", "scenario-type"};
const std::vector<std::string> kLaterKeys{"config-keys", "description",         "pr-link",       "evals-only", "all-evals",
                                          "append-only", "eval-min-prefill-ep", "scenario-type", "no-evals"};
constexpr int kMergesMax = 8;

/// Reads one entry; keeps the document for places.
class EntryReader {
 public:
  EntryReader(const YamlDocument& document, bool no_evals) : document_(document), keys_(no_evals ? kLaterKeys : kAugustKeys), no_evals_(no_evals) {}

  Result<LedgerEntry> read(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::kMapping) return at("C-28", "an entry must be a mapping", node);
    PAWL_TRY(collect(node, 0));
    LedgerEntry entry;
    entry.place = document_.place(node);
    auto data = codec::yaml_value(document_, node);
    if (!data) return at("C-28", data.error().message, node);
    entry.data = std::move(*data);
    PAWL_TRY(texts("config-keys", "C-01", node, entry.config_keys));
    PAWL_TRY(texts("description", "C-02", node, entry.description));
    const YamlNode* link = field("pr-link");
    if (link == nullptr) return at("C-28", "C-03, an entry needs pr-link", node);
    if (!link->is_text()) return at("C-28", "C-03, pr-link must be a text", *link);
    entry.pr_link = link->text;
    PAWL_TRY(flag("evals-only", entry.evals_only));
    PAWL_TRY(flag("all-evals", entry.all_evals));
    PAWL_TRY(flag("append-only", entry.append_only));
    if (const YamlNode* ep = field("eval-min-prefill-ep"); ep != nullptr && !is_null(*ep)) {
      PAWL_ASSIGN(const Json value, scalar(*ep));
      entry.eval_min_prefill_ep = plan::lax_int(value);
      if (entry.eval_min_prefill_ep.value_or(0) < 1) return at("C-28", "eval-min-prefill-ep must be an integer of at least 1", *ep);
    }
    if (const YamlNode* types = field("scenario-type"); types != nullptr && !is_null(*types)) {
      entry.scenario_type.emplace();
      PAWL_TRY(texts("scenario-type", "C-05", node, *entry.scenario_type));
      for (std::size_t i = 0; i < types->items.size(); ++i) {
        const std::string& word = (*entry.scenario_type)[i];
        if (word != "fixed-seq-len" && word != "agentic-coding")
          return at("C-28", fmt::format("C-05, '{}' is no scenario: fixed-seq-len or agentic-coding", word), types->items[i]);
      }
    }
    if (no_evals_) {
      bool none = false;
      PAWL_TRY(flag("no-evals", none));
      entry.no_evals = none;
      if (none && (entry.evals_only || entry.all_evals || entry.eval_min_prefill_ep))
        return at("C-28", "no-evals cannot stand with evals-only, all-evals or eval-min-prefill-ep", *field("no-evals"));
    }
    if (entry.append_only && (entry.evals_only || entry.all_evals || entry.eval_min_prefill_ep)) {
      return at("C-28", "C-04, append-only cannot stand with evals-only, all-evals or eval-min-prefill-ep", *field("append-only"));
    }
    return entry;
  }

 private:
  Error at(std::string_view rule, std::string_view what, const YamlNode& node) const { return broken(rule, what).at(document_.place(node)); }

  static bool is_null(const YamlNode& node) { return node.kind == YamlNode::Kind::kScalar && node.type() == YamlNode::Type::kNull; }

  [[nodiscard]] const YamlNode* field(const std::string& name) const {
    const auto found = fields_.find(name);
    return found == fields_.end() ? nullptr : found->second;
  }

  /// Fills `fields_` with the node of every canonical key. The last of repeated keys wins; a merge key gives what is
  /// not written out.
  Status collect(const YamlNode& node, int depth) {
    if (depth > kMergesMax) return at("C-28", "merge keys nested too deeply", node);
    std::map<std::string, const YamlNode*> own;
    std::vector<const YamlNode*> merges;
    for (const codec::YamlEntry& pair : node.entries) {
      if (pair.key.kind == YamlNode::Kind::kScalar && pair.key.plain && pair.key.text == "<<") {
        merges.push_back(&pair.value);
        continue;
      }
      if (!pair.key.is_text()) return at("C-28", "a key of an entry must be a text", pair.key);
      own[pair.key.text] = &pair.value;
    }
    for (const auto& [key, value] : own) {
      const std::string canonical = replace_all(key, "_", "-");
      const bool known = std::ranges::find(keys_, canonical) != keys_.end() && (canonical == key || key.find('-') == std::string::npos);
      if (!known || (canonical != key && own.contains(canonical))) {
        const auto near = nearest(key, keys_);
        Error error = at("C-28", fmt::format("an entry has no field '{}'", key), *value);
        return near && *near != key ? std::move(error).advise(fmt::format("did you mean {}?", *near)) : error;
      }
      fields_.try_emplace(canonical, value);
    }
    for (const YamlNode* merge : merges) {
      std::vector<const YamlNode*> sources{merge};
      if (merge->kind == YamlNode::Kind::kSequence) {
        sources.clear();
        for (const YamlNode& item : merge->items) sources.push_back(&item);
      }
      for (const YamlNode* source : sources) {
        if (source->kind != YamlNode::Kind::kMapping) return at("C-25", "<< needs a mapping", *source);
        PAWL_TRY(collect(*source, depth + 1));
      }
    }
    return {};
  }

  Status texts(const std::string& name, const std::string& rule, const YamlNode& entry, std::vector<std::string>& out) const {
    const YamlNode* list = field(name);
    if (list == nullptr) return at("C-28", fmt::format("{}, an entry needs {}", rule, name), entry);
    if (list->kind != YamlNode::Kind::kSequence) return at("C-28", fmt::format("{}, {} must be a list of texts", rule, name), *list);
    if (list->items.empty()) return at("C-28", fmt::format("{}, {} must not be empty", rule, name), *list);
    for (const YamlNode& item : list->items) {
      if (!item.is_text()) return at("C-28", fmt::format("{}, every item of {} must be a text", rule, name), item).advise("put it into quotes");
      out.push_back(item.text);
    }
    return {};
  }

  /// The value of a scalar; null for what is no scalar and for a date, which no type accepts.
  Result<Json> scalar(const YamlNode& node) const {
    if (node.kind != YamlNode::Kind::kScalar || node.type() == YamlNode::Type::kTimestamp) return Json();
    return codec::yaml_value(document_, node);
  }

  Status flag(const std::string& name, bool& out) const {
    const YamlNode* node = field(name);
    if (node == nullptr) return {};
    PAWL_ASSIGN(const Json value, scalar(*node));
    const auto read = plan::lax_bool(value);
    if (!read) return at("C-28", fmt::format("{} must be true or false", name), *node);
    out = *read;
    return {};
  }

  const YamlDocument& document_;
  const std::vector<std::string>& keys_;
  bool no_evals_;
  std::map<std::string, const YamlNode*> fields_;
};

}  // namespace

Result<LedgerEntry> read_entry(const YamlDocument& document, const YamlNode& node, bool no_evals) { return EntryReader(document, no_evals).read(node); }

Json entry_json(const LedgerEntry& entry) {
  Json out{{"config-keys", entry.config_keys}, {"description", entry.description}, {"pr-link", entry.pr_link},
           {"evals-only", entry.evals_only},   {"all-evals", entry.all_evals},     {"append-only", entry.append_only}};
  if (entry.no_evals) out["no-evals"] = *entry.no_evals;
  if (entry.eval_min_prefill_ep) out["eval-min-prefill-ep"] = *entry.eval_min_prefill_ep;
  if (entry.scenario_type) out["scenario-type"] = *entry.scenario_type;
  return out;
}

}  // namespace pawl::changelog
