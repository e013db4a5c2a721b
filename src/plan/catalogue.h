#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "codec/yaml.h"
#include "plan/format.h"
#include "plan/recipe_file.h"

namespace pawl::plan {

/// The files of a catalogue: layout, and path → bytes.
struct CatalogueTexts {
  Layout layout;
  std::map<std::string, std::string> texts;
};

/// The bytes of a file of the catalogue's folder or commit; nothing when it is not there.
using FileReader = std::function<Result<std::optional<std::string>>(const std::string& path)>;

/// Finds the layout whose runners file and at least one master are there, and reads its files: masters (those that are
/// there), runners, changelog if there is one, and the recipe files that the entries name where the generation looks into
/// them. `layout`, `generation`: chosen by a person; empty: found. Errors: those of `read`; an unknown name with the
/// nearest one; kNotFound when no layout fits; kConflict when two do.
[[nodiscard]] Result<CatalogueTexts> collect_catalogue(const std::shared_ptr<const Format>& format, const FileReader& read, const std::string& layout = {},
                                                       const std::string& generation = {});

/// Paths of the recipe files that the entries of these master files name. Empty for generations that do not look into
/// recipes, and for files that cannot be read.
[[nodiscard]] std::vector<std::string> named_recipe_files(const Layout& layout, const std::map<std::string, std::string>& texts);

/// One config key of a master file.
struct Recipe {
  std::string key;
  std::string file;                       ///< path of the master file
  const codec::YamlNode* node = nullptr;  ///< its mapping; owned by the catalogue
  bool readable = false;                  ///< the entry is a mapping whose values pawl can hold

  /// The raw values, in file order; null when the entry is not `readable`. Made anew by every call: a catalogue may hold very many recipes.
  [[nodiscard]] codec::Json config() const;
  [[nodiscard]] std::string text(const char* name) const;  ///< a config-level text, empty when absent
  [[nodiscard]] std::string image() const { return text("image"); }
  [[nodiscard]] std::string framework() const { return text("framework"); }
  [[nodiscard]] std::string runner() const { return text("runner"); }
};

/// What runners.yaml says of one label's machines.
struct Hardware {
  std::int64_t dram_mib = 0;  ///< memory of one node that offloading may use
  std::int64_t gpus_per_node = 0;
};

/// The path from the project of the recipe that an entry names: `benchmarks/<single|multi>_node/srt-slurm-recipes/…`, with
/// its selector. Nothing when it names none in that form.
[[nodiscard]] std::optional<std::string> recipe_path(const Recipe& recipe, const std::string& written);

/// Something that is wrong with the files before any entry is looked into (M-01 to M-04, unreadable YAML).
struct LoadProblem {
  std::string rule;    ///< id of the contract, "yaml" for text that is no YAML, "value" for values beyond our limits
  std::string config;  ///< config key, when it is about one
  Error error;
};

/// The loaded master files. Movable, not copyable: recipes point into it.
class Catalogue {
 public:
  /// `texts`: path → bytes of every file of the layout. Errors carry file, line and column: YAML that cannot be read, a
  /// top level or an entry that is no mapping, a key with `*`, a key in two files.
  /// The runners file may be missing among the texts: then no label has nodes or hardware.
  static Result<Catalogue> read(const Layout& layout, std::map<std::string, std::string> texts, const codec::YamlLimits& limits = {});
  /// The same, but goes on after what is wrong: what could be read is there, the rest is said in `problems`.
  static Catalogue read_leniently(const Layout& layout, std::map<std::string, std::string> texts, std::vector<LoadProblem>& problems,
                                  const codec::YamlLimits& limits = {});

  Catalogue(Catalogue&&) = default;
  Catalogue& operator=(Catalogue&&) = default;
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const std::vector<Recipe>& recipes() const { return recipes_; }
  [[nodiscard]] std::vector<std::string> keys() const;
  /// The generation that the files are read as: chosen by the layout, or found by its marks. Requires a layout with a
  /// format.
  [[nodiscard]] const Generation& generation() const;
  [[nodiscard]] const Generation* generation_or_null() const { return generation_; }
  /// A recipe, by its path from the project with its selector: merged, over `below` where given. kNotFound: no such file among the texts, or no
  /// such variant; kInvalid: a file that cannot be read.
  [[nodiscard]] Result<codec::Json> variant(const std::string& path, const codec::Json* below = nullptr) const;
  /// A block that recipes are merged over (configs/srt-recipes/NAME.yaml of the project); null when it is not there.
  [[nodiscard]] const codec::Json* shared_block(const std::string& name) const;
  /// kNotFound, with the nearest key as the remedy.
  [[nodiscard]] Result<const Recipe*> find(std::string_view key) const;
  /// The place of a node of this recipe's file, for errors.
  [[nodiscard]] SourcePlace place(const Recipe& recipe, const codec::YamlNode& node) const;
  [[nodiscard]] const codec::YamlDocument& document(const std::string& file) const;
  /// The runners file; null when it was not among the texts or is no YAML.
  [[nodiscard]] const codec::YamlDocument* runners() const { return runners_.get(); }
  /// The nodes of a label, null when runners.yaml has no such label.
  [[nodiscard]] const std::vector<std::string>* nodes(const std::string& label) const;
  /// The hardware of a label, null when runners.yaml has none for exactly this label. Where the file has records of
  /// clusters, a broad label ("gb300") has the hardware of its family's clusters when they agree.
  [[nodiscard]] const Hardware* hardware(const std::string& label) const;

 private:
  Catalogue() = default;
  Layout layout_;
  std::vector<std::pair<std::string, std::unique_ptr<codec::YamlDocument>>> documents_;  ///< by path
  std::vector<Recipe> recipes_;
  std::unordered_map<std::string, std::size_t> index_;  ///< config key → its recipe
  std::unique_ptr<codec::YamlDocument> runners_;
  std::unordered_map<std::string, std::vector<std::string>> labels_;
  std::unordered_map<std::string, Hardware> hardware_;
  const Generation* generation_ = nullptr;
  std::map<std::string, Result<RecipeFile>> recipe_files_;  ///< by path from the project
  std::map<std::string, codec::Json> shared_blocks_;

  void find_generation(std::vector<LoadProblem>& problems);
  void take_recipe_files(const std::map<std::string, std::string>& texts);
  void take_master(const std::string& master, std::string bytes, const codec::YamlLimits& limits, std::vector<LoadProblem>& problems);
  void take_runners(std::string bytes, const codec::YamlLimits& limits, std::vector<LoadProblem>& problems);
};

/// "SGLang" for `sglang` and `dynamo-sglang`, "vLLM", "TensorRT-LLM", …; the framework itself when it has no such name.
[[nodiscard]] std::string engine_name(std::string_view framework);

}  // namespace pawl::plan
