#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli.h"
#include "codec/describe.h"
#include "results/baseline.h"
#include "store_place.h"
#include "workbench.h"

namespace pawl::app {
namespace {

using codec::Json;

struct BaselineFlags {
  StorePlace store;
  CatalogueChoice choice;
  std::filesystem::path catalog, points;
  std::string recipe, from, date, image, model;
};

/// The recipe's points from the catalogue, or from a file with matrix rows.
Result<std::vector<Json>> matrix_rows(World& world, const BaselineFlags& flags, std::string& image) {
  if (!flags.points.empty()) {
    PAWL_ASSIGN(const std::string text, world.files.read(flags.points));
    PAWL_ASSIGN(const Json rows, codec::parse_json(text, flags.points.string()));
    if (!rows.is_array()) return bad_input(flags.points.string() + ": no list of matrix rows", "pawl matrix test-config prints one");
    std::vector<Json> out;
    for (const Json& row : rows) {
      if (!row.contains("run-eval") || row["run-eval"] != true || !row.contains("eval-only") || row["eval-only"] != true) out.push_back(row);
    }
    if (!out.empty() && image.empty() && out.front().contains("image") && out.front()["image"].is_string()) image = out.front()["image"].get<std::string>();
    return out;
  }
  if (flags.catalog.empty()) return usage_error("--catalog FOLDER or --points FILE is needed", "they say what the recipe's points are");
  PAWL_ASSIGN(const CatalogueFolder catalogue, read_catalogue_folder(world, flags.catalog, flags.choice));
  PAWL_ASSIGN(const steward::RecipeMatrix matrix, steward::recipe_matrix(catalogue.texts, flags.recipe));
  if (image.empty()) image = matrix.image;
  return matrix.points;
}

std::string metric(const Json& row, const char* key, double scale, int digits) {
  const auto found = row["metrics"].find(key);
  return found != row["metrics"].end() && found->is_number() ? fmt::format("{:.{}f}", found->get<double>() * scale, digits) : "N/A";
}

void print_baseline(const results::FrozenBaseline& b) {
  fmt::print("{}: {} on {}, image {}\n", b.recipe, b.model, b.date, b.image);
  for (const auto& p : b.producers) {
    fmt::print("  producer  {}{}{}\n", p.url, p.head.empty() ? "" : " head " + p.head, p.change_request.empty() ? "" : ", " + p.change_request);
  }
  // The statistic that the rows have; never a mixture.
  const bool mean = !b.points.empty() && b.points.front().row["metrics"].contains("mean_tpot");
  const std::string stat = mean ? "mean" : "median";
  fmt::print("  {:<24} {:>12} {:>12} {:>14} {:>14}  {}\n", "point", "tput/GPU", "output/GPU", stat + " TPOT ms", stat + " TTFT ms", "result id");
  for (const auto& p : b.points) {
    fmt::print("  {:<24} {:>12} {:>12} {:>14} {:>14}  {}\n", p.label, metric(p.row, "tput_per_gpu", 1, 1), metric(p.row, "output_tput_per_gpu", 1, 1),
               metric(p.row, (stat + "_tpot").c_str(), 1000, 2), metric(p.row, (stat + "_ttft").c_str(), 1000, 1), p.result_id.empty() ? "-" : p.result_id);
  }
  for (const std::string& label : b.missing) fmt::print("  {:<24} not published\n", label);
  for (const Json& eval : b.evals) {
    fmt::print("  eval      {} at concurrency {}: em_strict {} em_flexible {} (id {})\n", results::text_of(eval, "task"), eval["conc"].dump(),
               metric(eval, "em_strict", 1, 4), metric(eval, "em_flexible", 1, 4), eval["id"].is_string() ? eval["id"].get<std::string>() : eval["id"].dump());
  }
  if (!b.eval_note.empty()) fmt::print("  eval      {}\n", b.eval_note);
  for (const std::string& note : b.notes) fmt::print("  note      {}\n", note);
  for (const std::string& source : b.sources) fmt::print("  source    GET {}\n", source);
}

Result<ExitStatus> show(World& world, const CommonFlags& common, const BaselineFlags& flags) {
  PAWL_ASSIGN(const AnswerPlace place, open_answers(world, common, flags.store, flags.from));
  results::BaselineRequest request;
  request.recipe = flags.recipe;
  request.image = flags.image;
  PAWL_ASSIGN(const std::vector<Json> rows, matrix_rows(world, flags, request.image));
  for (const Json& row : rows) {
    PAWL_ASSIGN(results::WantedPoint point, results::wanted_point(row, *place.names));
    request.points.push_back(std::move(point));
  }
  if (request.points.empty()) return bad_input(fmt::format("{}: no points", flags.recipe));
  // Catalogues write # where an image name has a slash behind its registry.
  std::ranges::replace(request.image, '#', '/');
  request.display = flags.model.empty() ? place.names->display(request.points.front().deployment.model) : flags.model;
  if (!flags.date.empty()) request.date = flags.date;
  PAWL_ASSIGN(const results::FrozenBaseline baseline, results::freeze_baseline(*place.source, request));
  if (common.json) {
    Json out{{"schema", "pawl.baseline/1"}, {"from", place.source->shown()}};
    const Json members = codec::to_json(baseline);
    for (const auto& [key, value] : members.items()) out[key] = value;
    print_json(out);
  } else {
    print_baseline(baseline);
  }
  return ExitStatus::kDone;
}

}  // namespace

void add_baseline_commands(Cli& cli) {
  CLI::App* group = cli.command(cli.root, "baseline", "What was published of a recipe's pinned image",
                                "  pawl baseline show qwen3.5-fp8-h200-sglang --catalog DIR --date 2026-07-04 --from https://inferencex.semianalysis.com");
  group->require_subcommand(1);
  const auto flags = std::make_shared<BaselineFlags>();
  CLI::App* app =
      cli.command(*group, "show", "The baseline of one recipe: points, producer run, evals, oddities of the feed, queries",
                  "  pawl baseline show demo-fp8-b200-sglang --catalog DIR                     from this workspace's store\n"
                  "  pawl baseline show qwen3.5-fp4-b200-sglang --catalog DIR --date 2026-08-10 --image lmsysorg/sglang:v0.5.14-cu130 --from dump/");
  app->add_option("recipe", flags->recipe, "Config key")->required();
  app->add_option("--catalog", flags->catalog, "Folder of the recipe catalogue");
  app->add_option("--points", flags->points, "File with the recipe's matrix rows, instead of a catalogue");
  flags->choice.add_to(*app);
  app->add_option("--from", flags->from, "Server (http…), folder with a dump or saved answers, or store; default: the store");
  app->add_option("--date", flags->date, "Day of publication (default: the newest of the image)");
  app->add_option("--image", flags->image, "Image (default: the recipe's present one)");
  app->add_option("--model", flags->model, "Display name of the model (default: by the table of names)");
  flags->store.add_to(*app);
  app->callback([&cli, flags] { cli.selected = [flags](World& w, const CommonFlags& c) { return show(w, c, *flags); }; });
}

}  // namespace pawl::app
