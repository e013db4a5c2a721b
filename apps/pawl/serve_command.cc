#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <memory>

#include "cli.h"
#include "forge/local_forge.h"
#include "http/server.h"
#include "results/model_names.h"
#include "results/result_store.h"
#include "service/service.h"
#include "store/workspace.h"
#include "version.h"

namespace pawl::app {
namespace {

struct ServeFlags {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8080;
};

Result<ExitStatus> serve(World& world, const CommonFlags& common, const ServeFlags& flags) {
  PAWL_ASSIGN(const store::Workspace workspace, store::Workspace::open(world.files, common.workspace));
  PAWL_ASSIGN(results::ModelNames names, results::ModelNames::load(*world.assets));
  PAWL_ASSIGN(const auto service,
              service::Service::create({workspace.database().string(), {results::results_schema(), forge::forge_schema()}, std::move(names), kVersion}));
  http::ServerOptions options;
  options.address = flags.address;
  options.port = flags.port;
  options.threads = 2;
  PAWL_ASSIGN(const auto server, http::Server::start(options, service->handler()));
  // An IPv6 address stands in brackets in a URL.
  const bool six = flags.address.find(':') != std::string::npos;
  const std::string url = fmt::format("http://{}{}{}:{}/", six ? "[" : "", flags.address, six ? "]" : "", server->port());
  if (common.json) {
    print_json({{"schema", "pawl.serve/1"}, {"url", url}});
  } else {
    fmt::print("{}\nworkspace {}; stop with Ctrl-C\n", url, workspace.folder().string());
  }
  std::fflush(stdout);
  while (world.clock.sleep_for(Seconds{3600}, world.stop)) {
  }
  return ExitStatus::kDone;
}

}  // namespace

void add_serve_command(Cli& cli) {
  CLI::App* app = cli.command(cli.root, "serve", "Serve the results API and the pages of a workspace",
                              "  pawl serve                                   http://127.0.0.1:8080/\n"
                              "  pawl serve --address 0.0.0.0 --port 80       for everybody who reaches this machine");
  const auto flags = std::make_shared<ServeFlags>();
  app->add_option("--port", flags->port, "TCP port; 0 takes a free one")->check(CLI::Range(0, 65535))->capture_default_str();
  app->add_option("--address", flags->address, "Address to listen on")->capture_default_str();
  app->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return serve(world, common, *flags); }; });
}

}  // namespace pawl::app
