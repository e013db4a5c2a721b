#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "cli.h"
#include "forge/local_forge.h"
#include "http/server.h"
#include "results/artifact_set.h"
#include "results/ingest.h"
#include "results/model_names.h"
#include "results/result_store.h"
#include "results/vocabulary.h"
#include "service/service.h"
#include "store/workspace.h"
#include "store_place.h"
#include "version.h"

namespace pawl::app {
namespace {

struct ServeFlags {
  StorePlace store;
  std::filesystem::path artifacts;
  std::string address = "127.0.0.1";
  std::uint16_t port = 8080;
  int threads = 0;
};

/// Artifacts of a run that is not in the store: in the folder that was given (RUN/ or RUN.zip), else among the
/// workspace's runs.
Result<std::optional<results::RunBatch>> unofficial_run(const io::Files& files, const results::Vocabulary& vocabulary, const std::filesystem::path& artifacts,
                                                        const std::optional<store::Workspace>& workspace, std::int64_t run) {
  results::RunHints hints;
  hints.run = run;
  hints.merged_first = true;
  results::ArtifactSet set;
  const std::filesystem::path folder = artifacts / std::to_string(run), archive = artifacts / (std::to_string(run) + ".zip");
  if (!artifacts.empty() && files.exists(folder)) {
    PAWL_ASSIGN(set, results::read_artifact_folder(files, folder));
  } else if (!artifacts.empty() && files.exists(archive)) {
    PAWL_ASSIGN(const std::string bytes, files.read(archive, 512u << 20));
    PAWL_ASSIGN(set, results::read_artifact_archive(bytes, archive.filename().string()));
  } else if (workspace && files.exists(workspace->run_folder(run, 1))) {
    std::int64_t attempt = 1;
    while (files.exists(workspace->run_folder(run, attempt + 1))) ++attempt;
    PAWL_ASSIGN(set, results::read_artifact_folder(files, workspace->run_folder(run, attempt)));
  } else {
    return std::optional<results::RunBatch>();
  }
  results::IngestCounts counts;
  PAWL_ASSIGN(results::RunBatch batch, results::batch_of_artifacts(set, hints, results::RowMapper(vocabulary), counts));
  return std::optional<results::RunBatch>(std::move(batch));
}

Result<ExitStatus> serve(World& world, const CommonFlags& common, const ServeFlags& flags) {
  // A store by itself needs no workspace; threads of change requests and artifacts of runs then are not there.
  std::optional<store::Workspace> workspace;
  if (flags.store.place.empty()) {
    PAWL_ASSIGN(workspace, store::Workspace::open(world.files, common.workspace));
  }
  PAWL_ASSIGN(const std::string place, flags.store.resolve(world, common));
  PAWL_ASSIGN(results::Vocabulary vocabulary, results::Vocabulary::load(*world.assets));
  service::ServiceOptions serving{place, {results::results_schema()}, vocabulary.models(), kVersion};
  if (workspace) serving.schemas.push_back(forge::forge_schema());
  const auto shared = std::make_shared<const results::Vocabulary>(std::move(vocabulary));
  serving.vocabulary = shared;
  serving.now = [&clock = world.clock] { return iso_utc(clock.wall()); };
  serving.unofficial_run = [&files = world.files, shared, artifacts = flags.artifacts, workspace](std::int64_t run) {
    return unofficial_run(files, *shared, artifacts, workspace, run);
  };
  PAWL_ASSIGN(const auto service, service::Service::create(std::move(serving)));
  http::ServerOptions options;
  options.address = flags.address;
  options.port = flags.port;
  options.threads = flags.threads > 0 ? flags.threads : std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, 16);
  options.header_max = 32u << 10;
  options.idle_timeout_s = 30;
  options.write_timeout_s = 60;
  options.connections_max = 2000;
  options.bodies_max = 256u << 20;
  PAWL_ASSIGN(const auto server, http::Server::start(options, service->handler()));
  // An IPv6 address stands in brackets in a URL.
  const bool six = flags.address.find(':') != std::string::npos;
  const std::string url = fmt::format("http://{}{}{}:{}/", six ? "[" : "", flags.address, six ? "]" : "", server->port());
  const std::string shown = workspace ? fmt::format("workspace {}", workspace->folder().string()) : fmt::format("store {}", shown_place(place));
  if (common.json) {
    print_json({{"schema", "pawl.serve/1"}, {"url", url}});
  } else {
    fmt::print("{}\n{}; stop with Ctrl-C\n", url, shown);
  }
  std::fflush(stdout);
  while (world.clock.sleep_for(Seconds{3600}, world.stop)) {
  }
  // Whoever waits for an answer gets it; a client that does not read it is not waited for longer than this.
  service->stop_streams();
  server->drain(Seconds{10});
  return ExitStatus::kDone;
}

}  // namespace

void add_serve_command(Cli& cli) {
  CLI::App* app = cli.command(cli.root, "serve", "Serve the results API and the pages of a workspace",
                              "  pawl serve                                   http://127.0.0.1:8080/\n"
                              "  pawl serve --store postgresql://pawl@db.example/results   a store that a team shares\n"
                              "  pawl serve --address 0.0.0.0 --port 80       for everybody who reaches this machine");
  const auto flags = std::make_shared<ServeFlags>();
  app->add_option("--artifacts", flags->artifacts, "Folder with artifacts of runs that are not in the store: RUN/ or RUN.zip, shown by /api/unofficial-run");
  app->add_option("--threads", flags->threads, "Threads that answer (default: one a core)")->check(CLI::Range(1, 256));
  flags->store.add_to(*app);
  app->add_option("--port", flags->port, "TCP port; 0 takes a free one")->check(CLI::Range(0, 65535))->capture_default_str();
  app->add_option("--address", flags->address, "Address to listen on")->capture_default_str();
  app->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return serve(world, common, *flags); }; });
}

}  // namespace pawl::app
