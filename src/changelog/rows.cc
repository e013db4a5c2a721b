#include "changelog/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/hash.h"
#include "plan/typing.h"

namespace pawl::changelog {
namespace {

using codec::Json;

enum class Type {
  kText,
  kNonEmpty,
  kInt,
  kCount,     // integer of at least 0
  kParallel,  // strict integer above 0
  kBool,
  kFalse,
  kSpec,
  kOffload,
  kTexts,
  kConc,  // integer, or list of integers
  kConcList,
  kWorker,
  kRouter,
  kBackend,
  kFingerprint
};

/// What an absent key means. A null is an absent one where the key may be absent.
enum class Absent { kRefused, kDropped, kFalse, kNone, kOne, kEmptyList };

struct Field {
  const char* key;
  Type type;
  Absent absent = Absent::kRefused;
};

constexpr std::array kHead{Field{"image", Type::kText}, Field{"model", Type::kText}, Field{"model-prefix", Type::kText}, Field{"precision", Type::kText},
                           Field{"framework", Type::kText}};
constexpr Field kSpec{"spec-decoding", Type::kSpec};
constexpr Field kRunner{"runner", Type::kText};
constexpr std::array kLengths{Field{"isl", Type::kInt}, Field{"osl", Type::kInt}};
constexpr std::array kRanks{Field{"tp", Type::kInt}, Field{"pp", Type::kParallel, Absent::kOne}, Field{"dcp-size", Type::kParallel, Absent::kOne},
                            Field{"pcp-size", Type::kParallel, Absent::kOne}};
constexpr std::array kSpread{Field{"ep", Type::kInt}, Field{"dp-attn", Type::kBool}};
constexpr std::array kPair{Field{"prefill", Type::kWorker}, Field{"decode", Type::kWorker}};
constexpr Field kRouter{"router", Type::kRouter, Absent::kDropped};
constexpr Field kTransfer{"kv-p2p-transfer", Type::kNonEmpty, Absent::kDropped};
constexpr Field kMaxLen{"max-model-len", Type::kInt};
constexpr Field kName{"exp-name", Type::kText};
constexpr std::array kOffload{Field{"kv-offloading", Type::kOffload}, Field{"kv-offload-backend", Type::kBackend, Absent::kDropped}};
constexpr std::array kAgentic{Field{"total-cpu-dram-gb", Type::kCount}, Field{"duration", Type::kInt}};
constexpr Field kScenario{"scenario-type", Type::kText};
constexpr Field kDisagg{"disagg", Type::kBool};
constexpr Field kEvalConc{"eval-conc", Type::kInt, Absent::kDropped};
constexpr std::array kFixedMarks{Field{"run-eval", Type::kBool}, Field{"eval-only", Type::kBool, Absent::kFalse}};
constexpr std::array kAgenticMarks{Field{"run-eval", Type::kBool, Absent::kDropped}, Field{"eval-only", Type::kBool, Absent::kDropped}};
// Fields of generations from 2026-09a on.
constexpr std::array kLater{Field{"node-count", Type::kCount, Absent::kDropped}, Field{"srt-recipe", Type::kNonEmpty, Absent::kDropped},
                            Field{"eval-srt-recipe", Type::kNonEmpty, Absent::kDropped}, Field{"power", Type::kBool, Absent::kDropped},
                            Field{"require-power", Type::kBool, Absent::kDropped}};
constexpr Field kFingerprint{"recipe-fingerprint", Type::kFingerprint, Absent::kDropped};

constexpr std::array kWorker{Field{"num-worker", Type::kInt},
                             kRanks[0],
                             kRanks[1],
                             kRanks[2],
                             kRanks[3],
                             kSpread[0],
                             kSpread[1],
                             Field{"hardware", Type::kNonEmpty, Absent::kDropped},
                             Field{"additional-settings", Type::kTexts, Absent::kEmptyList}};
constexpr std::array kRouterFields{Field{"name", Type::kNonEmpty}, Field{"version", Type::kNonEmpty}};
constexpr std::array kBackendFields{Field{"name", Type::kNonEmpty}, Field{"version", Type::kNonEmpty, Absent::kDropped}};

std::vector<Field> join(std::initializer_list<std::span<const Field>> parts) {
  std::vector<Field> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}
std::span<const Field> one(const Field& field) { return {&field, 1}; }

const std::vector<Field>& layout(RowShape shape) {
  static constexpr Field kConc{"conc", Type::kConc}, kConcInt{"conc", Type::kInt}, kConcList{"conc", Type::kConcList};
  static constexpr Field kNotDisagg{"disagg", Type::kFalse}, kAllConcs{"eval-all-concs", Type::kBool, Absent::kFalse};
  static constexpr Field kSpecOrNone{"spec-decoding", Type::kSpec, Absent::kNone};
  static const std::vector<Field> single_fixed = join({kHead, one(kSpec), one(kRunner), kLengths, kRanks, kSpread, one(kConc), one(kMaxLen), kLater, one(kName),
                                                       one(kNotDisagg), kFixedMarks, one(kRouter), one(kFingerprint)});
  static const std::vector<Field> multi_fixed =
      join({kHead, one(kSpec), one(kRunner), kLengths, kPair, one(kConcList), one(kMaxLen), kLater, one(kName), one(kDisagg), kFixedMarks, one(kEvalConc),
            one(kAllConcs), one(kRouter), one(kTransfer), one(kFingerprint)});
  static const std::vector<Field> single_agentic = join({kHead, one(kRunner), kRanks, kSpread, one(kSpecOrNone), one(kConcInt), kLater, kOffload, one(kRouter),
                                                         kAgentic, one(kName), one(kScenario), kAgenticMarks, one(kFingerprint)});
  static const std::vector<Field> multi_agentic = join({kHead, one(kSpec), one(kRunner), kPair, one(kConcList), kLater, kOffload, one(kRouter), one(kTransfer),
                                                        kAgentic, one(kName), one(kDisagg), one(kScenario), kAgenticMarks, one(kEvalConc), one(kFingerprint)});
  switch (shape) {
    case RowShape::kSingleFixed:
      return single_fixed;
    case RowShape::kMultiFixed:
      return multi_fixed;
    case RowShape::kSingleAgentic:
      return single_agentic;
    case RowShape::kMultiAgentic:
      break;
  }
  return multi_agentic;
}

Error wrong(const std::string& path, std::string_view what) { return bad_input(fmt::format("a matrix row failed validation: {} {}", path, what)); }

Result<Json> object(std::span<const Field> fields, const Json& value, const std::string& path);

Result<Json> int_list(const Json& value, const std::string& path) {
  if (!value.is_array()) return wrong(path, "must be a list of integers");
  Json out = Json::array();
  for (const Json& item : value) {
    const auto number = plan::lax_int(item);
    if (!number) return wrong(path, "must be a list of integers");
    out.push_back(*number);
  }
  return out;
}

Result<Json> coerced(Type type, const Json& value, const std::string& path) {
  const auto word = [&](std::initializer_list<std::string_view> words) -> Result<Json> {
    if (value.is_string() && std::ranges::find(words, value.get_ref<const std::string&>()) != words.end()) return value;
    return wrong(path, "has a value that is not among the known ones");
  };
  switch (type) {
    case Type::kText:
    case Type::kNonEmpty:
      if (!value.is_string() || (type == Type::kNonEmpty && value.get_ref<const std::string&>().empty())) return wrong(path, "must be a text");
      return value;
    case Type::kInt:
    case Type::kCount: {
      const auto number = plan::lax_int(value);
      if (!number || (type == Type::kCount && *number < 0)) return wrong(path, "must be an integer");
      return Json(*number);
    }
    case Type::kParallel:
      if (!value.is_number_integer() || value.get<std::int64_t>() <= 0) return wrong(path, "must be an integer greater than 0");
      return value;
    case Type::kBool: {
      const auto flag = plan::lax_bool(value);
      if (!flag) return wrong(path, "must be true or false");
      return Json(*flag);
    }
    case Type::kFalse:
      if (value.is_string() || plan::lax_bool(value).value_or(true)) return wrong(path, "must be false");
      return Json(false);
    case Type::kSpec:
      return word({"mtp", "draft_model", "none"});
    case Type::kOffload:
      return word({"none", "dram"});
    case Type::kTexts:
      if (!value.is_array() || !std::ranges::all_of(value, [](const Json& item) { return item.is_string(); })) return wrong(path, "must be a list of texts");
      return value;
    case Type::kConc:
      return value.is_array() ? int_list(value, path) : coerced(Type::kInt, value, path);
    case Type::kConcList:
      return int_list(value, path);
    case Type::kWorker:
      return object(kWorker, value, path);
    case Type::kRouter:
      return object(kRouterFields, value, path);
    case Type::kBackend:
      return object(kBackendFields, value, path);
    case Type::kFingerprint:
      if (!value.is_string() || value.get_ref<const std::string&>().size() != 64) return wrong(path, "must be 64 hexadecimal digits");
      return value;
  }
  return internal_error("unknown field type");
}

Result<Json> object(std::span<const Field> fields, const Json& value, const std::string& path) {
  if (!value.is_object()) return wrong(path, "must be a mapping");
  Json out = Json::object();
  const std::string prefix = path.empty() ? "" : path + ".";
  std::size_t known = 0;
  for (const Field& field : fields) {
    const auto found = value.find(field.key);
    if (found != value.end()) ++known;
    // A worker's settings are `[]` when they are not given, and left out when they are null.
    const bool null_list = found != value.end() && found->is_null() && field.absent == Absent::kEmptyList;
    if (null_list || ((found == value.end() || found->is_null()) && field.absent == Absent::kDropped)) continue;
    if (found == value.end() && field.absent != Absent::kRefused) {
      out[field.key] = field.absent == Absent::kFalse  ? Json(false)
                       : field.absent == Absent::kNone ? Json("none")
                       : field.absent == Absent::kOne  ? Json(1)
                                                       : Json::array();
      continue;
    }
    if (found == value.end()) return wrong(prefix + field.key, "is missing");
    PAWL_ASSIGN(out[field.key], coerced(field.type, *found, prefix + field.key));
  }
  if (known == value.size()) return out;
  for (auto it = value.begin(); it != value.end(); ++it) {
    if (std::ranges::none_of(fields, [&](const Field& field) { return it.key() == field.key; })) return wrong(prefix + it.key(), "is no field of its layout");
  }
  return out;
}

}  // namespace

RowShape shape_of(const Json& row) {
  const bool multi = row.contains("prefill") && !row["prefill"].is_null();
  const bool agentic = row.value("scenario-type", Json()) == "agentic-coding";
  return agentic ? (multi ? RowShape::kMultiAgentic : RowShape::kSingleAgentic) : (multi ? RowShape::kMultiFixed : RowShape::kSingleFixed);
}

Result<Json> normal_row(RowShape shape, const Json& row) {
  PAWL_ASSIGN(Json out, object(layout(shape), row, ""));
  if (out.value("disagg", false) && !out.contains("kv-p2p-transfer")) return wrong("disagg", "requires kv-p2p-transfer");
  return out;
}

Json recipe_of(const Json& row) {
  Json out = Json::object();
  for (auto it = row.begin(); it != row.end(); ++it) {
    if (it.key() != "conc" && it.key() != "exp-name" && it.key() != "recipe-fingerprint") out[it.key()] = it.value();
  }
  return out;
}

std::string recipe_fingerprint(const Json& row) { return sha256_hex(codec::write_json_sorted(recipe_of(row))); }

}  // namespace pawl::changelog
