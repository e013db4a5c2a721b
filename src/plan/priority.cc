#include "plan/priority.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "codec/yaml.h"

namespace pawl::plan {
namespace {

using codec::Json;
using codec::YamlNode;
using Points = PriorityPolicy::Points;

constexpr Points kOne = 1'000'000'000;
constexpr Points kThousandth = kOne / 1000;
constexpr std::size_t kTokenDigits = 32;

bool has(const std::vector<std::string>& words, std::string_view word) { return std::ranges::find(words, word) != words.end(); }
bool any_of(const std::vector<std::string>& words, const std::vector<std::string>& wanted) {
  return std::ranges::any_of(words, [&](const std::string& word) { return has(wanted, word); });
}

/// Exact decimal text to points; at most nine decimals.
std::optional<Points> points_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto dot = text.find('.');
  const std::string whole(text.substr(0, dot));
  std::string decimals(dot == std::string_view::npos ? "" : text.substr(dot + 1));
  if (decimals.size() > 9) return std::nullopt;
  decimals.resize(9, '0');
  const auto high = parse_int(whole.empty() ? "0" : whole), low = parse_int(decimals);
  if (!high || !low || *high < 0 || *high > 1'000'000'000 || *low < 0) return std::nullopt;
  const Points value = *high * kOne + *low;
  return negative ? -value : value;
}

/// Reads the policy's nodes; what is absent stays as it is.
class PolicyReader {
 public:
  explicit PolicyReader(const codec::YamlDocument& document) : document_(document) {}

  Status points(const YamlNode* node, Points& out) const {
    if (node == nullptr) return {};
    const bool number = node->kind == YamlNode::Kind::kScalar && (node->type() == YamlNode::Type::kInt || node->type() == YamlNode::Type::kFloat);
    const auto value = number ? points_of(node->text) : std::nullopt;
    if (!value) return bad_input("a score must be a number with at most nine decimals").at(document_.place(*node));
    out = *value;
    return {};
  }
  Status table(const YamlNode* node, PriorityPolicy::Table& out) const {
    if (node == nullptr) return {};
    if (node->kind != YamlNode::Kind::kMapping) return bad_input("a mapping from words to scores is expected").at(document_.place(*node));
    for (const codec::YamlEntry& entry : node->entries) {
      Points value = 0;
      PAWL_TRY(points(&entry.value, value));
      out.emplace_back(entry.key.text, value);
    }
    return {};
  }
  Status words(const YamlNode* node, std::vector<std::string>& out) const {
    if (node == nullptr) return {};
    for (const YamlNode& item : node->items) {
      if (!item.is_text()) return bad_input("a label must be a text").at(document_.place(item));
      out.push_back(item.text);
    }
    return {};
  }

