#include <fmt/format.h>

#include <cstdio>

#include "base/text.h"
#include "catalogue_source.h"
#include "cli.h"
#include "plan/catalogue.h"
#include "plan/expansion.h"
#include "plan/schema.h"

namespace pawl::app {
namespace {

using codec::Json;

struct CatalogFlags {
  CatalogueSource source;
  std::string key, format = "text";
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

/// One recipe: where it stands, its text as written, and what it expands to.
Result<ExitStatus> show(World& world, const CommonFlags& common, const CatalogFlags& flags) {
  PAWL_ASSIGN(const plan::Catalogue catalogue, load(world, flags));
  PAWL_ASSIGN(const plan::Recipe* recipe, catalogue.find(flags.key));
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
             text);
  if (points && evals) fmt::print("# {} rows, {} of them evaluated by default\n", points->size(), evals->size());
  for (const plan::Violation& v : violations) fmt::print("# {}:{}:{}: {}\n", v.place.file, v.place.line, v.place.column, v.message);
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
  const std::vector<plan::Violation> violations = plan::validate_texts(texts.layout, texts.texts, flags.source.limits());
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
    fmt::print("{}:{}:{}: {} [{}]\n", v.place.file, v.place.line, v.place.column, sentence(v), v.rule);
    if (!where(v).empty()) fmt::print("  in {}\n", where(v));
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
  const auto checked = add("check", "Every violation of the schema, with file, line, column and key path. Exit status 1 when there is one",
                           "  pawl catalog check --catalog DIR\n  pawl catalog check --config-files configs/*-master.yaml --format github", check);
  checked.first->add_option("--format", checked.second->format, "How to print: text, json, sarif, github")
      ->check(CLI::IsMember({"text", "json", "sarif", "github"}))
      ->capture_default_str();

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
