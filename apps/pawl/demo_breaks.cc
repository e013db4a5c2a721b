#include "demo_breaks.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/image.h"
#include "plan/launch_script.h"

namespace pawl::app {
namespace {

/// Known to SGLang 0.5.14, unknown to 0.5.19; data/playbook/flags.yaml says what became of it.
constexpr const char* kOldFlag = "--enable-deepep-waterfill";

}  // namespace

Result<CatalogueFolder> with_old_flag(CatalogueFolder catalogue, const std::string& recipe) {
  PAWL_ASSIGN(const steward::RecipeMatrix matrix, steward::recipe_matrix(catalogue.texts, recipe));
  PAWL_ASSIGN(const model::Point point, model::point_of_row(matrix.points.at(0)));
  for (const std::string& path : plan::launch_script_paths(point)) {
    const auto script = catalogue.files.find(path);
    if (script == catalogue.files.end()) continue;
    const auto flags = plan::launch_flags(script->second);
    if (flags.empty()) break;
    PAWL_ASSIGN(script->second, plan::replace_switch(script->second, flags[0], fmt::format("{} {}", kOldFlag, flags[0])));
    return catalogue;
  }
  return usage_error(fmt::format("--break flag needs a launch script with flags, and {} has none", recipe),
                     "use the built-in catalogue: pawl demo --break flag");
}

Result<io::Capacity> FullAfterSmoke::check(const std::string&, std::int64_t) {
  bool smoked = false;
  PAWL_TRY(database_.query("SELECT 1 FROM runner_run WHERE state = 'success' AND json_extract(request, '$.purpose') = 'smoke'", {}, [&](const store::Row&) {
    smoked = true;
    return Status();
  }));
  return io::Capacity{!smoked, smoked ? "busy (staged)" : ""};
}

runner::EngineSource inaccurate_engines(runner::EngineSource base, std::string image) {
  return [base = std::move(base), image = std::move(image)](const model::Point& p, const io::SweepRequest& request) -> Result<model::EngineSpec> {
    PAWL_ASSIGN(model::EngineSpec engine, base(p, request));
    if (!model::same_image(p.image, image)) return engine;
    // The profile is named here instead of being looked up by image, prefix and runner.
    for (const char* flag : {"--image", "--model-prefix", "--runner"}) {
      const auto at = std::ranges::find(engine.argv, flag);
      if (at != engine.argv.end()) engine.argv.erase(at, at + 2);
    }
    const auto port = std::ranges::find(engine.argv, "--port");
    engine.argv.insert(port, {"--profile", "generic-inaccurate"});
    return engine;
  };
}

}  // namespace pawl::app
