#include "plan/recipe_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace pawl::plan {
namespace {

using codec::Json;

constexpr std::string_view kOverride = "override_", kZip = "zip_override_";

/// The group and the index of `zip_override_<name>[<i>]`.
std::optional<std::pair<std::string, std::size_t>> zip_selector(std::string_view selector) {
  const auto open = selector.find('[');
  if (!selector.starts_with(kZip) || open == std::string_view::npos || !selector.ends_with(']')) return std::nullopt;
  const auto index = parse_int(selector.substr(open + 1, selector.size() - open - 2));
  if (!index || *index < 0 || open == kZip.size()) return std::nullopt;
  return std::pair{std::string(selector.substr(0, open)), static_cast<std::size_t>(*index)};
}

void drop_nulls(Json& value) {
  if (value.is_array()) {
    for (Json& item : value) drop_nulls(item);
  } else if (value.is_object()) {
    for (auto it = value.begin(); it != value.end();) {
      if (it.value().is_null()) {
        it = value.erase(it);
      } else {
        drop_nulls(it.value());
        ++it;
      }
    }
  }
}

/// The lengths of all lists of a zip group that are no items of another list.
void list_lengths(const Json& value, std::vector<std::size_t>& lengths) {
  if (value.is_array()) {
    lengths.push_back(value.size());
  } else if (value.is_object()) {
    for (const Json& item : value) list_lengths(item, lengths);
  }
}

Json sliced(const Json& value, std::size_t index) {
  if (value.is_array()) return value[value.size() == 1 ? 0 : index];
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (auto it = value.begin(); it != value.end(); ++it) out[it.key()] = sliced(it.value(), index);
  return out;
}

/// A fragment over a shared block: mappings merge, everything else replaces, null is a value (srt-recipes 6.1).
void overlay(Json& under, const Json& part) {
  for (auto it = part.begin(); it != part.end(); ++it) {
    if (it.value().is_object() && under.contains(it.key()) && under[it.key()].is_object())
      overlay(under[it.key()], it.value());
    else
      under[it.key()] = it.value();
  }
}

std::string base_name(const Json& base) {
  return base.is_object() && base.contains("name") && base["name"].is_string() ? base["name"].get<std::string>() : "unnamed";
}

/// How many variants a zip group has. Errors without a place.
Result<std::size_t> zip_length(const std::string& group, const Json& block) {
  std::vector<std::size_t> lengths;
  list_lengths(block, lengths);
  if (lengths.empty() || std::ranges::find(lengths, 0u) != lengths.end())
    return bad_input(fmt::format("{} has no list, or an empty one: it gives no variants", group));
  const std::size_t longest = *std::ranges::max_element(lengths);
  for (const std::size_t length : lengths) {
    if (length != 1 && length != longest) return bad_input(fmt::format("the lists of {} have different lengths: {} and {}", group, length, longest));
  }
  return longest;
}

}  // namespace

std::optional<RecipeName> parse_recipe_name(std::string_view written) {
  const auto colon = written.find(':');
  RecipeName name{std::string(written.substr(0, colon)), {}};
  if (name.file.empty() || name.file.front() == '/' || name.file.back() == '/' || name.file.contains("//")) return std::nullopt;
  for (const std::string_view part : split(name.file, '/')) {
    if (part == "." || part == "..") return std::nullopt;
  }
  if (colon == std::string_view::npos) return name;
  name.selector = written.substr(colon + 1);
  const std::string& s = name.selector;
  const bool one = s == "base" || zip_selector(s) || (s.starts_with(kOverride) && s.size() > kOverride.size() && s.find_first_of("*?[]:") == std::string::npos);
  if (!one) return std::nullopt;
  return name;
}

void merge_recipe(Json& base, const Json& block) {
  for (auto it = block.begin(); it != block.end(); ++it) {
    if (it.value().is_null()) {
      base.erase(it.key());
    } else if (it.value().is_object() && base.contains(it.key()) && base[it.key()].is_object()) {
      merge_recipe(base[it.key()], it.value());
    } else {
      base[it.key()] = it.value();
    }
  }
}

Result<RecipeFile> RecipeFile::read(std::string bytes, const std::string& name) {
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(std::move(bytes), name));
  if (document.root.kind != codec::YamlNode::Kind::kMapping) return bad_input("a recipe file must be a mapping").at(document.place(document.root));
  RecipeFile file;
  file.name_ = name;
  PAWL_ASSIGN(file.root_, codec::yaml_value(document, document.root));
  return file;
}

