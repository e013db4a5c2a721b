#include "plan/eval_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/hash.h"
#include "codec/json_member.h"
#include "plan/typing.h"

namespace pawl::plan {
namespace {

using codec::Json;

constexpr std::int64_t kEvalConcMin = 16;
constexpr std::int64_t kEvalIsl = 8192, kEvalOsl = 1024;

const Json& field(const Json& row, std::string_view name) {
  static const Json nothing;
  const Json* found = codec::member(row, name);
  return found == nullptr ? nothing : *found;
}

bool agentic(const Json& row) { return codec::member(row, "scenario-type") != nullptr; }

bool eval_sequence(const Json& row) {
  const auto isl = number_of(field(row, "isl")), osl = number_of(field(row, "osl"));
  return isl && osl && isl->value == kEvalIsl && osl->value == kEvalOsl;
}

Result<Number> comparable(const Json& value, const Json& row) {
  if (const auto number = number_of(value)) return *number;
  return bad_input(fmt::format("{}: the concurrency {} is not a number, evals cannot be chosen by it", python_text(field(row, "exp-name")), value.dump()),
                   "write it without quotes");
}

/// The members of an object by name, but for those left out.
std::vector<const Json::object_t::value_type*> sorted_members(const Json& object, std::initializer_list<std::string_view> skipped) {
  const auto& all = object.get_ref<const Json::object_t&>();
  std::vector<const Json::object_t::value_type*> members;
  members.reserve(all.size());
  for (const auto& member : all) {
    if (std::ranges::find(skipped, member.first) == skipped.end()) members.push_back(&member);
  }
  std::ranges::sort(members, {}, [](const auto* m) -> const std::string& { return m->first; });
  return members;
}

/// Makes values that Python calls equal (1, 1.0, True) the same text.
void append_key(std::string& key, const Json& value) {
  if (const auto number = number_of(value)) {
    char digits[24];
    key.append(digits, std::to_chars(digits, digits + sizeof digits, number->value).ptr);
  } else if (value.is_object()) {
    key += '{';
    for (const Json::object_t::value_type* member : sorted_members(value, {})) {
      key.append(member->first) += '\1';
      append_key(key, member->second);
      key += '\2';
    }
    key += '}';
  } else if (value.is_array()) {
    key += '[';
    for (const Json& item : value) append_key(key, item);
    key += ']';
  } else if (value.is_string()) {
    key += '"';
    key += value.get_ref<const std::string&>();
  } else {
    key += value.dump();
  }
  key += '\3';
}

std::string group_of(const Json& row, const auto& fields) {
  std::string key;
  for (const auto& name : fields) append_key(key, field(row, name));
  return key;
}

std::string single_group(const Json& row) {
  return group_of(row, std::array<std::string_view, 8>{"model", "runner", "framework", "precision", "isl", "osl", "spec-decoding", "dp-attn"});
}

/// All fields except those that vary inside one curve.
std::string key_without(const Json& row, std::initializer_list<std::string_view> skipped) {
  std::string key;
  for (const Json::object_t::value_type* member : sorted_members(row, skipped)) {
    key.append(member->first) += '\1';
    append_key(key, member->second);
  }
  return key;
}

std::string topology_of(const Json& row) { return key_without(row, {"conc", "run-eval", "eval-only", "eval-conc", "eval-all-concs", "exp-name"}); }

constexpr std::uint32_t kNoGroup = UINT32_MAX;

}  // namespace

/// What was seen of the groups inside which evals are chosen. Of a large catalogue keys are large and many: beyond the first MiB of them they are hashed.
struct EvalMarks::Groups {
  /// Of a curve on one node: its concurrencies, those that are large enough.
  std::vector<std::set<std::int64_t>> curves;
  /// Of a topology, or of the single-node agentic rows of a model: the row with the largest concurrency, and, for `--all-evals`, all concurrencies.
  struct Choice {
    std::size_t row = SIZE_MAX;
    Number conc;
    std::size_t first_row = SIZE_MAX;
    std::map<std::int64_t, Json> concs;
    std::string identity;  ///< with `agentic_fallback`: what the results' database tells agentic deployments apart by
    bool offloads = false;
  };
  std::vector<Choice> choices;
  /// The multi-node agentic rows of a model on a runner: whether one is evaluated, and the one to take when none is.
  struct Deployment {
    bool served = false;
    std::size_t row = SIZE_MAX;
    Number conc;
  };
  std::map<std::string, Deployment> deployments;

