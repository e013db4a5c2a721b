#include <fmt/format.h>
#include <sys/random.h>

#include <cstdio>
#include <memory>

#include "cli.h"
#include "results/result_store.h"
#include "results/tokens.h"
#include "store_place.h"

namespace pawl::app {
namespace {

using codec::Json;

struct StoreFlags {
  StorePlace store;
  std::string target, before, name, scopes = "ingest";
  std::int64_t id = 0;
};

/// A store that is only looked at must be there.
Result<store::Database> open_existing(World& world, const CommonFlags& common, const StorePlace& store) {
  PAWL_ASSIGN(const std::string where, store.resolve(world, common));
  if (where.find("://") == std::string::npos && !world.files.exists(where)) return not_found(fmt::format("{} does not exist", where), "--store names a store");
  return store::Database::open_place(where, {results::results_schema()});
}

Result<ExitStatus> verify(World& world, const CommonFlags& common, const StoreFlags& flags) {
  PAWL_ASSIGN(store::Database database, open_existing(world, common, flags.store));
  results::ResultStore store(database);
  PAWL_ASSIGN(const std::vector<std::string> problems, store.verify());
  PAWL_ASSIGN(const std::int64_t generation, store.generation());
  std::int64_t rows = 0, runs = 0;
  PAWL_TRY(database.query("SELECT (SELECT count(*) FROM results_benchmark), (SELECT count(*) FROM results_attempt)", {}, [&](const store::Row& row) {
    rows = row.whole(0), runs = row.whole(1);
    return Status();
  }));
  if (common.json) {
    print_json({{"schema", "pawl.store-check/1"},
                {"engine", std::string(database.engine())},
                {"sound", problems.empty()},
                {"problems", problems},
                {"rows", rows},
                {"attempts", runs},
                {"generation", generation}});
  } else {
    for (const std::string& problem : problems) fmt::print("{}\n", problem);
    fmt::print("{}: {} rows of {} run attempts at write {}: {}\n", database.engine(), rows, runs, generation,
               problems.empty() ? "sound" : fmt::format("{} problems", problems.size()));
  }
  return problems.empty() ? ExitStatus::kDone : ExitStatus::kRunFailed;
}

Result<ExitStatus> migrate(World& world, const CommonFlags& common, const StoreFlags& flags) {
  PAWL_ASSIGN(store::Database database, flags.store.open(world, common));
  std::int64_t version = 0;
  PAWL_TRY(database.query("SELECT version FROM store_schema WHERE module = 'results'", {}, [&](const store::Row& row) {
    version = row.whole(0);
    return Status();
  }));
  if (common.json) {
    print_json({{"schema", "pawl.store-migrate/1"}, {"engine", std::string(database.engine())}, {"version", version}});
  } else {
    fmt::print("{}: the results tables are at version {}\n", database.engine(), version);
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> copy(World& world, const CommonFlags& common, const StoreFlags& flags) {
  PAWL_ASSIGN(store::Database source, open_existing(world, common, flags.store));
  PAWL_ASSIGN(store::Database target, store::Database::open_place(flags.target, {results::results_schema()}));
  results::ResultStore from(source), into(target);
  const auto progress = make_progress(world, common);
  std::int64_t runs = 0;
  PAWL_TRY(into.copy_from(from, iso_utc(world.clock.wall()), [&](const results::RunRecord& run) {
    ++runs;
    if (progress && runs % 100 == 0) progress->report({"copy", fmt::format("{} run attempts, now {}", runs, run.date)});
  }));
  PAWL_ASSIGN(const auto problems, into.verify());
  if (common.json) {
    print_json({{"schema", "pawl.store-copy/1"}, {"attempts", runs}, {"target", shown_place(flags.target)}, {"problems", problems}});
  } else {
    for (const std::string& problem : problems) fmt::print("{}\n", problem);
    fmt::print("{} run attempts copied to {}\n", runs, shown_place(flags.target));
  }
  return problems.empty() ? ExitStatus::kDone : ExitStatus::kRunFailed;
}

Result<ExitStatus> backup(World& world, const CommonFlags& common, const StoreFlags& flags) {
  if (world.files.exists(flags.target)) return conflict(flags.target + " exists already", "give a new file; a backup overwrites nothing");
  PAWL_ASSIGN(store::Database database, open_existing(world, common, flags.store));
  const std::string part = flags.target + ".part";
  PAWL_TRY(world.files.remove_tree(part));
  PAWL_TRY(database.backup_to(part));
  std::error_code failed;
  std::filesystem::rename(part, flags.target, failed);
  if (failed) return machine_error(fmt::format("{}: {}", flags.target, failed.message()));
  if (common.json) {
    print_json({{"schema", "pawl.store-backup/1"}, {"file", flags.target}});
  } else {
    fmt::print("{}\n", flags.target);
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> prune(World& world, const CommonFlags& common, const StoreFlags& flags) {
  if (!results::is_day(flags.before)) return usage_error(fmt::format("--before {}: not a day", flags.before), "--before 2026-06-01");
  PAWL_ASSIGN(store::Database database, open_existing(world, common, flags.store));
  PAWL_ASSIGN(const std::int64_t removed, results::ResultStore(database).prune(flags.before, iso_utc(world.clock.wall())));
  if (common.json) {
    print_json({{"schema", "pawl.store-prune/1"}, {"removed", removed}});
  } else {
    fmt::print("{} rows removed of attempts that no answer shows\n", removed);
  }
  return ExitStatus::kDone;
}

Result<std::string> random_hex() {
  unsigned char bytes[32];
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) return machine_error("the system gives no random bytes");
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

Result<ExitStatus> token_create(World& world, const CommonFlags& common, const StoreFlags& flags) {
  PAWL_ASSIGN(store::Database database, flags.store.open(world, common));
  PAWL_ASSIGN(const std::string random, random_hex());
  PAWL_ASSIGN(const std::string secret, results::Tokens(database).create(flags.name, flags.scopes, random, iso_utc(world.clock.wall())));
  if (common.json) {
    print_json({{"schema", "pawl.token/1"}, {"name", flags.name}, {"scopes", flags.scopes}, {"token", secret}});
  } else {
    fmt::print("{}\n", secret);
    fmt::print(stderr, "this is shown once; the store keeps only a salted hash\n");
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> token_list(World& world, const CommonFlags& common, const StoreFlags& flags) {
  PAWL_ASSIGN(store::Database database, open_existing(world, common, flags.store));
  PAWL_ASSIGN(const auto all, results::Tokens(database).list());
  Json rows = Json::array();
  for (const auto& t : all) rows.push_back({{"id", t.id}, {"name", t.name}, {"scopes", t.scopes}, {"created", t.created_at}, {"revoked", t.revoked_at}});
  if (common.json) {
    print_json({{"schema", "pawl.tokens/1"}, {"tokens", rows}});
    return ExitStatus::kDone;
  }
  for (const auto& t : all)
    fmt::print("{:>4}  {:<20} {:<14} {}{}\n", t.id, t.name, t.scopes, t.created_at, t.revoked_at.empty() ? "" : "  revoked " + t.revoked_at);
  if (all.empty()) fmt::print("no tokens\n");
  return ExitStatus::kDone;
}

Result<ExitStatus> token_revoke(World& world, const CommonFlags& common, const StoreFlags& flags) {
  PAWL_ASSIGN(store::Database database, open_existing(world, common, flags.store));
  PAWL_TRY(results::Tokens(database).revoke(flags.id, iso_utc(world.clock.wall())));
  if (!common.json) fmt::print("token {} is revoked\n", flags.id);
  if (common.json) print_json({{"schema", "pawl.token-revoked/1"}, {"id", flags.id}});
  return ExitStatus::kDone;
}

Result<ExitStatus> audit(World& world, const CommonFlags& common, const StoreFlags& flags) {
  PAWL_ASSIGN(store::Database database, open_existing(world, common, flags.store));
  Json rows = Json::array();
  PAWL_TRY(database.query("SELECT at, who, action, detail FROM results_audit ORDER BY id DESC LIMIT 1000", {}, [&](const store::Row& row) {
    rows.push_back({{"at", row.text(0)}, {"who", row.text(1)}, {"action", row.text(2)}, {"detail", row.text(3)}});
    return Status();
  }));
  if (common.json) {
    print_json({{"schema", "pawl.audit/1"}, {"entries", rows}});
    return ExitStatus::kDone;
  }
  for (const Json& row : rows) {
    fmt::print("{:<20}  {:<16} {:<12} {}\n", row["at"].get<std::string>(), row["who"].get<std::string>(), row["action"].get<std::string>(),
               row["detail"].get<std::string>());
  }
  return ExitStatus::kDone;
}

}  // namespace

void add_store_commands(Cli& cli) {
  CLI::App* group = cli.command(cli.root, "store", "The database with the results: check, move forward, copy, back up, tokens",
                                "  pawl store verify\n  pawl store copy postgresql://pawl@db.example/results");
  group->require_subcommand(1);
  const auto add = [&](CLI::App& parent, const char* name, const char* what, const char* examples,
                       Result<ExitStatus> (*work)(World&, const CommonFlags&, const StoreFlags&)) {
    const auto flags = std::make_shared<StoreFlags>();
    CLI::App* app = cli.command(parent, name, what, examples);
    flags->store.add_to(*app);
    app->callback([&cli, flags, work] { cli.selected = [flags, work](World& w, const CommonFlags& c) { return work(w, c, *flags); }; });
    return std::pair(app, flags);
  };
  add(*group, "verify", "Check that everything in the store holds together; exit status 1 when not",
      "  pawl store verify\n  pawl store verify --store results.db --json", verify);
  add(*group, "migrate", "Move the tables to the version of this pawl (every command that opens the store does)", "  pawl store migrate --store old.db",
      migrate);
  {
    const auto [app, flags] =
        add(*group, "copy", "Copy the store into an empty one, on the same engine or the other",
            "  pawl store copy postgresql://pawl@db.example/results\n  pawl store copy copy.db --store postgresql://pawl@db.example/results", copy);
    app->add_option("target", flags->target, "SQLite file or postgresql://…")->required();
  }
  {
    const auto [app, flags] = add(*group, "backup", "Copy the database file as it is at one instant, while others go on (SQLite)",
                                  "  pawl store backup results-2026-11-30.db", backup);
    app->add_option("file", flags->target, "New file")->required();
  }
  {
    const auto [app, flags] =
        add(*group, "prune", "Remove rows that no answer shows: of superseded attempts and purged runs", "  pawl store prune --before 2026-06-01", prune);
    app->add_option("--before", flags->before, "Only of runs published before this day")->required();
  }
  add(*group, "audit", "What was done with tokens and by hand, newest first", "  pawl store audit", audit);
  CLI::App* token = cli.command(*group, "token", "Tokens for writing through the server", "  pawl store token create --name ci --scopes ingest");
  token->require_subcommand(1);
  {
    const auto [app, flags] =
        add(*token, "create", "Make a token; it is shown once", "  pawl store token create --name ci --scopes ingest,admin", token_create);
    app->add_option("--name", flags->name, "Who uses it; stands in the audit log")->required();
    app->add_option("--scopes", flags->scopes, "ingest, admin; comma-separated")->capture_default_str();
  }
  add(*token, "list", "Which tokens there are", "  pawl store token list", token_list);
  {
    const auto [app, flags] = add(*token, "revoke", "End a token; make the new one first to rotate", "  pawl store token revoke 1", token_revoke);
    app->add_option("id", flags->id, "Id of the token")->required();
  }
}

}  // namespace pawl::app
