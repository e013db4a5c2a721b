#include "plan/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/assert.h"
#include "base/text.h"
#include "codec/yaml.h"

namespace pawl::plan {
namespace {

using codec::YamlDocument;
using codec::YamlNode;
using Kind = ValueType::Kind;

/// Reads the data files; every complaint has its place.
class Reader {
 public:
  explicit Reader(const YamlDocument& document) : document_(document) {}

  [[nodiscard]] Error wrong(const YamlNode& node, std::string message, std::string remedy = {}) const {
    return bad_input(std::move(message), std::move(remedy)).at(document_.place(node));
  }
  [[nodiscard]] Result<const YamlNode*> need(const YamlNode& node, std::string_view key) const {
    const YamlNode* found = node.find(key);
    if (found == nullptr) return wrong(node, fmt::format("'{}' is missing", key));
    return found;
  }
  [[nodiscard]] Result<std::string> text(const YamlNode& node, std::string_view key) const {
    PAWL_ASSIGN(const YamlNode* found, need(node, key));
    if (!found->is_text()) return wrong(*found, fmt::format("'{}' must be a text", key));
    return found->text;
  }
  [[nodiscard]] Result<std::vector<std::string>> texts(const YamlNode& node, std::string_view key) const {
    std::vector<std::string> all;
    const YamlNode* found = node.find(key);
    if (found == nullptr) return all;
    if (found->kind != YamlNode::Kind::kSequence) return wrong(*found, fmt::format("'{}' must be a list", key));
    for (const YamlNode& item : found->items) all.push_back(item.text);
    return all;
  }
  [[nodiscard]] static bool flag(const YamlNode& node, std::string_view key) {
    const YamlNode* found = node.find(key);
    return found != nullptr && found->text == "true";
  }

