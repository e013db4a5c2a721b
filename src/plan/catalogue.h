#pragma once

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

namespace pawl::plan {

/// Where the files of a catalogue lie, relative to its folder.
struct Layout {
  std::string name;                  ///< "root", "inferencex-e2e", "historical"
  std::vector<std::string> masters;  ///< in load order: AMD first, as the reference's changelog processor has it
  std::string runners;
  std::string changelog;
  std::string shown_folder = {};  ///< put before file names in errors, so that a person can open them; ends in '/' or is empty
};

/// The layouts that exist in the field, newest first.
[[nodiscard]] const std::vector<Layout>& known_layouts();

/// The layout whose files are among `paths`; nothing when none fits.
[[nodiscard]] std::optional<Layout> find_layout(const std::vector<std::string>& paths);

/// One config key of a master file.
struct Recipe {
  std::string key;
  std::string file;                       ///< path of the master file
  const codec::YamlNode* node = nullptr;  ///< its mapping; owned by the catalogue
  codec::Json config;                     ///< raw values, in file order; null when the entry is no mapping

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
  static Result<Catalogue> read(const Layout& layout, const std::map<std::string, std::string>& texts);
  /// The same, but goes on after what is wrong: what could be read is there, the rest is said in `problems`.
  static Catalogue read_leniently(const Layout& layout, const std::map<std::string, std::string>& texts, std::vector<LoadProblem>& problems);

  Catalogue(Catalogue&&) = default;
  Catalogue& operator=(Catalogue&&) = default;
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const std::vector<Recipe>& recipes() const { return recipes_; }
  [[nodiscard]] std::vector<std::string> keys() const;
  /// kNotFound, with the nearest key as the remedy.
  [[nodiscard]] Result<const Recipe*> find(std::string_view key) const;
  /// The place of a node of this recipe's file, for errors.
  [[nodiscard]] SourcePlace place(const Recipe& recipe, const codec::YamlNode& node) const;
  [[nodiscard]] const codec::YamlDocument& document(const std::string& file) const;
  /// The runners file; null when it was not among the texts or is no YAML.
  [[nodiscard]] const codec::YamlDocument* runners() const { return runners_.get(); }
  /// The nodes of a label, null when runners.yaml has no such label.
  [[nodiscard]] const std::vector<std::string>* nodes(const std::string& label) const;
  /// The hardware of a label, null when runners.yaml has none for exactly this label.
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

  void take_master(const std::string& master, const std::string& bytes, std::vector<LoadProblem>& problems);
  void take_runners(const std::string& bytes, std::vector<LoadProblem>& problems);
};

/// "SGLang" for `sglang` and `dynamo-sglang`, "vLLM", "TensorRT-LLM", …; the framework itself when it has no such name.
[[nodiscard]] std::string engine_name(std::string_view framework);

}  // namespace pawl::plan
