#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <map>

#include "base/shown.h"
#include "base/text.h"
#include "catalogue_source.h"
#include "cli.h"
#include "model/image.h"
#include "model/point.h"
#include "plan/catalogue.h"
#include "plan/expansion.h"
#include "plan/generator.h"
#include "plan/image_edit.h"
#include "plan/launch_script.h"
#include "plan/patch_scan.h"
#include "plan/schema.h"
#include "plan/strict_check.h"

namespace pawl::app {
namespace {

using codec::Json;

struct CatalogFlags {
  CatalogueSource source;
  std::string key, format = "text", generation;
  bool patches = false, strict = false;
};

Result<plan::Catalogue> load(World& world, const CatalogFlags& flags) {
  PAWL_ASSIGN(plan::CatalogueTexts texts, flags.source.read(world));
  return plan::Catalogue::read(texts.layout, std::move(texts.texts), flags.source.limits());
}

Result<ExitStatus> list(World& world, const CommonFlags& common, const CatalogFlags& flags) {
  PAWL_ASSIGN(const plan::Catalogue catalogue, load(world, flags));
  if (common.json) {
    Json recipes = Json::array();
    for (const plan::Recipe& recipe : catalogue.recipes()) {
      recipes.push_back(
          {{"key", recipe.key}, {"file", recipe.file}, {"image", recipe.image()}, {"framework", recipe.framework()}, {"runner", recipe.runner()}});
    }
    print_json({{"schema", "pawl.recipes/1"}, {"recipes", recipes}});
    return ExitStatus::kDone;
  }
  for (const plan::Recipe& recipe : catalogue.recipes()) fmt::print("{:<56} {:<24} {}\n", recipe.key, recipe.runner(), recipe.image());
  return ExitStatus::kDone;
}

/// The scripts and recipe files that a recipe's points run through, by name; a script may call for more.
std::map<std::string, std::string> files_on_path(const World& world, const std::string& folder, const plan::Catalogue& catalogue, const plan::Recipe& recipe) {
  std::map<std::string, std::string> found;
  const std::string& project = catalogue.layout().project;
  const auto take = [&](const std::string& path) {
    const std::filesystem::path whole = std::filesystem::path(folder) / (project + path);
    if (path.contains("..") || found.contains(path) || !world.files.exists(whole)) return;
    if (auto text = world.files.read(whole)) found[path] = std::move(*text);
  };
  plan::TestConfig options;
  options.no_evals = true;
  const auto rows = plan::test_config_rows(catalogue, {&recipe}, options);
  if (!rows) return found;
  for (const Json& row : rows->rows) {
    if (const auto point = model::point_of_row(row)) {
      for (const std::string& path : plan::launch_script_paths(*point)) take(path);
    }
    for (const char* key : {"srt-recipe", "eval-srt-recipe"}) {
      if (row.contains(key)) take(row[key].get<std::string>().substr(0, row[key].get<std::string>().find(':')));
    }
    for (const char* role : {"prefill", "decode"}) {
      if (!row.contains(role)) continue;
      for (const Json& setting : row[role].value("additional-settings", Json::array())) {
        const std::string text = setting.is_string() ? setting.get<std::string>() : "";
        if (!text.starts_with("CONFIG_FILE=recipes/")) continue;
        const std::string path = text.substr(text.find('/') + 1);
        take("benchmarks/multi_node/srt-slurm-recipes/" + path.substr(0, path.find(':')));
      }
    }
  }
  return found;
}

/// Where a recipe changes the engine of its image at run time.
Result<ExitStatus> patches(World& world, const CommonFlags& common, const CatalogFlags& flags, const plan::Catalogue& catalogue, const plan::Recipe& recipe) {
  const auto files = files_on_path(world, flags.source.catalog, catalogue, recipe);
  std::vector<plan::PatchFinding> all;
  for (const auto& [name, text] : files) {
    for (plan::PatchFinding& finding : plan::scan_patches(text, name)) all.push_back(std::move(finding));
  }
  if (common.json) {
    Json list = Json::array(), read = Json::array();
    for (const auto& [name, text] : files) read.push_back(name);
    for (const plan::PatchFinding& f : all) list.push_back({{"kind", plan::name_of(f.kind)}, {"file", f.file}, {"line", f.line}, {"text", f.text}});
    print_json({{"schema", "pawl.recipe-patches/1"}, {"key", recipe.key}, {"files", read}, {"patches", list}});
    return ExitStatus::kDone;
  }
  for (const plan::PatchFinding& f : all) fmt::print("{}:{}: {}: {}\n", f.file, f.line, plan::name_of(f.kind), f.text);
  fmt::print("{}: {} places in {} files that change the engine of the image at run time{}\n", recipe.key, all.size(), files.size(),
             files.empty() ? "; no script or recipe file of it was found in the catalogue" : "");
  return ExitStatus::kDone;
}

/// One recipe: where it stands, its text as written, and what it expands to.
Result<ExitStatus> show(World& world, const CommonFlags& common, const CatalogFlags& flags) {
  PAWL_ASSIGN(const plan::Catalogue catalogue, load(world, flags));
  PAWL_ASSIGN(const plan::Recipe* recipe, catalogue.find(flags.key));
  if (flags.patches) return patches(world, common, flags, catalogue, *recipe);
  const SourcePlace place = catalogue.place(*recipe, *recipe->node);
  const std::vector<plan::Violation> violations = plan::validate_recipe(catalogue, *recipe);
  const auto points = plan::expand(catalogue, {recipe}, plan::EvalMode::kDefault);
  const auto evals = plan::expand(catalogue, {recipe}, plan::EvalMode::kEvalsOnly);
  if (common.json) {
    Json document{{"schema", "pawl.recipe/1"}, {"key", recipe->key}, {"file", place.file}, {"line", place.line}, {"config", recipe->config()}};
    if (points) document["points"] = points->size();
    if (evals) document["evals"] = evals->size();
    document["violations"] = violations.size();
    print_json(document);
    return ExitStatus::kDone;
  }
  const std::string_view bytes = catalogue.document(recipe->file).bytes;
  std::string text(bytes.substr(recipe->node->begin, recipe->node->end - recipe->node->begin));
  while (text.ends_with('\n') || text.ends_with(' ')) text.pop_back();
  const bool block = !text.starts_with('{');
  fmt::print("# {}:{}\n{}:{}{}\n", place.file, place.line, recipe->key, block ? "\n" + std::string(static_cast<std::size_t>(place.column - 1), ' ') : " ",
             shown_text(text));
  if (points && evals) fmt::print("# {} rows, {} of them evaluated by default\n", points->size(), evals->size());
  for (const plan::Violation& v : violations) fmt::print("# {}:{}:{}: {}\n", v.place.file, v.place.line, v.place.column, shown_text(v.message));
  return ExitStatus::kDone;
}

/// A message for a line of text or an annotation: what, and how to get it right.
std::string sentence(const plan::Violation& v) {
  std::string text = v.message;
  if (!v.nearest.empty()) {
    text += fmt::format("; did you mean {}?", v.nearest);
  } else if (!v.expected.empty()) {
    text += "; expected " + v.expected;
  }
  return text;
}

std::string where(const plan::Violation& v) { return v.config.empty() ? v.path : v.path.empty() ? v.config : v.config + ": " + v.path; }

Json sarif(const std::vector<plan::Violation>& violations) {
  Json results = Json::array();
  for (const plan::Violation& v : violations) {
    results.push_back(
        {{"ruleId", v.rule},
         {"level", "error"},
         {"message", {{"text", where(v) + (where(v).empty() ? "" : ": ") + sentence(v)}}},
         {"locations", Json::array({{{"physicalLocation",
                                      {{"artifactLocation", {{"uri", v.place.file}}},
                                       {"region", {{"startLine", std::max(1, v.place.line)}, {"startColumn", std::max(1, v.place.column)}}}}}}})}});
  }
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", Json::array({{{"tool", {{"driver", {{"name", "pawl"}, {"rules", Json::array()}}}}}, {"results", results}}})}};
}

/// GitHub's workflow commands take one line: escapes as its toolkit does.
std::string escaped(std::string text, bool property) {
  for (const auto& [from, to] : {std::pair{"%", "%25"}, {"\r", "%0D"}, {"\n", "%0A"}}) text = replace_all(std::move(text), from, to);
  if (property) {
    for (const auto& [from, to] : {std::pair{":", "%3A"}, {",", "%2C"}}) text = replace_all(std::move(text), from, to);
  }
  return text;
}

Result<ExitStatus> check(World& world, const CommonFlags& common, const CatalogFlags& flags) {
  PAWL_ASSIGN(const plan::CatalogueTexts texts, flags.source.read(world));
  std::vector<plan::Violation> violations = plan::validate_texts(texts.layout, texts.texts, flags.source.limits());
  if (flags.strict) {
    std::vector<plan::LoadProblem> said;
    const plan::Catalogue catalogue = plan::Catalogue::read_leniently(texts.layout, texts.texts, said, flags.source.limits());
    for (plan::Violation& v : plan::strict_findings(catalogue)) violations.push_back(std::move(v));
  }
  const ExitStatus status = violations.empty() ? ExitStatus::kDone : ExitStatus::kFoundWanting;
  if (flags.format == "sarif") {
    print_json(sarif(violations));
    return status;
  }
  if (flags.format == "github") {
    for (const plan::Violation& v : violations) {
      fmt::print("::error file={},line={},col={},title={}::{}\n", escaped(v.place.file, true), v.place.line, v.place.column, escaped(v.rule, true),
                 escaped(where(v) + ": " + sentence(v), false));
    }
    return status;
  }
  if (common.json || flags.format == "json") {
    Json list = Json::array();
    for (const plan::Violation& v : violations) {
      Json item{{"rule", v.rule},     {"file", v.place.file}, {"line", v.place.line}, {"column", v.place.column},
                {"config", v.config}, {"path", v.path},       {"message", v.message}, {"expected", v.expected}};
      if (!v.nearest.empty()) item["nearest"] = v.nearest;
      list.push_back(std::move(item));
    }
    print_json({{"schema", "pawl.catalog-check/1"}, {"ok", violations.empty()}, {"violations", list}});
    return status;
  }
  for (const plan::Violation& v : violations) {
    fmt::print("{}:{}:{}: {} [{}]\n", v.place.file, v.place.line, v.place.column, shown_text(sentence(v)), v.rule);
    if (!where(v).empty()) fmt::print("  in {}\n", shown_text(where(v)));
  }
  std::size_t files = texts.layout.masters.size() + 1;
  if (violations.empty()) {
    fmt::print("{} files, nothing to complain about\n", files);
  } else {
    fmt::print("{} violation{} in {} files\n", violations.size(), violations.size() == 1 ? "" : "s", files);
  }
  return status;
}

/// JSON Schema of a file of the catalogue, for editors.
Result<ExitStatus> schema(World& world, const std::string& file, const std::string& generation) {
  PAWL_ASSIGN(const auto format, steward::load_format(*world.assets));
  PAWL_ASSIGN(const plan::Generation* found, format->generation(generation.empty() ? format->generations().front().id : generation));
  print_json(plan::json_schema(*found, file == "master" ? plan::FileKind::kMaster : file == "runners" ? plan::FileKind::kRunners : plan::FileKind::kChangelog));
  return ExitStatus::kDone;
}

struct ImageFlags {
  CatalogueSource source;
  std::vector<std::string> words;  ///< keys or patterns, the image last
  std::string from;
  bool dry_run = false;
};

/// The new image in the spelling of the old one: registry and name apart by '#' where they were.
std::string spelled_like(const std::string& image, const std::string& old) {
  const auto slash = image.find('/');
  if (!old.contains('#') || image.contains('#') || slash == std::string::npos) return image;
  const bool registry = image.substr(0, slash).find_first_of(".:") != std::string::npos;
  return registry ? image.substr(0, slash) + "#" + image.substr(slash + 1) : image;
}

/// Moves recipes to another image by replacing the bytes of that one scalar in each.
Result<ExitStatus> set_image(World& world, const CommonFlags& common, const ImageFlags& flags) {
  if (flags.words.size() < 2) return usage_error("set-image takes config keys or patterns and, last, the image");
  const std::string& image = flags.words.back();
  const std::vector<std::string> keys(flags.words.begin(), flags.words.end() - 1);
  PAWL_ASSIGN(plan::CatalogueTexts texts, flags.source.read(world));
  const auto untouched = texts.texts;
  std::vector<std::string> chosen;
  {
    PAWL_ASSIGN(const plan::Catalogue catalogue, plan::Catalogue::read(texts.layout, texts.texts));
    PAWL_ASSIGN(const auto recipes, plan::resolve_keys(catalogue, keys));
    for (const plan::Recipe* recipe : recipes) {
      if (flags.from.empty() || model::same_image(recipe->image(), flags.from)) chosen.push_back(recipe->key);
    }
  }
  if (chosen.empty()) return not_found(fmt::format("none of these recipes is on {}", flags.from), "pawl catalog list shows their images");
  Json changed = Json::array();
  std::size_t there = 0;
  for (const std::string& key : chosen) {
    // Every edit is checked against the file as it is then: places move, and an image that recipes share must show.
    PAWL_ASSIGN(const plan::Catalogue catalogue, plan::Catalogue::read(texts.layout, texts.texts));
    PAWL_ASSIGN(const plan::Recipe* recipe, catalogue.find(key));
    const std::string old = recipe->image(), wanted = spelled_like(image, old);
    auto edited = plan::edit_image(catalogue, *recipe, wanted);
    if (!edited && edited.error().cls == ErrorClass::kConflict) {
      ++there;
      continue;
    }
    if (!edited) return std::move(edited).error();
    const codec::YamlNode* node = recipe->node->find("image");
    changed.push_back({{"key", key}, {"file", texts.layout.shown_folder + recipe->file}, {"line", node->line}, {"before", old}, {"after", wanted}});
    texts.texts[recipe->file] = std::move(*edited);
  }
  for (const auto& [path, bytes] : texts.texts) {
    if (!flags.dry_run && untouched.at(path) != bytes) PAWL_TRY(world.files.write_atomic(texts.layout.shown_folder + path, bytes));
  }
  if (common.json) {
    print_json({{"schema", "pawl.set-image/1"}, {"written", !flags.dry_run}, {"changed", changed}, {"already_there", there}});
    return ExitStatus::kDone;
  }
  for (const Json& c : changed) {
    fmt::print("{}:{}: {}: {} -> {}\n", c["file"].get<std::string>(), c["line"].get<int>(), c["key"].get<std::string>(), c["before"].get<std::string>(),
               c["after"].get<std::string>());
  }
  fmt::print("{} recipes {}, {} on it already\n", changed.size(), flags.dry_run ? "would change (nothing is written)" : "changed", there);
  return ExitStatus::kDone;
}

}  // namespace

void add_catalog_commands(Cli& cli) {
  CLI::App* catalog = cli.root.add_subcommand("catalog", "Read and check recipe catalogues")->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, const char* examples, auto action) {
    auto flags = std::make_shared<CatalogFlags>();
    CLI::App* app = cli.command(*catalog, name, what, examples);
    flags->source.add_to(*app);
    app->callback([&cli, flags, action] { cli.selected = [flags, action](World& world, const CommonFlags& common) { return action(world, common, *flags); }; });
    return std::pair{app, flags};
  };
  add("list", "Every recipe with its image", "  pawl catalog list --catalog DIR --json", list);
  const auto shown = add("show", "One recipe: its place, its text, how many rows it gives", "  pawl catalog show qwen3.5-fp4-b200-sglang --catalog DIR", show);
  shown.first->add_option("key", shown.second->key, "Config key")->required();
  shown.first->add_flag("--patches", shown.second->patches,
                        "Where its scripts and recipe files change the engine of the image: edited packages, wheels, overlays");
  const auto checked = add("check", "Every violation of the schema, with file, line, column and key path. Exit status 1 when there is one",
                           "  pawl catalog check --catalog DIR\n  pawl catalog check --config-files configs/*-master.yaml --format github", check);
  checked.first->add_flag(
      "--strict", checked.second->strict,
      "Also what the reference accepts and nobody means: unknown runner labels, keys with '_', repeated config keys, sequences that no job reads");
  checked.first->add_option("--format", checked.second->format, "How to print: text, json, sarif, github")
      ->check(CLI::IsMember({"text", "json", "sarif", "github"}))
      ->capture_default_str();

