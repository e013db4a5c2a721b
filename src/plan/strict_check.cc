#include "plan/strict_check.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/text.h"
#include "plan/generator.h"
#include "plan/typing.h"

namespace pawl::plan {
namespace {

using codec::YamlNode;

class Finder {
 public:
  Finder(const Catalogue& catalogue, std::vector<Violation>& out) : catalogue_(catalogue), out_(out) {}

  void look(const Recipe& recipe) {
    const YamlNode* runner = recipe.node->find("runner");
    if (runner != nullptr && runner->is_text() && catalogue_.runners() != nullptr && catalogue_.nodes(runner->text) == nullptr) {
      std::vector<std::string> labels;
      const YamlNode& root = catalogue_.runners()->root;
      const YamlNode* known = catalogue_.layout().flat_runners ? &root : root.find("labels");
      if (known != nullptr) {
        for (const codec::YamlEntry& label : known->entries) labels.push_back(label.key.text);
      }
      complain(recipe, *runner, "O-6", "runner", fmt::format("the runner label '{}' is not in {}", runner->text, catalogue_.layout().runners),
               "a label of that file", nearest(runner->text, labels).value_or(""));
    }
    spellings(recipe, *recipe.node, "");
    const YamlNode* scenarios = recipe.node->find("scenarios");
    const YamlNode* fixed = scenarios == nullptr ? nullptr : scenarios->find("fixed-seq-len");
    for (std::size_t i = 0; fixed != nullptr && i < fixed->items.size(); ++i) {
      const YamlNode *isl = fixed->items[i].find("isl"), *osl = fixed->items[i].find("osl");
      const auto in = isl == nullptr ? std::nullopt : lax_int(*isl), out = osl == nullptr ? std::nullopt : lax_int(*osl);
      if (!in || !out || !sequence_name(*in, *out).contains('_')) continue;
      complain(recipe, *isl, "O-18", fmt::format("scenarios.fixed-seq-len[{}].isl", i),
               fmt::format("no job of a sweep reads the bucket {}", sequence_name(*in, *out)), "1024/1024 or 8192/1024");
    }
  }

  void repeated_keys(const std::string& file) {
    std::map<std::string, int> lines;
    const codec::YamlDocument& document = catalogue_.document(file);
    for (const codec::YamlEntry& entry : document.root.entries) {
      const auto [slot, fresh] = lines.try_emplace(entry.key.text, entry.key.line);
      if (fresh) continue;
      out_.push_back({"O-27", entry.key.text, "", fmt::format("the config key {} stands at line {} already; the last one wins", entry.key.text, slot->second),
                      "one entry a key", "", document.place(entry.key)});
    }
  }

 private:
  void complain(const Recipe& recipe, const YamlNode& node, const char* rule, std::string path, std::string message, std::string expected,
                std::string near = {}) {
    out_.push_back({rule, recipe.key, std::move(path), std::move(message), std::move(expected), std::move(near), catalogue_.place(recipe, node)});
  }

  void spellings(const Recipe& recipe, const YamlNode& node, const std::string& path) {
    for (std::size_t i = 0; i < node.items.size(); ++i) spellings(recipe, node.items[i], fmt::format("{}[{}]", path, i));
    for (const codec::YamlEntry& entry : node.entries) {
      const std::string here = path.empty() ? entry.key.text : path + "." + entry.key.text;
      if (entry.key.text.contains('_')) {
        const std::string kebab = replace_all(entry.key.text, "_", "-");
        complain(recipe, entry.key, "O-2", here, fmt::format("'{}' is accepted, but the generator reads '{}' only", entry.key.text, kebab), kebab, kebab);
      }
      spellings(recipe, entry.value, here);
    }
  }

  const Catalogue& catalogue_;
  std::vector<Violation>& out_;
};

}  // namespace

std::vector<Violation> strict_findings(const Catalogue& catalogue) {
  std::vector<Violation> out;
  Finder finder(catalogue, out);
  std::set<std::string> files;
  for (const Recipe& recipe : catalogue.recipes()) {
    files.insert(recipe.file);
    if (recipe.node->kind == YamlNode::Kind::kMapping) finder.look(recipe);
  }
  for (const std::string& file : files) finder.repeated_keys(file);
  return out;
}

}  // namespace pawl::plan
