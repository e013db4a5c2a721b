#include "runner/script_engine.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

namespace pawl::runner {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLaunchFolder = "launch/";
constexpr const char* kLibraryPath = "launch/benchmarks/benchmark_lib.sh";
/// Real engines load weights: minutes, not seconds.
constexpr double kReadyTimeout_s = 3600;

std::string inherited(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// `first` before what the variable holds already.
std::string before(const std::string& first, const std::string& rest) { return rest.empty() ? first : first + ":" + rest; }

/// The variables of the contract that follow from the point.
std::map<std::string, std::string> contract_variables(const model::Point& p) {
  const auto truth = [](bool value) { return value ? "true" : "false"; };
  const std::int64_t isl = p.isl.value_or(0), osl = p.osl.value_or(0);
  return {
      {"CONC", std::to_string(p.conc)},
      {"DCP_SIZE", std::to_string(p.dcp_size)},
      {"DISAGG", truth(p.disagg)},
      {"DP_ATTENTION", truth(p.dp_attn)},
      {"EP_SIZE", std::to_string(p.ep)},
      {"EVAL_ONLY", "false"},
      {"EXP_NAME", p.exp_name.empty() ? p.model_prefix : p.exp_name},
      {"FRAMEWORK", p.framework},
      {"GPU_COUNT", std::to_string(p.gpus())},
      {"IMAGE", p.image},
      {"IS_AGENTIC", "0"},
      {"IS_MULTINODE", "false"},
      {"ISL", std::to_string(isl)},
      {"KV_OFFLOADING", "none"},
      {"MAX_MODEL_LEN", std::to_string(isl + osl + 256)},
      {"MODEL", p.model},
      {"MODEL_PREFIX", p.model_prefix},
      {"OSL", std::to_string(osl)},
      {"PCP_SIZE", std::to_string(p.pcp_size)},
      {"PORT", "{port}"},
      {"PP_SIZE", std::to_string(p.pp)},
      {"PRECISION", p.precision},
      {"RANDOM_RANGE_RATIO", fmt::format("{}", kRangeRatio)},
      {"RESULT_FILENAME", "result"},  // the plan of the sweep puts the one of the row here
      {"RUN_EVAL", "false"},
      {"RUNNER_NAME", p.runner},
      {"RUNNER_TYPE", p.runner},
      {"SCENARIO_SUBDIR", "fixed_seq_len/"},
      {"SCENARIO_TYPE", "fixed-seq-len"},
      {"SPEC_DECODING", p.spec_decoding},
      {"TP", std::to_string(p.tp)},
  };
}

Result<model::EngineSpec> start_by_script(const std::string& library, const model::Point& p, const io::SweepRequest& request) {
  if (p.prefill) return bad_input(fmt::format("{} runs on several nodes: a launch script of one cannot", p.label()), "choose a recipe with multinode: false");
  if (!request.launch_script) {
    return bad_input(fmt::format("recipe {} has no launch script, and nothing else says how to start image {}", request.recipe, p.image),
                     "put one at benchmarks/single_node/fixed_seq_len/PREFIX_PRECISION_SKU[_FRAMEWORK].sh of the catalogue");
  }
  model::EngineSpec engine;
  engine.kind = "script";
  engine.served_model = p.model;
  engine.ready_timeout_s = kReadyTimeout_s;
  const std::string script = kLaunchFolder + request.launch_script->path;
  engine.argv = {"bash", script};
  engine.files = std::map<std::string, std::string>{{script, request.launch_script->text}, {kLibraryPath, library}};
  engine.env = contract_variables(p);
  // Programs of a folder or an environment come before those of the machine; inside a container it has its own.
  const auto programs = [&](const std::string& folder, const std::string& path) {
    engine.env["PATH"] = before(path, inherited("PATH"));
    engine.env["LD_LIBRARY_PATH"] = before(folder + "/lib:" + folder + "/bin", inherited("LD_LIBRARY_PATH"));
    engine.env["PAWL_ENGINE_DIR"] = folder;
  };
  if (p.image.starts_with(kFolderImage)) {
    const std::string folder = p.image.substr(kFolderImage.size());
    if (!fs::path(folder).is_absolute()) {
      return bad_input(fmt::format("image {}: the folder of an engine must be an absolute path", p.image), "write it as dir:/opt/llama.cpp-b11434");
    }
    programs(folder, folder + "/bin:" + folder);
  } else if (p.image.starts_with(kPackageImage)) {
    engine.package = model::PackageSpec{p.image.substr(kPackageImage.size()), request.package.value_or(model::PackageNeeds{})};
    programs("{environment}", "{environment}/bin");
    engine.env["VIRTUAL_ENV"] = "{environment}";
  }
  return engine;
}

}  // namespace

EngineSource script_engines(std::string library, EngineSource otherwise, ImageEngines images) {
  return [library = std::move(library), otherwise = std::move(otherwise), images](const model::Point& p,
                                                                                  const io::SweepRequest& request) -> Result<model::EngineSpec> {
    const bool own = p.image.starts_with(kFolderImage) || p.image.starts_with(kPackageImage);
    if (!own && images == ImageEngines::kOtherwise) return otherwise(p, request);
    return start_by_script(library, p, request);
  };
}

}  // namespace pawl::runner
