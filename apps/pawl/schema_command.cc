#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "cli.h"

namespace pawl::app {
namespace {

using codec::Json;

constexpr std::string_view kFolder = "schemas/";
constexpr std::string_view kEnding = ".schema.json";

std::vector<std::string> schema_names(const io::Assets& assets) {
  std::vector<std::string> names;
  for (const std::string& file : assets.list(kFolder)) {
    if (file.ends_with(kEnding)) names.push_back(file.substr(kFolder.size(), file.size() - kFolder.size() - kEnding.size()));
  }
  return names;
}

Result<std::string> schema_text(const io::Assets& assets, const std::string& name) { return assets.read(fmt::format("{}{}{}", kFolder, name, kEnding)); }

Result<ExitStatus> print_schema(const io::Assets& assets, const std::string& name) {
  const std::vector<std::string> names = schema_names(assets);
  if (std::ranges::find(names, name) == names.end()) {
    const auto near = nearest(name, names);
    return not_found(fmt::format("there is no schema \"{}\"", name), near ? fmt::format("did you mean {}?", *near) : "there are: " + join(names, ", "));
  }
  PAWL_ASSIGN(const std::string text, schema_text(assets, name));
  std::fwrite(text.data(), 1, text.size(), stdout);
  return ExitStatus::kDone;
}

Result<ExitStatus> list_schemas(const io::Assets& assets, bool json) {
  Json schemas = Json::array();
  for (const std::string& name : schema_names(assets)) {
    PAWL_ASSIGN(const std::string text, schema_text(assets, name));
    PAWL_ASSIGN(const Json schema, codec::parse_json(text, name));
    schemas.push_back({{"name", name}, {"title", schema.value("title", std::string())}});
  }
  if (json) {
    print_json({{"schema", "pawl.schemas/1"}, {"schemas", schemas}});
    return ExitStatus::kDone;
  }
  for (const Json& schema : schemas) fmt::print("{:<16} {}\n", schema["name"].get<std::string>(), schema["title"].get<std::string>());
  return ExitStatus::kDone;
}

}  // namespace

void add_schema_command(Cli& cli) {
  CLI::App* app = cli.command(cli.root, "schema", "List the JSON Schemas of what pawl writes and reads, or print one",
                              "  pawl schema\n"
                              "  pawl schema bench-result > bench-result.schema.json");
  const auto name = std::make_shared<std::string>();
  app->add_option("NAME", *name, "Which one to print; none: list them");
  app->callback([&cli, name] {
    cli.selected = [name](World& world, const CommonFlags& flags) {
      return name->empty() ? list_schemas(*world.assets, flags.json) : print_schema(*world.assets, *name);
    };
  });
}

}  // namespace pawl::app