  std::uint32_t curve(const std::string& key) { return index_of(curve_index_, key, curves); }
  std::uint32_t choice(const std::string& key) { return index_of(choice_index_, key, choices); }

 private:
  static constexpr std::size_t kKeysKept = 4u << 20, kShortKey = 80;  ///< bytes
  std::size_t kept_ = 0;
  template <class T>
  std::uint32_t index_of(std::unordered_map<std::string, std::uint32_t>& index, const std::string& key, std::vector<T>& all) {
    if (const auto known = index.find(key); known != index.end()) return known->second;
    // A group that is new when the room for keys is used up is found under its hash from then on.
    const bool room = kept_ + key.size() <= kKeysKept || key.size() <= kShortKey;
    if (room) kept_ += key.size();
    const auto [slot, fresh] = index.try_emplace(room ? key : sha256_hex(key), static_cast<std::uint32_t>(all.size()));
    if (fresh) all.emplace_back();
    return slot->second;
  }
  std::unordered_map<std::string, std::uint32_t> curve_index_, choice_index_;
};

EvalMarks::EvalMarks(const GeneratorOptions& options, EvalRules rules)
    : none_(options.no_evals),
      all_(options.all_evals),
      only_(options.evals_only || options.all_evals),
      rules_(std::move(rules)),
      groups_(std::make_unique<Groups>()) {}
EvalMarks::~EvalMarks() = default;

Status EvalMarks::observe(const Json& row) {
  if (none_) return {};
  const std::size_t index = notes_.size();
  Note& note = notes_.emplace_back();
  const bool is_agentic = agentic(row), multi = codec::member(row, "prefill") != nullptr;
  note.eval_sequence = is_agentic || eval_sequence(row);
  note.group = kNoGroup;
  if (is_agentic && !only_) return {};
  if (!multi && is_agentic) {
    PAWL_ASSIGN(const Number conc, comparable(field(row, "conc"), row));
    note.kind = Kind::kSingleAgentic;
    note.group = groups_->choice(group_of(row, rules_.agentic_group));
    Groups::Choice& choice = groups_->choices[note.group];
    if (choice.row == SIZE_MAX || conc.value > choice.conc.value) choice.row = index, choice.conc = conc;
    return {};
  }
  if (!note.eval_sequence) return {};
  if (!multi) {
    PAWL_ASSIGN(const Number conc, comparable(field(row, "conc"), row));
    note.kind = Kind::kSingleFixed;
    note.conc = conc.value;
    if (conc.value < kEvalConcMin) return {};
    note.group = groups_->curve(single_group(row));
    groups_->curves[note.group].insert(conc.value);
    return {};
  }
  note.kind = is_agentic ? Kind::kMultiAgentic : Kind::kMultiFixed;
  const std::int64_t least = is_agentic ? rules_.agentic_min_conc : kEvalConcMin;
  const bool settles = is_agentic && rules_.agentic_fallback;
  std::optional<Number> largest, highest;
  for (const Json& conc : field(row, "conc")) {
    PAWL_ASSIGN(const Number number, comparable(conc, row));
    if (!highest || number.value > highest->value) highest = number;
    if (number.value >= least && (!largest || number.value > largest->value)) largest = number;
  }
  if (!largest && !all_ && !settles) return {};
  note.group = groups_->choice(topology_of(row));
  Groups::Choice& choice = groups_->choices[note.group];
  if (choice.first_row == SIZE_MAX) choice.first_row = index;
  if (settles) {
    Groups::Deployment& deployment = groups_->deployments[group_of(row, std::array{"model", "runner", "framework", "precision"})];
    deployment.served = deployment.served || largest;
    if (highest && (deployment.row == SIZE_MAX || highest->value > deployment.conc.value)) deployment.row = index, deployment.conc = *highest;
    choice.identity = group_of(row, std::array{"model", "model-prefix", "runner", "framework", "precision", "spec-decoding", "disagg"});
    for (const char* role : {"prefill", "decode"}) choice.identity += group_of(row[role], std::array{"num-worker", "tp", "ep", "dp-attn"});
    choice.offloads = field(row, "kv-offloading") != "none";
  }
  if (largest && (choice.row == SIZE_MAX || largest->value > choice.conc.value)) choice.row = index, choice.conc = *largest;
  if (all_) {
    for (const Json& conc : row["conc"]) choice.concs.try_emplace(number_of(conc)->value, conc);
  }
  return {};
}

void EvalMarks::settle() {
  for (const auto& [key, deployment] : groups_->deployments) {
    if (deployment.served || deployment.row == SIZE_MAX) continue;
    Groups::Choice& choice = groups_->choices[notes_[deployment.row].group];
    choice.row = deployment.row, choice.conc = deployment.conc;
  }
  std::vector<Groups::Choice*> chosen;
  for (Groups::Choice& choice : groups_->choices) {
    if (!choice.identity.empty() && choice.row != SIZE_MAX) chosen.push_back(&choice);
  }
  std::ranges::sort(chosen, {}, &Groups::Choice::row);
  std::map<std::pair<std::string, std::int64_t>, Groups::Choice*> kept;
  for (Groups::Choice* choice : chosen) {
    const auto [slot, fresh] = kept.try_emplace({choice->identity, choice->conc.value}, choice);
    if (fresh) continue;
    if (slot->second->offloads && !choice->offloads) std::swap(slot->second, choice);
    choice->row = SIZE_MAX;
  }
}

bool EvalMarks::apply(Json& row) {
  if (none_) return true;
  if (applied_ == 0 && rules_.agentic_fallback) settle();
  const std::size_t index = applied_++;
  const Note& note = notes_[index];
  const bool multi = note.kind == Kind::kMultiFixed || note.kind == Kind::kMultiAgentic;
  bool selected = all_ && note.eval_sequence;
  std::optional<Json> eval_conc;
  if (note.group == kNoGroup) {
    // nothing beyond what is said above
  } else if (note.kind == Kind::kSingleFixed) {
    const std::set<std::int64_t>& curve = groups_->curves[note.group];
    selected = selected || note.conc == *curve.rbegin() || note.conc == *std::next(curve.begin(), static_cast<std::ptrdiff_t>(curve.size() / 2));
  } else {
    const Groups::Choice& choice = groups_->choices[note.group];
    selected = selected || choice.row == index;
    if (multi && choice.row == index) eval_conc = choice.conc.json();
  }
  const Groups::Choice* merged = all_ && multi ? &groups_->choices[note.group] : nullptr;
  if (merged != nullptr && merged->first_row != index) return false;
  if (only_ && !selected) return false;
  row["run-eval"] = selected;
  if (merged != nullptr) {
    Json concs = Json::array();
    for (const auto& [value, conc] : merged->concs) concs.push_back(conc);
    eval_conc.reset();
    if (note.kind == Kind::kMultiFixed) {
      row["eval-all-concs"] = true;
    } else if (!concs.empty()) {
      eval_conc = concs.back();
    }
    row["conc"] = std::move(concs);
  }
  if (eval_conc) row["eval-conc"] = std::move(*eval_conc);
  if (only_) row["eval-only"] = true;
  return true;
}

Matrix trim_concurrencies(Matrix matrix, bool agentic_multi) {
  Matrix kept;
  std::unordered_map<std::string, std::size_t> lowest;  // group → its row in `matrix`
  std::vector<bool> keep(matrix.rows.size(), true);
  const auto conc = [&](std::size_t row) {
    const Json& written = matrix.rows[row]["conc"];
    return number_of(written.is_array() && !written.empty() ? written[0] : written).value_or(Number{INT64_MAX, false}).value;
  };
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    Json& row = matrix.rows[i];
    if (!field(row, "prefill").is_null()) {
      Json& concs = row["conc"];
      if (concs.size() > 1) {
        const auto least = std::ranges::min_element(concs, {}, [](const Json& c) { return number_of(c).value_or(Number{INT64_MAX, false}).value; });
        concs = Json::array({*least});
      }
      if (!agentic_multi || !agentic(row)) continue;
    }
    const auto [slot, fresh] = lowest.try_emplace(key_without(row, {"conc", "exp-name"}), i);
    if (fresh) continue;
    const bool lower = conc(i) < conc(slot->second);
    keep[lower ? slot->second : i] = false;
    if (lower) slot->second = i;
  }
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    if (!keep[i]) continue;
    kept.rows.push_back(std::move(matrix.rows[i]));
    kept.origins.push_back(matrix.origins[i]);
  }
  return kept;
}

}  // namespace pawl::plan