bool RecipeFile::is_bundle() const { return root_.contains("base"); }

std::vector<std::string> RecipeFile::variants() const {
  std::vector<std::string> all;
  for (auto it = root_.begin(); it != root_.end(); ++it) {
    if (it.key().starts_with(kZip)) {
      const auto length = zip_length(it.key(), it.value());
      for (std::size_t i = 0; length && i < *length; ++i) all.push_back(fmt::format("{}[{}]", it.key(), i));
    } else if (it.key().starts_with(kOverride)) {
      all.push_back(it.key());
    }
  }
  return all;
}

Result<Json> RecipeFile::zip_variant(const Json& base, const std::string& group, std::size_t index) const {
  const Json& block = root_[group];
  PAWL_ASSIGN(const std::size_t length, zip_length(group, block));
  if (index >= length) return not_found(fmt::format("{}: {} has {} variants, there is no [{}]", name_, group, length, index));
  Json out = base;
  merge_recipe(out, sliced(block, index));
  if (!block.contains("name") || !block["name"].is_array()) out["name"] = fmt::format("{}_{}_{}", base_name(base), group.substr(kZip.size()), index);
  drop_nulls(out);
  return out;
}

Result<Json> RecipeFile::variant(std::string_view selector, const Json* below) const {
  const auto none = [&](std::string message) { return not_found(fmt::format("{}: {}", name_, message), "there are: " + join(variants(), ", ")); };
  const auto over = [&](const Json& part) {
    Json merged = below == nullptr ? Json::object() : *below;
    overlay(merged, part);
    return merged;
  };
  if (!is_bundle()) {
    if (selector.empty()) return over(root_);
    return not_found(fmt::format("{} has no variants, so '{}' names none", name_, selector), "leave out ':' and what follows");
  }
  const Json base = over(root_["base"]);
  Json out;
  if (selector.empty()) {
    const auto all = variants();
    if (all.size() != 1) return none(fmt::format("a bundle of {} variants needs one to be named", all.size()));
    return variant(all[0], below);
  }
  if (selector == "base") {
    out = base;
  } else if (const auto zip = zip_selector(selector)) {
    if (!root_.contains(zip->first)) return none(fmt::format("no group '{}'", zip->first));
    PAWL_ASSIGN(out, zip_variant(base, zip->first, zip->second));
  } else {
    const auto block = root_.find(std::string(selector));
    if (!selector.starts_with(kOverride) || block == root_.end()) return none(fmt::format("no variant '{}'", selector));
    out = base;
    if (block->is_object()) merge_recipe(out, *block);
    if (!block->is_object() || !block->contains("name")) out["name"] = fmt::format("{}_{}", base_name(base), selector.substr(kOverride.size()));
  }
  if (root_.contains("schema") && !out.contains("schema")) out["schema"] = root_["schema"];
  return out;
}

std::optional<std::int64_t> recipe_nodes(const Json& recipe) {
  const auto roles = recipe.find("roles");
  if (roles == recipe.end() || !roles->is_object()) return std::nullopt;
  std::int64_t sum = 0;
  const auto add = [&](const Json& of) {
    const auto nodes = of.is_object() ? of.find("nodes") : of.end();
    if (!of.is_object() || nodes == of.end()) return false;
    if (nodes->is_number_integer()) sum += nodes->get<std::int64_t>();
    return nodes->is_number_integer() || *nodes == "colocate";
  };
  for (const Json& role : *roles) {
    if (!add(role)) return std::nullopt;
  }
  bool dedicated = false;
  const auto placed_apart = [](const Json& of) {
    const auto placement = of.is_object() ? of.find("placement") : of.end();
    return of.is_object() && placement != of.end() && placement->is_object() && placement->value("node", Json()) == "dedicated";
  };
  for (const Json& service : recipe.value("services", Json::array())) {
    add(service);
    dedicated = dedicated || placed_apart(service);
  }
  for (const char* part : {"frontend", "benchmark"}) dedicated = dedicated || (recipe.contains(part) && placed_apart(recipe[part]));
  return sum + (dedicated ? 1 : 0);
}

}  // namespace pawl::plan