 private:
  const YamlDocument& document_;
};

const std::pair<const char*, Kind> kKinds[] = {{"text", Kind::kText},   {"filled", Kind::kFilled}, {"integer", Kind::kInteger}, {"count", Kind::kCount},
                                               {"size", Kind::kSize},   {"switch", Kind::kSwitch}, {"share", Kind::kShare},     {"boolean", Kind::kBoolean},
                                               {"yes", Kind::kYes},     {"no", Kind::kNo},         {"version", Kind::kVersion}, {"path", Kind::kPath},
                                               {"nodes", Kind::kNodes}, {"any", Kind::kAny}};

Result<ValueType> read_type(const Reader& reader, const YamlNode& node) {
  ValueType type;
  if (node.kind == YamlNode::Kind::kMapping && node.entries.size() == 1) {
    const std::string& word = node.entries[0].key.text;
    if (word == "one-of") {
      type.kind = Kind::kOneOf;
      for (const YamlNode& item : node.entries[0].value.items) type.words.push_back(item.text);
      return type;
    }
    if (word != "list" && word != "map") return reader.wrong(node, fmt::format("unknown type '{}'", word));
    type.kind = word == "list" ? Kind::kList : Kind::kMap;
    PAWL_ASSIGN(ValueType item, read_type(reader, node.entries[0].value));
    type.item = std::make_shared<ValueType>(std::move(item));
    return type;
  }
  if (node.kind != YamlNode::Kind::kScalar) return reader.wrong(node, "a type is a word or {one-of: …}, {list: …}, {map: …}");
  for (const auto& [name, kind] : kKinds) {
    if (node.text != name) continue;
    type.kind = kind;
    return type;
  }
  type.kind = Kind::kObject;
  type.object_id = node.text;
  return type;
}

/// A copy that shares nothing: each generation resolves its own.
ValueType copy_of(const ValueType& type) {
  ValueType copy = type;
  if (type.item) copy.item = std::make_shared<ValueType>(copy_of(*type.item));
  return copy;
}

/// The place of a generation that an attribute of a key names.
Result<std::optional<std::size_t>> rank_of(const Reader& reader, const std::vector<Generation>& generations, const YamlNode& node, const char* attribute) {
  const YamlNode* found = node.find(attribute);
  if (found == nullptr) return std::optional<std::size_t>();
  const auto at = std::ranges::find(generations, found->text, &Generation::id);
  if (at == generations.end()) return reader.wrong(*found, fmt::format("no generation '{}'", found->text));
  return std::optional(at->rank);
}

Status read_object(const Reader& reader, const codec::YamlEntry& entry, std::vector<Generation>& generations) {
  PAWL_ASSIGN(const std::string title, reader.text(entry.value, "title"));
  for (Generation& generation : generations) {
    ObjectSpec& object = generation.objects[entry.key.text];
    object.id = entry.key.text;
    object.title = title;
    object.concurrency = Reader::flag(entry.value, "concurrency");
  }
  PAWL_ASSIGN(const YamlNode* keys, reader.need(entry.value, "keys"));
  for (const codec::YamlEntry& key : keys->entries) {
    FieldSpec field{.name = key.key.text, .type = {}, .rule = {}, .doc = {}};
    PAWL_ASSIGN(const YamlNode* type, reader.need(key.value, "type"));
    PAWL_ASSIGN(field.type, read_type(reader, *type));
    if (const YamlNode* doc = key.value.find("doc")) field.doc = doc->text;
    if (const YamlNode* rule = key.value.find("rule")) field.rule = rule->text;
    if (const YamlNode* least = key.value.find("least")) field.least = static_cast<std::size_t>(parse_int(least->text).value_or(0));
    PAWL_ASSIGN(const auto since, rank_of(reader, generations, key.value, "since"));
    PAWL_ASSIGN(const auto until, rank_of(reader, generations, key.value, "until"));
    PAWL_ASSIGN(const auto required_since, rank_of(reader, generations, key.value, "required-since"));
    PAWL_ASSIGN(const auto required_until, rank_of(reader, generations, key.value, "required-until"));
    PAWL_ASSIGN(const auto null_since, rank_of(reader, generations, key.value, "nullable-since"));
    for (Generation& generation : generations) {
      ObjectSpec& object = generation.objects[entry.key.text];
      if (since && generation.rank < *since) {
        const bool only = until && *until == *since;
        object.elsewhere[field.name] = fmt::format("known {} generation {}{}", only ? "only in" : "from", generations[*since].id, only ? "" : " on");
        continue;
      }
      if (until && generation.rank > *until) {
        object.elsewhere[field.name] = fmt::format("known up to generation {}", generations[*until].id);
        continue;
      }
      FieldSpec& here = object.fields.emplace_back(field);
      here.type = copy_of(field.type);
      here.required = Reader::flag(key.value, "required") || (required_since && generation.rank >= *required_since) ||
                      (required_until && generation.rank <= *required_until);
      here.nullable = Reader::flag(key.value, "nullable") || (null_since && generation.rank >= *null_since);
    }
  }
  return {};
}

Status resolve(const Reader& reader, const YamlNode& node, Generation& generation, ValueType& type) {
  if (type.item) return resolve(reader, node, generation, *type.item);
  if (type.kind != Kind::kObject) return {};
  const auto found = generation.objects.find(type.object_id);
  if (found == generation.objects.end()) return reader.wrong(node, fmt::format("unknown type or object '{}'", type.object_id));
  type.object = &found->second;
  return {};
}

template <typename T>
Result<T> choice(const Reader& reader, const YamlNode& node, const char* key, std::initializer_list<std::pair<std::string_view, T>> words) {
  PAWL_ASSIGN(const std::string text, reader.text(node, key));
  for (const auto& [word, value] : words) {
    if (text == word) return value;
  }
  return reader.wrong(*node.find(key), fmt::format("'{}' cannot be '{}'", key, text));
}

Result<Generation> read_generation(const Reader& reader, const YamlNode& node, std::size_t rank) {
  Generation out;
  out.rank = rank;
  PAWL_ASSIGN(out.id, reader.text(node, "id"));
  PAWL_ASSIGN(out.marks, reader.texts(node, "marks"));
  PAWL_ASSIGN(out.agentic_group, reader.texts(node, "agentic-group"));
  using Place = Generation::RecipePlace;
  using Print = Generation::Fingerprint;
  PAWL_ASSIGN(out.recipe,
              choice<Place>(reader, node, "recipe",
                            {{"none", Place::kNone}, {"additional-settings", Place::kSettings}, {"entry", Place::kEntry}, {"directory", Place::kDirectory}}));
  PAWL_ASSIGN(out.worker_form, choice<bool>(reader, node, "worker", {{"pair", false}, {"worker", true}}));
  PAWL_ASSIGN(out.check_variant, choice<bool>(reader, node, "recipe-check", {{"none", false}, {"variant", true}}));
  PAWL_ASSIGN(out.fingerprint, choice<Print>(reader, node, "fingerprint",
                                             {{"row", Print::kRow}, {"row-normalised", Print::kRowNormalised}, {"row-and-recipe", Print::kRowAndRecipe}}));
  PAWL_ASSIGN(const YamlNode* least, reader.need(node, "agentic-multinode-min-eval-conc"));
  const auto number = parse_int(least->text);
  if (!number || *number < 0) return reader.wrong(*least, "a number from 0 on is needed");
  out.agentic_min_eval_conc = *number;
  out.agentic_fallback = Reader::flag(node, "agentic-fallback");
  out.trim_agentic = Reader::flag(node, "trim-agentic");
  out.no_evals = Reader::flag(node, "no-evals");
  return out;
}

}  // namespace

const ObjectSpec& Generation::object(std::string_view id_wanted) const {
  const auto found = objects.find(id_wanted);
  PAWL_ASSERT(found != objects.end());
  return found->second;
}

Result<std::shared_ptr<const Format>> Format::read(const std::string& layouts, const std::string& schema) {
  auto format = std::make_shared<Format>();
  PAWL_ASSIGN(const YamlDocument places, codec::parse_yaml(layouts, "catalog/layouts.yaml"));
  PAWL_ASSIGN(const YamlDocument keys, codec::parse_yaml(schema, "catalog/schema.yaml"));
  const Reader reader(places), key_reader(keys);
  PAWL_ASSIGN(const YamlNode* generations, reader.need(places.root, "generations"));
  for (const YamlNode& node : generations->items) {
    PAWL_ASSIGN(Generation generation, read_generation(reader, node, format->generations_.size()));
    format->generations_.push_back(std::move(generation));
  }
  PAWL_ASSIGN(const YamlNode* objects, key_reader.need(keys.root, "objects"));
  for (const codec::YamlEntry& entry : objects->entries) PAWL_TRY(read_object(key_reader, entry, format->generations_));
  for (Generation& generation : format->generations_) {
    for (auto& [id, object] : generation.objects) {
      for (FieldSpec& field : object.fields) PAWL_TRY(resolve(key_reader, *objects, generation, field.type));
    }
    for (const char* id : {"single-node-entry", "multi-node-entry", "runners", "changelog-entry"}) {
      if (!generation.objects.contains(id)) return key_reader.wrong(*objects, fmt::format("the object '{}' is missing", id));
    }
  }
  PAWL_ASSIGN(const YamlNode* known, reader.need(places.root, "layouts"));
  for (const YamlNode& node : known->items) {
    Named named;
    Layout& layout = named.layout;
    PAWL_ASSIGN(layout.name, reader.text(node, "id"));
    PAWL_ASSIGN(named.also, reader.texts(node, "also"));
    PAWL_ASSIGN(layout.project, reader.text(node, "project"));
    PAWL_ASSIGN(layout.masters, reader.texts(node, "masters"));
    PAWL_ASSIGN(layout.runners, reader.text(node, "runners"));
    PAWL_ASSIGN(layout.changelog, reader.text(node, "changelog"));
    PAWL_ASSIGN(layout.generations, reader.texts(node, "generations"));
    layout.flat_runners = Reader::flag(node, "flat-runners");
    for (std::string* path : {&layout.runners, &layout.changelog}) *path = layout.project + *path;
    for (std::string& master : layout.masters) master = layout.project + master;
    if (layout.generations.empty()) return reader.wrong(node, "a layout needs at least one generation");
    for (const std::string& id : layout.generations) {
      if (!format->generation(id)) return reader.wrong(node, fmt::format("no generation '{}'", id));
    }
    format->layouts_.push_back(std::move(named));
  }
  return std::shared_ptr<const Format>(std::move(format));
}

std::vector<Layout> Format::layouts(const std::shared_ptr<const Format>& format) {
  std::vector<Layout> all;
  for (const Named& named : format->layouts_) {
    all.push_back(named.layout);
    all.back().format = format;
  }
  return all;
}

Result<const Generation*> Format::generation(std::string_view id) const {
  const auto found = std::ranges::find(generations_, id, &Generation::id);
  if (found != generations_.end()) return &*found;
  std::vector<std::string> names;
  for (const Generation& generation : generations_) names.push_back(generation.id);
  const auto near = nearest(id, names);
  return not_found(fmt::format("no generation '{}'", id), near ? fmt::format("did you mean {}?", *near) : "there are " + join(names, ", "));
}

Result<Layout> Format::layout(const std::shared_ptr<const Format>& format, std::string_view name) {
  std::vector<std::string> names;
  for (const Named& named : format->layouts_) {
    names.push_back(named.layout.name);
    if (named.layout.name != name && std::ranges::find(named.also, name) == named.also.end()) continue;
    Layout found = named.layout;
    found.format = format;
    return found;
  }
  const auto near = nearest(name, names);
  return not_found(fmt::format("no layout '{}'", name), near ? fmt::format("did you mean {}?", *near) : "there are " + join(names, ", "));
}

}  // namespace pawl::plan
