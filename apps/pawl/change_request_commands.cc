#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <memory>

#include "base/text.h"
#include "cli.h"
#include "codec/describe.h"
#include "workbench.h"

namespace pawl::app {
namespace {

using codec::Json;

/// Opens the forge of the workspace for one command. No lock: these commands read, or say what a person wants while
/// another pawl works in the workspace.
Result<ExitStatus> with_forge(World& world, const CommonFlags& common, const std::function<Result<ExitStatus>(forge::LocalForge&)>& work) {
  PAWL_ASSIGN(const store::Workspace workspace, store::Workspace::open(world.files, common.workspace));
  PAWL_ASSIGN(store::Database database, store::Database::open(workspace.database(), {forge::forge_schema()}));
  PAWL_ASSIGN(forge::LocalForge forge, forge::LocalForge::open(workspace.forge(), database, world.clock));
  return work(forge);
}

std::string state_text(const io::ChangeRequest& request) {
  return codec::enum_text(request.state) + (request.closed_by.empty() ? "" : " by " + request.closed_by);
}

/// Text with exactly one line end behind it.
void print_block(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!text.ends_with('\n')) fmt::print("\n");
}

Result<ExitStatus> list(forge::LocalForge& forge, const CommonFlags& common) {
  PAWL_ASSIGN(const auto requests, forge.list());
  if (common.json) {
    print_json({{"schema", "pawl.change-requests/1"}, {"change_requests", codec::to_json(requests)}});
  } else if (requests.empty()) {
    fmt::print("no change requests yet\n");
  } else {
    for (const auto& request : requests) fmt::print("{:>4}  {:<16}  {}\n", request.number, state_text(request), request.title);
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> show(forge::LocalForge& forge, const CommonFlags& common, ChangeRequestId id) {
  PAWL_ASSIGN(const io::ChangeRequest request, forge.get(id));
  PAWL_ASSIGN(const auto comments, forge.comments(id));
  if (common.json) {
    print_json({{"schema", "pawl.change-request/1"}, {"change_request", codec::to_json(request)}, {"comments", codec::to_json(comments)}});
    return ExitStatus::kDone;
  }
  fmt::print("#{} {}\n{} · {} at {} into {}{}{}\nopened {} by {}\n\n", request.number, request.title, state_text(request), request.branch,
             request.head.substr(0, 12), request.base, request.labels.empty() ? "" : " · labels: ", join(request.labels, ", "), request.created,
             request.author);
  print_block(request.body);
  for (const io::Comment& comment : comments) {
    fmt::print("\n── {} · {}{} ──\n\n", comment.author, comment.created, comment.edited.empty() ? "" : ", edited " + comment.edited);
    print_block(comment.body);
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> diff(forge::LocalForge& forge, const CommonFlags& common, ChangeRequestId id) {
  PAWL_ASSIGN(const std::string text, forge.diff(id));
  if (common.json) {
    print_json({{"schema", "pawl.diff/1"}, {"number", id.value}, {"diff", text}});
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return ExitStatus::kDone;
}

using NumberedWork = Result<ExitStatus> (*)(forge::LocalForge&, const CommonFlags&, ChangeRequestId);

void add_numbered(Cli& cli, CLI::App& parent, const std::string& name, const std::string& what, NumberedWork work) {
  CLI::App* app = cli.command(parent, name, what, fmt::format("  pawl cr {} 1", name));
  const auto number = std::make_shared<std::int64_t>(0);
  app->add_option("NUMBER", *number, "Number of the change request")->required();
  app->callback([&cli, number, work] {
    cli.selected = [number, work](World& world, const CommonFlags& common) {
      return with_forge(world, common, [&](forge::LocalForge& forge) { return work(forge, common, ChangeRequestId{*number}); });
    };
  });
}

}  // namespace

void add_change_request_commands(Cli& cli) {
  CLI::App* cr = cli.root.add_subcommand("cr", "Read and close change requests");
  cr->require_subcommand(1);
  CLI::App* all = cli.command(*cr, "list", "List the change requests of the workspace", "  pawl cr list\n  pawl cr list --json");
  all->callback([&cli] {
    cli.selected = [](World& world, const CommonFlags& common) {
      return with_forge(world, common, [&](forge::LocalForge& forge) { return list(forge, common); });
    };
  });
  add_numbered(cli, *cr, "show", "Show a change request with its thread", show);
  add_numbered(cli, *cr, "diff", "Show what a change request changes, as a unified diff", diff);
  CLI::App* close =
      cli.command(*cr, "close", "Close a change request: its candidate stops, its runs end, its branch is deleted", "  pawl cr close 1 --workspace pawl-demo");
  const auto number = std::make_shared<std::int64_t>(0);
  close->add_option("NUMBER", *number, "Number of the change request")->required();
  close->callback([&cli, number] { cli.selected = [number](World& world, const CommonFlags& common) { return stop_candidate(world, common, *number); }; });
}

}  // namespace pawl::app