 private:
  const codec::YamlDocument& document_;
};

const YamlNode* below(const YamlNode* node, std::initializer_list<const char*> path) {
  for (const char* key : path) {
    if (node != nullptr) node = node->find(key);
  }
  return node;
}

/// Equal, or followed by '-'.
bool begins_with_word(std::string_view value, std::string_view word) {
  return value.starts_with(word) && (value.size() == word.size() || value[word.size()] == '-');
}

Points exact(const PriorityPolicy::Table& table, std::string_view value) {
  const auto found = std::ranges::find(table, value, [](const auto& entry) -> const std::string& { return entry.first; });
  return found == table.end() ? 0 : found->second;
}

Points by_prefix(const PriorityPolicy::Table& table, std::string_view value) {
  const auto found = std::ranges::find_if(table, [&](const auto& entry) { return begins_with_word(value, entry.first); });
  return found == table.end() ? 0 : found->second;
}

/// What of a row counts.
struct Facts {
  bool multi_node, agentic, eval_only;
  std::string precision, spec_decoding, framework, model_prefix;
};

Facts facts_of(const Json& row) {
  const auto text = [&](const char* key) {
    const auto found = row.find(key);
    return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto prefill = row.find("prefill"), eval_only = row.find("eval-only");
  return {prefill != row.end() && !prefill->is_null(),
          text("scenario-type") == "agentic-coding",
          eval_only != row.end() && *eval_only == true,
          text("precision"),
          text("spec-decoding"),
          text("framework"),
          text("model-prefix")};
}

void keep_named(Facts& facts, const PriorityPolicy& policy, const std::vector<std::string>& criteria) {
  facts.multi_node = facts.multi_node && has(criteria, "multi-node");
  facts.agentic = facts.agentic && has(criteria, "agentic");
  facts.eval_only = facts.eval_only && has(criteria, "eval-only");
  if (!has(criteria, facts.precision)) facts.precision.clear();
  if (!has(criteria, facts.spec_decoding)) facts.spec_decoding.clear();
  const auto named = [&](const PriorityPolicy::Table& table, const std::string& value) {
    return std::ranges::any_of(table, [&](const auto& entry) { return has(criteria, entry.first) && begins_with_word(value, entry.first); });
  };
  if (!named(policy.frameworks, facts.framework)) facts.framework.clear();
  if (!named(policy.model_prefixes, facts.model_prefix)) facts.model_prefix.clear();
}

std::string three_decimals(Points points) {
  const bool negative = points < 0;
  const Points thousandths = ((negative ? -points : points) + kThousandth / 2) / kThousandth;  // half-up, away from zero
  return fmt::format("{}{}.{:03}", negative && thousandths != 0 ? "-" : "", thousandths / 1000, thousandths % 1000);
}

struct Annotator {
  const PriorityPolicy& policy;
  const PriorityInput& input;

  Json walk(const Json& value, const std::string& path) const {
    const auto step = [&](const std::string& key) { return path.empty() ? key : path + "/" + key; };
    if (value.is_array()) {
      Json out = Json::array();
      for (std::size_t i = 0; i < value.size(); ++i) out.push_back(walk(value[i], step(fmt::format("{}", i))));
      return out;
    }
    if (!value.is_object()) return value;
    Json out = Json::object();
    for (auto it = value.begin(); it != value.end(); ++it) out[it.key()] = walk(it.value(), step(it.key()));
    if (!value.contains("runner") || !value.contains("framework")) return out;
    out["priority"] = priority_of(policy, value, input);
    out["queue-token"] = sha256_hex(fmt::format("{}:{}:{}", input.queue_namespace, path, codec::write_json_sorted(value))).substr(0, kTokenDigits);
    if (input.pull_request && *input.pull_request != 0 && has(input.labels, policy.skip_label)) out["skip-queue-pr"] = *input.pull_request;
    return out;
  }
};

}  // namespace

Result<PriorityPolicy> PriorityPolicy::read(const std::string& bytes, const std::string& name) {
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(bytes, name));
  const YamlNode* root = &document.root;
  if (root->kind != YamlNode::Kind::kMapping) return bad_input("a priority policy must be a mapping").at(document.place(*root));
  const YamlNode* version = root->find("version");
  if (version == nullptr || version->kind != YamlNode::Kind::kScalar || codec::yaml_integer_digits(*version) != "1") {
    return bad_input("a priority policy must have version: 1").at(document.place(version == nullptr ? *root : *version));
  }
  const PolicyReader in(document);
  PriorityPolicy policy;
  PAWL_TRY(in.points(root->find("base-score"), policy.base));
  const YamlNode* adjustments = root->find("adjustments");
  PAWL_TRY(in.points(below(adjustments, {"multi-node"}), policy.multi_node));
  PAWL_TRY(in.points(below(adjustments, {"agentic"}), policy.agentic));
  PAWL_TRY(in.points(below(adjustments, {"eval-only"}), policy.eval_only));
  PAWL_TRY(in.table(below(adjustments, {"event"}), policy.events));
  PAWL_TRY(in.table(below(adjustments, {"precision"}), policy.precisions));
  PAWL_TRY(in.table(below(adjustments, {"spec-decoding"}), policy.spec_decodings));
  PAWL_TRY(in.table(below(adjustments, {"framework-prefix"}), policy.frameworks));
  PAWL_TRY(in.table(below(adjustments, {"model-prefix"}), policy.model_prefixes));
  const YamlNode* labels = root->find("labels");
  if (const YamlNode* skip = below(labels, {"skip-queue", "name"})) policy.skip_label = skip->text;
  PAWL_TRY(in.words(below(labels, {"checklist-complete", "names"}), policy.checklist_labels));
  PAWL_TRY(in.points(below(labels, {"checklist-complete", "adjustment"}), policy.checklist));
  PAWL_TRY(in.words(below(labels, {"patchwork", "names"}), policy.patchwork_labels));
  PAWL_TRY(in.words(below(labels, {"patchwork", "waived-by"}), policy.patchwork_waivers));
  PAWL_TRY(in.points(below(labels, {"patchwork", "score"}), policy.patchwork));
  return policy;
}

std::vector<std::string> PriorityPolicy::known_criteria() const {
  std::vector<std::string> words{"multi-node", "agentic", "eval-only", "checklist-complete", "patchwork"};
  for (const Table* table : {&precisions, &spec_decodings, &frameworks, &model_prefixes}) {
    for (const auto& [word, points] : *table) words.push_back(word);
  }
  return words;
}

std::string priority_of(const PriorityPolicy& policy, const Json& row, const PriorityInput& input) {
  const auto criterion = [&](const char* word) { return input.criteria && has(*input.criteria, word); };
  const bool patched = criterion("patchwork") || any_of(input.labels, policy.patchwork_labels);
  if (patched && !any_of(input.labels, policy.patchwork_waivers)) return three_decimals(policy.patchwork);
  Facts facts = facts_of(row);
  if (input.criteria) keep_named(facts, policy, *input.criteria);
  Points score = policy.base + exact(policy.events, input.event);
  if (facts.multi_node) score += policy.multi_node;
  if (facts.agentic) score += policy.agentic;
  if (facts.eval_only) score += policy.eval_only;
  score += exact(policy.precisions, facts.precision) + exact(policy.spec_decodings, facts.spec_decoding);
  score += by_prefix(policy.frameworks, facts.framework) + exact(policy.model_prefixes, facts.model_prefix);
  if (any_of(input.labels, policy.checklist_labels) || criterion("checklist-complete")) score += policy.checklist;
  return three_decimals(score);
}

Result<Json> annotate_priorities(const PriorityPolicy& policy, const Json& matrix, const PriorityInput& input) {
  if (input.criteria) {
    const auto known = policy.known_criteria();
    for (const std::string& word : *input.criteria) {
      if (has(known, word)) continue;
      const auto near = nearest(word, known);
      return bad_input(fmt::format("unknown criterion '{}'", word), near ? fmt::format("did you mean {}?", *near) : "known: " + join(known, ", "));
    }
  }
  return Annotator{policy, input}.walk(matrix, {});
}

}  // namespace pawl::plan
