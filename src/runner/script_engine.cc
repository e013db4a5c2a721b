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

Result<model::EngineSpec> start_by_script(const std::string& library, const model::Point& p, const io::SweepRequest& request) {
  const std::string folder = p.image.substr(kFolderImage.size());
  if (!fs::path(folder).is_absolute()) {
    return bad_input(fmt::format("image {}: the folder of an engine must be an absolute path", p.image), "write it as dir:/opt/llama.cpp-b11434");
  }
  if (p.prefill) return bad_input(fmt::format("{} runs on several nodes: an engine in a folder cannot", p.label()), "choose a recipe with multinode: false");
  if (!request.launch_script) {
    return bad_input(fmt::format("recipe {} has no launch script, and image {} is a folder: nothing says how to start it", request.recipe, p.image),
                     "put one at benchmarks/single_node/fixed_seq_len/PREFIX_PRECISION_SKU[_FRAMEWORK].sh of the catalogue");
  }
  model::EngineSpec engine;
  engine.kind = "script";
  engine.served_model = p.model;
  engine.ready_timeout_s = kReadyTimeout_s;
  const std::string script = kLaunchFolder + request.launch_script->path;
  engine.argv = {"bash", script};
  engine.files = std::map<std::string, std::string>{{script, request.launch_script->text}, {kLibraryPath, library}};
  const std::string path = folder + "/bin:" + folder;
  engine.env = {
      {"CONC", std::to_string(p.conc)},
      {"DP_ATTENTION", p.dp_attn ? "true" : "false"},
      {"EP_SIZE", std::to_string(p.ep)},
      {"EVAL_ONLY", "false"},
      {"FRAMEWORK", p.framework},
      {"IMAGE", p.image},
      {"ISL", std::to_string(p.isl.value_or(0))},
      {"LD_LIBRARY_PATH", before(folder + "/lib:" + folder + "/bin", inherited("LD_LIBRARY_PATH"))},
      {"MAX_MODEL_LEN", std::to_string(p.isl.value_or(0) + p.osl.value_or(0) + 256)},
      {"MODEL", p.model},
      {"MODEL_PREFIX", p.model_prefix},
      {"OSL", std::to_string(p.osl.value_or(0))},
      {"PATH", before(path, inherited("PATH"))},
      {"PAWL_ENGINE_DIR", folder},
      {"PORT", "{port}"},
      {"PRECISION", p.precision},
      {"RANDOM_RANGE_RATIO", fmt::format("{}", kRangeRatio)},
      {"RESULT_FILENAME", p.exp_name.empty() ? "result" : p.exp_name},
      {"RUN_EVAL", "false"},
      {"RUNNER_NAME", p.runner},
      {"RUNNER_TYPE", p.runner},
      {"SPEC_DECODING", p.spec_decoding},
      {"TP", std::to_string(p.tp)},
  };
  return engine;
}

}  // namespace

EngineSource script_engines(std::string library, EngineSource otherwise) {
  return [library = std::move(library), otherwise = std::move(otherwise)](const model::Point& p, const io::SweepRequest& request) -> Result<model::EngineSpec> {
    if (!p.image.starts_with(kFolderImage)) return otherwise(p, request);
    return start_by_script(library, p, request);
  };
}

}  // namespace pawl::runner