  auto image_flags = std::make_shared<ImageFlags>();
  CLI::App* image_app = cli.command(*catalog, "set-image", "Move recipes to another image; no other byte of the files changes",
                                    "  pawl catalog set-image qwen3.5-fp8-h200-sglang lmsysorg/sglang:v0.5.19-cu130 --catalog DIR --dry-run\n"
                                    "  pawl catalog set-image 'dsr1-*' 'glm5-*' vllm/vllm-openai:v0.23.0 --from vllm/vllm-openai:v0.22.0 --catalog DIR");
  image_app->add_option("recipes", image_flags->words, "Config keys or patterns with *, ? and [sets]; last the image")->required();
  image_app->add_option("--from", image_flags->from, "Only recipes that are on this image, however it is spelled");
  image_app->add_flag("--dry-run", image_flags->dry_run, "Say what would change, write nothing");
  image_flags->source.add_to(*image_app);
  image_app->callback(
      [&cli, image_flags] { cli.selected = [image_flags](World& world, const CommonFlags& common) { return set_image(world, common, *image_flags); }; });

  struct SchemaFlags {
    std::string file = "master", generation;
  };
  auto schema_flags = std::make_shared<SchemaFlags>();
  CLI::App* schema_app = cli.command(*catalog, "schema", "JSON Schema of a file of the catalogue, so that an editor completes and checks while one types",
                                     "  pawl catalog schema master > master.schema.json\n  pawl catalog schema runners --generation 2026-10");
  schema_app->add_option("file", schema_flags->file, "master, runners or changelog")
      ->check(CLI::IsMember({"master", "runners", "changelog"}))
      ->capture_default_str();
  schema_app->add_option("--generation", schema_flags->generation, "What the keys mean (default: the oldest, 2026-08)");
  schema_app->callback([&cli, schema_flags] {
    cli.selected = [schema_flags](World& world, const CommonFlags&) { return schema(world, schema_flags->file, schema_flags->generation); };
  });
}

}  // namespace pawl::app
