#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli.h"
#include "twin/answers.h"
#include "twin/engine_voice.h"
#include "twin/faults.h"
#include "twin/flags.h"
#include "twin/profile.h"
#include "twin/twin.h"
#include "version.h"

namespace pawl::app {
namespace {

struct TwinFlags {
  twin::TwinOptions options;
  std::string model_prefix = "*", runner = "*", faults, answers;
  double accuracy = -1;
};

/// What the launcher says before it gives up, and the status that argparse ends with.
ExitStatus refuse_launch(const std::string& profile, const std::string& words) {
  // Word for word what the engine's launcher says: what reads the logs of a failed start must know it from there.
  fmt::print("SIMULATION: pawl twin {}, no model is loaded; profile {}\n", kVersion, profile);
  std::fflush(stdout);
  fmt::print(stderr, "usage: [-h] MODEL [engine flags]\n{}\n", words);
  return ExitStatus::kUsage;
}

Result<ExitStatus> run_twin(World& world, twin::TwinOptions options, const TwinFlags& flags) {
  if (options.profile.empty()) {
    PAWL_ASSIGN(options.profile, twin::profile_for(*world.assets, options.image, flags.model_prefix, flags.runner));
  }
  options.pawl_version = kVersion;
  if (!flags.faults.empty()) {
    PAWL_ASSIGN(std::string text, world.files.read(flags.faults));
    PAWL_ASSIGN(options.faults, twin::read_faults(std::move(text), flags.faults));
  }
  if (!flags.answers.empty()) {
    PAWL_ASSIGN(const std::string text, world.files.read(flags.answers));
    PAWL_ASSIGN(options.questions, twin::Examiner::read_answers(text, flags.answers));
  }
  if (flags.accuracy >= 0) options.accuracy = flags.accuracy;
  PAWL_ASSIGN(const twin::Profile profile, twin::load_profile(*world.assets, options.profile));
  const auto voice = twin::voice_of(options.engine.empty() ? profile.engine : options.engine);
  const std::string refused = twin::unrecognized_message(twin::read_engine_flags(profile, options.engine_flags), *voice);
  if (!refused.empty()) return refuse_launch(options.profile, refused);
  for (const twin::Fault& f : options.faults) {
    if (f.kind != twin::FaultKind::kRejectFlag && f.kind != twin::FaultKind::kAmbiguousFlag) continue;
    if (std::ranges::find(options.engine_flags, *f.flag) == options.engine_flags.end()) continue;
    return refuse_launch(options.profile, f.kind == twin::FaultKind::kRejectFlag ? voice->refuses(*f.flag) : voice->ambiguous(*f.flag, *f.could_match));
  }
  PAWL_ASSIGN(const auto twin, twin::Twin::start(options, *world.assets, world.clock, [](const std::string& line) {
                fmt::print("{}\n", line);
                std::fflush(stdout);
              }));
  return static_cast<ExitStatus>(twin->wait(world.stop));
}

}  // namespace

void add_twin_command(Cli& cli) {
  CLI::App* app =
      cli.command(cli.root, "twin", "Run a simulated serving engine: real HTTP and streams, invented text, timing by a published law, no model",
                  "  pawl twin --profile generic-new --port 8000 --tp 4 --served-model-name demo\n"
                  "  pawl twin --image lmsysorg/sglang:v0.5.19-cu130 --model-prefix qwen3.5 --runner b200 --tp 2 --port 8000 -- --disable-radix-cache\n"
                  "  pawl twin --profile vllm-v0.24-8b-h200 --port 8000 --faults faults.yaml\n"
                  "  pawl twin --profile generic-new --port 8000 --answers test.jsonl --accuracy 0.96\n"
                  "\nEverything it answers carries the header x-pawl-simulated. What it can and cannot stand for: docs/twin.md.");
  auto flags = std::make_shared<TwinFlags>();
  twin::TwinOptions& o = flags->options;
  app->add_option("--host", o.host, "Address to listen on")->capture_default_str();
  app->add_option("--port", o.port, "Port to listen on; 0: a free one, named in the log");
  CLI::Option* profile = app->add_option("--profile", o.profile, "Name of the profile to follow");
  CLI::Option* image = app->add_option("--image", o.image, "Choose the profile by image, with --model-prefix and --runner")->excludes(profile);
  app->add_option("--engine", o.engine, "Whose log, error texts and metrics: sglang, vllm, trtllm, llamacpp; by default those of the profile")
      ->check(CLI::IsMember({"sglang", "vllm", "trtllm", "llamacpp"}));
  app->add_option("--model-prefix", flags->model_prefix, "Model prefix of the recipe, for the choice by image")->needs(image);
  app->add_option("--runner", flags->runner, "Runner of the recipe, for the choice by image")->needs(image);
  app->add_option("--tp,--tp-size", o.tp, "GPUs of the engine that is imitated")->capture_default_str()->check(CLI::PositiveNumber);
  app->add_option("--ep,--ep-size", o.ep, "Expert parallelism, shown only")->capture_default_str()->check(CLI::PositiveNumber);
  app->add_option("--dp,--dp-size", o.dp, "Data-parallel ranks, each of --tp GPUs; with -- --enable-dp-attention in lockstep")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app->add_option("--served-model-name", o.served_model_name, "Model name that requests use; by default that of the profile");
  app->add_option("--max-running-requests", o.max_running_requests, "Most requests that run at once; by default that of the profile")
      ->check(CLI::PositiveNumber);
  app->add_option("--seed", o.seed, "Seed of words, drafts and jitter: the same requests get the same bytes")->capture_default_str();
  app->add_option("--faults", flags->faults, "YAML script of what goes wrong (docs/twin.md, Faults)");
  app->add_option("--accuracy", flags->accuracy, "Share of known questions answered right; by default that of the profile")->check(CLI::Range(0.0, 1.0));
  app->add_option("--answers", flags->answers, "Questions that it knows besides data/evals: JSON lines with question and answer (GSM8K)");
  app->add_flag("--stamp", o.stamp, "Every token event carries its sequence number and send stamp; the stamps are kept for /twin/truth");
  app->add_option("--truth", o.truth_file, "File of stamps of every arrival and event, written at the end");
  app->add_option("engine_flags", o.engine_flags,
                  "After --: flags of the engine's launcher, checked by name and shown; a few have their effect (docs/twin.md)");
  add_twin_plan_commands(cli, *app);
  add_twin_launch_commands(cli, *app);
  app->callback([&cli, app, flags] {
    if (!app->get_subcommands().empty()) return;
    if (app->count("--port") == 0) throw CLI::ValidationError("--port is needed");
    if (flags->options.profile.empty() && flags->options.image.empty()) throw CLI::ValidationError("--profile or --image is needed");
    cli.selected = [flags](World& world, const CommonFlags&) { return run_twin(world, flags->options, *flags); };
  });
}

}  // namespace pawl::app
