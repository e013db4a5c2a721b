#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace pawl::plan {

struct ObjectSpec;

/// What a value may be (data/catalog/schema.yaml says it in words).
struct ValueType {
  enum class Kind {
    kText,
    kFilled,
    kInteger,
    kCount,
    kSize,
    kBoolean,
    kSwitch,
    kShare,
    kYes,
    kNo,
    kVersion,
    kPath,
    kNodes,
    kAny,
    kOneOf,
    kList,
    kMap,
    kObject
  };
  Kind kind = Kind::kAny;
  std::vector<std::string> words;      ///< kOneOf
  std::shared_ptr<ValueType> item;     ///< kList, kMap
  const ObjectSpec* object = nullptr;  ///< kObject; of the same generation
  std::string object_id;               ///< kObject
};

struct FieldSpec {
  std::string name;  ///< canonical spelling, with '-'
  ValueType type;
  bool required = false;
  bool nullable = false;  ///< a null is "not given"
  std::size_t least = 0;  ///< of a list
  std::string rule;       ///< id named when the value is wrong; empty: "type"
  std::string doc;
};

/// One kind of mapping, as one generation of the schema has it.
struct ObjectSpec {
  std::string id, title;
  bool concurrency = false;  ///< needs a range or a list of concurrencies (M-20)
  std::vector<FieldSpec> fields;
  std::map<std::string, std::string, std::less<>> elsewhere;  ///< key of another generation → "known from generation 2026-10 on"
};

/// One generation of the schema with the settings that expansion reads (data/catalog/layouts.yaml explains each).
struct Generation {
  enum class RecipePlace { kNone, kSettings, kEntry, kDirectory };
  enum class Fingerprint { kRow, kRowNormalised, kRowAndRecipe };

  std::string id;
  std::size_t rank = 0;            ///< from 0, the oldest
  std::vector<std::string> marks;  ///< "entry.worker": keys that show this generation
  RecipePlace recipe = RecipePlace::kNone;
  bool worker_form = false;  ///< aggregated multi-node entries have `worker` and `num-nodes`; rows have `node-count`
  bool check_variant = false;
  std::vector<std::string> agentic_group;
  std::int64_t agentic_min_eval_conc = 16;  ///< 0: none
  bool agentic_fallback = false, trim_agentic = false;
  Fingerprint fingerprint = Fingerprint::kRow;
  bool no_evals = false;
  std::map<std::string, ObjectSpec, std::less<>> objects;

  [[nodiscard]] const ObjectSpec& object(std::string_view id) const;
};

class Format;

/// Where the files of a catalogue lie, relative to its folder.
struct Layout {
  std::string name;                  ///< "e2e", "root", "github-configs"; another word when the files were given one by one
  std::vector<std::string> masters;  ///< in load order: AMD first, as the reference's changelog processor has it
  std::string runners;
  std::string changelog;
  std::string shown_folder = {};              ///< put before file names in errors, so that a person can open them; ends in '/' or is empty
  std::string project = {};                   ///< folder that recipe paths are relative to; empty or ends in '/'
  bool flat_runners = false;                  ///< the runners file is the map of labels itself
  std::vector<std::string> generations = {};  ///< that it can hold, the one to assume first
  std::string generation = {};                ///< the one that a person chose; empty: found by its marks
  std::shared_ptr<const Format> format = {};  ///< what the generations mean
};

/// The data under data/catalog: layouts, generations, the schema. Immutable.
class Format {
 public:
  /// Errors: with the place in the data file. `layouts`, `schema`: bytes of layouts.yaml and schema.yaml.
  static Result<std::shared_ptr<const Format>> read(const std::string& layouts, const std::string& schema);

  /// The layouts that exist in the field, in the order in which a folder is looked at; each carries its format.
  [[nodiscard]] static std::vector<Layout> layouts(const std::shared_ptr<const Format>& format);
  [[nodiscard]] const std::vector<Generation>& generations() const { return generations_; }
  /// kNotFound with the nearest name.
  [[nodiscard]] Result<const Generation*> generation(std::string_view id) const;
  /// A layout by its name or an older one; kNotFound with the nearest name.
  [[nodiscard]] static Result<Layout> layout(const std::shared_ptr<const Format>& format, std::string_view name);

 private:
  struct Named {
    Layout layout;
    std::vector<std::string> also;
  };
  std::vector<Named> layouts_;
  std::vector<Generation> generations_;
};

/// What a file of the catalogue is made of.
enum class FileKind { kMaster, kRunners, kChangelog };

/// JSON Schema (draft 2020-12) of a file, for editors. Stricter than the check in one point: only the spelling with '-'.
/// Looser where a rule spans several objects.
[[nodiscard]] codec::Json json_schema(const Generation& generation, FileKind kind);

}  // namespace pawl::plan
