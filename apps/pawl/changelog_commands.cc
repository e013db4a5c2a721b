#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>

#include "changelog/gate.h"
#include "changelog/history.h"
#include "changelog/ledger.h"
#include "changelog/merge.h"
#include "changelog/rule.h"
#include "changelog/strict.h"
#include "cli.h"
#include "git_tree.h"
#include "workbench.h"

namespace pawl::app {
namespace {

using codec::Json;

/// The flags of `check` and `process`: two versions of the ledger as files or as refs, and the catalogue.
struct CompareFlags {
  std::string base, head, merge_base;  // files
  std::string base_ref, head_ref, repo;
  std::string path;  // of the ledger in the repository
  std::string catalog, base_catalog;
  std::int64_t number = 0;
  bool strict = false, compat = false, trim_conc = false, all_evals = false, evals_only = false;
};

/// A catalogue with the side that processing reads; the side points into the catalogue.
struct LoadedCatalogue {
  std::unique_ptr<plan::Catalogue> catalogue;
  changelog::CatalogueSide side;
};

struct Loaded {
  changelog::GateInput input;
  changelog::ProcessOptions options;
  LoadedCatalogue head;
  std::optional<Result<LoadedCatalogue>> base;  ///< its error matters to append-only entries alone
};

Result<LoadedCatalogue> load(const plan::Layout& layout, const std::map<std::string, std::string>& texts) {
  PAWL_ASSIGN(plan::Catalogue catalogue, plan::Catalogue::read(layout, texts));
  LoadedCatalogue loaded{std::make_unique<plan::Catalogue>(std::move(catalogue)), {}};
  PAWL_ASSIGN(loaded.side, changelog::side_of(*loaded.catalogue));
  return loaded;
}

Result<LoadedCatalogue> load_folder(World& world, const std::string& folder) {
  PAWL_ASSIGN(const CatalogueFolder found, read_catalogue_folder(world, folder));
  return load(found.texts.layout, found.texts.texts);
}

Result<plan::CatalogueTexts> texts_at(World& world, const GitTree& git, const std::string& commit) {
  PAWL_ASSIGN(const auto format, steward::load_format(*world.assets));
  auto found = plan::collect_catalogue(format, [&](const std::string& path) { return git.read(commit, path); });
  if (!found) return Error(found.error()).within("commit " + commit.substr(0, 12)).advise("--catalog names a folder that has a catalogue");
  return found;
}

Result<LoadedCatalogue> load_commit(World& world, const GitTree& git, const std::string& commit) {
  PAWL_ASSIGN(const plan::CatalogueTexts found, texts_at(world, git, commit));
  return load(found.layout, found.texts);
}

Result<Loaded> load_refs(World& world, const CompareFlags& flags) {
  if (flags.base_ref.empty() || flags.head_ref.empty()) return usage_error("--repo needs --base-ref and --head-ref");
  Loaded loaded;
  PAWL_ASSIGN(const GitTree git, GitTree::open(flags.repo));
  PAWL_ASSIGN(const std::string base, git.commit(flags.base_ref));
  PAWL_ASSIGN(const std::string head, git.commit(flags.head_ref));
  std::string from = base;
  if (!flags.compat) {
    PAWL_ASSIGN(from, git.merge_base(base, head));
  }
  if (flags.path.empty()) {
    const auto found = texts_at(world, git, head);
    loaded.input.file = found ? found->layout.changelog : "perf-changelog.yaml";
  } else {
    loaded.input.file = flags.path;
  }
  // A base of an older layout has its ledger elsewhere.
  const auto text = [&](const std::string& commit) -> Result<std::optional<std::string>> {
    PAWL_ASSIGN(auto here, git.read(commit, loaded.input.file));
    if (here || !flags.path.empty() || flags.compat) return here;
    const auto found = texts_at(world, git, commit);
    if (!found) return here;
    const auto bytes = found->texts.find(found->layout.changelog);
    return bytes == found->texts.end() ? here : std::optional(bytes->second);
  };
  PAWL_ASSIGN(const auto head_text, text(head));
  if (!head_text) return not_found(fmt::format("{} is not at {}", loaded.input.file, flags.head_ref));
  PAWL_ASSIGN(const auto base_text, text(base));
  PAWL_ASSIGN(const auto from_text, text(from));
  loaded.input.head = *head_text;
  loaded.input.base = base_text.value_or("");
  loaded.input.merge_base = from_text.value_or("");
  // The reference reads the catalogue of the working folder; by default every input comes from the refs.
  if (!flags.catalog.empty() || flags.compat) {
    PAWL_ASSIGN(loaded.head, load_folder(world, flags.catalog.empty() ? git.folder().string() : flags.catalog));
  } else {
    PAWL_ASSIGN(loaded.head, load_commit(world, git, head));
  }
  loaded.base = flags.base_catalog.empty() ? load_commit(world, git, from) : load_folder(world, flags.base_catalog);
  return loaded;
}

Result<Loaded> load_files(World& world, const CompareFlags& flags) {
  if (flags.base.empty() || flags.head.empty())
    return usage_error("two versions are needed: --base FILE and --head FILE, or --repo DIR with --base-ref and --head-ref");
  if (flags.catalog.empty()) return usage_error("--catalog is needed: the folder whose config keys the entries may name");
  Loaded loaded;
  loaded.input.file = flags.head;
  PAWL_ASSIGN(loaded.input.base, world.files.read(flags.base));
  PAWL_ASSIGN(loaded.input.head, world.files.read(flags.head));
  if (!flags.merge_base.empty()) {
    PAWL_ASSIGN(loaded.input.merge_base, world.files.read(flags.merge_base));
  }
  PAWL_ASSIGN(loaded.head, load_folder(world, flags.catalog));
  if (!flags.base_catalog.empty()) loaded.base = load_folder(world, flags.base_catalog);
  return loaded;
}

Result<Loaded> load(World& world, const CompareFlags& flags) {
  PAWL_ASSIGN(Loaded loaded, flags.repo.empty() ? load_files(world, flags) : load_refs(world, flags));
  loaded.input.compat = flags.compat;
  loaded.input.no_evals = loaded.head.side.no_evals;
  loaded.options = {.trim_conc = flags.trim_conc,
                    .all_evals = flags.all_evals,
                    .evals_only = flags.evals_only,
                    .base_ref = flags.base_ref.empty() ? flags.base : flags.base_ref,
                    .head_ref = flags.head_ref.empty() ? flags.head : flags.head_ref};
  return loaded;
}

Result<changelog::GateReport> gate(const Loaded& loaded) {
  const changelog::CatalogueSide* base = loaded.base && *loaded.base ? &(*loaded.base)->side : nullptr;
  if (loaded.base && !*loaded.base) {
    PAWL_ASSIGN(const auto added, changelog::gate_additions(loaded.input));
    if (std::ranges::any_of(added, &changelog::LedgerEntry::append_only)) return Error(loaded.base->error()).within("the catalogue at the base");
  }
  return changelog::check_gate(loaded.input, loaded.head.side, base, loaded.options);
}

Result<changelog::StrictChanges> strict(const Loaded& loaded, const CompareFlags& flags) {
  const auto& input = loaded.input;
  const std::string& from = flags.compat || !input.merge_base ? input.base : *input.merge_base;
  return changelog::check_strict(from, input.head, flags.number > 0 ? std::optional(flags.number) : std::nullopt, "the base of " + input.file, input.file,
                                 input.no_evals);
}

Json error_json(const Error& error) {
  Json out{{"verdict", "reject"}, {"rule", changelog::rule_of(error)}, {"message", error.message}};
  if (!error.remedy.empty()) out["remedy"] = error.remedy;
  if (error.place) out["place"] = {{"file", error.place->file}, {"line", error.place->line}, {"text", error.place->text}};
  return out;
}

std::size_t rows_in(const Json& matrix, bool evals) {
  std::size_t count = 0;
  for (auto it = matrix.begin(); it != matrix.end(); ++it) {
    if (it.value().is_array() && evals) count += it.value().size();
    if (evals || (it.key() != "single_node" && it.key() != "multi_node")) continue;
    for (const Json& bucket : it.value()) count += bucket.size();
  }
  return count;
}

Result<ExitStatus> check(World& world, const CommonFlags& common, const CompareFlags& flags) {
  PAWL_ASSIGN(const Loaded loaded, load(world, flags));
  const auto report = gate(loaded);
  // What is no verdict on the change is an error: a catalogue that cannot be expanded.
  if (!report && report.error().exit != ExitStatus::kFoundWanting) return Error(report.error());
  const auto exact = strict(loaded, flags);
  const bool passes = report && (exact || !flags.strict);
  if (common.json) {
    Json out{{"schema", "pawl.changelog-check/1"}, {"file", loaded.input.file}, {"verdict", passes ? "accept" : "reject"}, {"compat", flags.compat}};
    out["gate"] = report ? Json{{"verdict", "accept"}} : error_json(report.error());
    out["strict"] =
        exact ? Json{{"verdict", "accept"}, {"additions", exact->additions}, {"corrections", exact->corrections.size()}} : error_json(exact.error());
    if (report) {
      out["base_ahead"] = report->base_ahead;
      out["entries"] = report->matrix["changelog_metadata"]["entries"];
      out["rows"] = rows_in(report->matrix, false);
      out["evals"] = rows_in(report->matrix, true);
    }
    print_json(out);
    return passes ? ExitStatus::kDone : ExitStatus::kFoundWanting;
  }
  if (!report) return Error(report.error());
  if (!passes) return Error(exact.error());
  fmt::print("{}: {} new {}, {} rows, {} evals: accepted\n", loaded.input.file, report->added.size(), report->added.size() == 1 ? "entry" : "entries",
             rows_in(report->matrix, false), rows_in(report->matrix, true));
  if (flags.compat) return ExitStatus::kDone;
  if (report->base_ahead > 0)
    fmt::print("note: the branch is behind: the base got {} more since. Before it is merged: merge the base, then pawl changelog merge\n", report->base_ahead);
  if (!exact) {
    const auto& place = exact.error().place;
    fmt::print("note: the strict check says{}: {}\n", place ? fmt::format(" at line {}", place->line) : "", exact.error().message);
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> process(World& world, const CompareFlags& flags) {
  PAWL_ASSIGN(const Loaded loaded, load(world, flags));
  PAWL_ASSIGN(const changelog::GateReport report, gate(loaded));
  const std::string text = changelog::matrix_text(report.matrix);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return ExitStatus::kDone;
}

struct AppendFlags {
  std::string file;
  changelog::Entry entry{.config_keys = {}, .description = {}, .pr_link = "XXX"};
  changelog::EntryModifiers modifiers;
  bool dry_run = false;
};

Result<ExitStatus> append(World& world, const CommonFlags& common, const AppendFlags& flags) {
  PAWL_ASSIGN(const std::string base, world.files.read(flags.file));
  PAWL_ASSIGN(const std::string head, changelog::append(base, flags.entry, flags.file, flags.modifiers));
  const std::string added = head.substr(base.size());
  if (!flags.dry_run) PAWL_TRY(world.files.write_atomic(flags.file, head));
  if (common.json) {
    print_json({{"schema", "pawl.changelog-append/1"}, {"file", flags.file}, {"written", !flags.dry_run}, {"added", added}});
  } else {
    fmt::print("{}", added);
  }
  return ExitStatus::kDone;
}

struct MergeFlags {
  std::string merge_base, request, main, repo, path = "perf-changelog.yaml", output, base_ref;
  changelog::MergeTarget target;
};

Result<ExitStatus> finish_merge(World& world, const CommonFlags& common, const MergeFlags& flags, const std::string& before, const std::string& result) {
  const bool changed = before != result;
  if (!flags.output.empty() && changed) PAWL_TRY(world.files.write_atomic(flags.output, result));
  if (common.json) {
    print_json({{"schema", "pawl.changelog-merge/1"}, {"changed", changed}, {"output", flags.output}, {"text", flags.output.empty() ? Json(result) : Json()}});
  } else if (flags.output.empty()) {
    std::fwrite(result.data(), 1, result.size(), stdout);
  } else {
    fmt::print("{}: {}\n", flags.output, changed ? "prepared" : "already prepared");
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> merge(World& world, const CommonFlags& common, MergeFlags flags) {
  flags.target.no_evals = flags.path.starts_with("inferencex-e2e/");
  std::string base, request, main;
  if (!flags.repo.empty()) {
    PAWL_ASSIGN(const GitTree git, GitTree::open(flags.repo));
    PAWL_ASSIGN(base, git.stage(flags.path, 1));
    PAWL_ASSIGN(request, git.stage(flags.path, 2));
    PAWL_ASSIGN(main, git.stage(flags.path, 3));
    if (flags.output.empty()) flags.output = (git.folder() / flags.path).string();
  } else {
    if (flags.merge_base.empty() || flags.request.empty() || flags.main.empty())
      return usage_error("three versions are needed: --merge-base, --request and --main, or --repo DIR while the file conflicts");
    PAWL_ASSIGN(base, world.files.read(flags.merge_base));
    PAWL_ASSIGN(request, world.files.read(flags.request));
    PAWL_ASSIGN(main, world.files.read(flags.main));
  }
  PAWL_ASSIGN(const std::string result, changelog::resolve_conflict(base, request, main, flags.target));
  std::string before;
  if (!flags.output.empty() && world.files.exists(flags.output)) {
    PAWL_ASSIGN(before, world.files.read(flags.output));
  }
  return finish_merge(world, common, flags, before, result);
}

Result<ExitStatus> canonicalize(World& world, const CommonFlags& common, MergeFlags flags) {
  if (flags.merge_base.empty() == flags.base_ref.empty()) return usage_error("one of --base FILE and --base-ref REF is needed");
  if (flags.output.empty()) flags.output = "perf-changelog.yaml";
  flags.target.no_evals = std::filesystem::absolute(flags.output).string().contains("/inferencex-e2e/");
  std::string base;
  if (flags.base_ref.empty()) {
    PAWL_ASSIGN(base, world.files.read(flags.merge_base));
  } else {
    const std::filesystem::path file = std::filesystem::absolute(flags.output);
    PAWL_ASSIGN(const GitTree git, GitTree::open(file.parent_path()));
    PAWL_ASSIGN(const std::string commit, git.commit(flags.base_ref));
    std::error_code trouble;
    const std::string path = std::filesystem::relative(file, git.folder(), trouble).string();
    PAWL_ASSIGN(const auto bytes, git.read(commit, path));
    if (!bytes) return not_found(fmt::format("{} is not at {}", path, flags.base_ref));
    base = *bytes;
  }
  PAWL_ASSIGN(const std::string head, world.files.read(flags.output));
  PAWL_ASSIGN(const std::string result, changelog::canonicalize(base, head, flags.target));
  return finish_merge(world, common, flags, head, result);
}

struct LogFlags {
  std::string key, file, catalog, repo, ref = "HEAD", path;
};

Result<ExitStatus> log(World& world, const CommonFlags& common, const LogFlags& flags) {
  std::string bytes, name = flags.file;
  std::vector<std::string> dates, known;
  if (!flags.catalog.empty()) {
    PAWL_ASSIGN(const CatalogueFolder folder, read_catalogue_folder(world, flags.catalog));
    PAWL_ASSIGN(const plan::Catalogue catalogue, plan::Catalogue::read(folder.texts.layout, folder.texts.texts));
    known = catalogue.keys();
    name = folder.texts.layout.changelog;
    if (!folder.texts.texts.contains(name)) return not_found(fmt::format("{} has no {}", flags.catalog, name));
    bytes = folder.texts.texts.at(name);
  }
  if (!flags.repo.empty()) {
    PAWL_ASSIGN(const GitTree git, GitTree::open(flags.repo));
    PAWL_ASSIGN(const std::string commit, git.commit(flags.ref));
    const auto found = texts_at(world, git, commit);
    name = !flags.path.empty() ? flags.path : found ? found->layout.changelog : "perf-changelog.yaml";
    PAWL_ASSIGN(const auto text, git.read(commit, name));
    if (!text) return not_found(fmt::format("{} is not at {}", name, flags.ref));
    bytes = *text;
    PAWL_ASSIGN(dates, git.line_dates(commit, name));
    // The keys of that commit: wildcards of entries and the siblings of a pattern are found among them.
    if (known.empty() && found) {
      if (const auto catalogue = plan::Catalogue::read(found->layout, found->texts)) known = catalogue->keys();
    }
  } else if (!flags.file.empty()) {
    name = flags.file;
    PAWL_ASSIGN(bytes, world.files.read(flags.file));
  } else if (flags.catalog.empty()) {
    return usage_error("--catalog, --file or --repo says which ledger");
  }
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(bytes, name));
  std::vector<changelog::LedgerEntry> entries;
  for (const codec::YamlNode& item : document.root.items) {
    PAWL_ASSIGN(changelog::LedgerEntry entry, changelog::read_entry(document, item, true));
    entries.push_back(std::move(entry));
  }
  // Without a catalogue the ledger itself says which keys there are.
  if (known.empty()) {
    std::set<std::string> keys;
    for (const changelog::LedgerEntry& entry : entries) {
      for (const std::string& key : entry.config_keys) {
        if (!key.contains('*')) keys.insert(key);
      }
    }
    known.assign(keys.begin(), keys.end());
  }
  Json found = Json::array();
  std::string shown;
  for (const changelog::LedgerEntry& entry : entries) {
    const changelog::Touch touch = changelog::touch_of(entry, flags.key, known);
    if (touch == changelog::Touch::kNone) continue;
    const auto line = static_cast<std::size_t>(entry.place.line);
    const std::string date = line >= 1 && line <= dates.size() ? dates[line - 1] : "";
    const bool direct = touch == changelog::Touch::kKey;
    Json record{{"line", entry.place.line}, {"touches", direct ? "key" : "sibling"}};
    if (!date.empty()) record["date"] = date;
    record["entry"] = changelog::entry_json(entry);
    found.push_back(std::move(record));
    shown += fmt::format("{}:{}{}  {}{}\n", name, line, date.empty() ? "" : "  " + date, entry.pr_link, direct ? "" : "  (sibling)");
    for (const std::string& key : entry.config_keys) shown += "    " + key + "\n";
    for (const std::string& text : entry.description) shown += "  - " + text + "\n";
  }
  if (common.json) {
    print_json({{"schema", "pawl.changelog-log/1"}, {"file", name}, {"key", flags.key}, {"entries", found}});
  } else {
    fmt::print("{}", shown.empty() ? fmt::format("no entry touches {}\n", flags.key) : shown);
  }
  return ExitStatus::kDone;
}

void add_compare_options(CLI::App& app, CompareFlags& flags) {
  app.add_option("--base", flags.base, "The ledger before the change: a file");
  app.add_option("--head", flags.head, "The ledger with the change: a file");
  app.add_option("--merge-base", flags.merge_base, "The ledger where the branch left the base, when it is behind: a file");
  app.add_option("--repo", flags.repo, "Read both from this git repository instead");
  app.add_option("--base-ref", flags.base_ref, "Ref of the base; also what the metadata names");
  app.add_option("--head-ref", flags.head_ref, "Ref of the head; also what the metadata names");
  app.add_option("--path", flags.path, "Path of the ledger in the repository (default: of the layout found)");
  app.add_option("--catalog", flags.catalog, "Folder of the recipe catalogue (default with --repo: the one at the head)");
  app.add_option("--base-catalog", flags.base_catalog, "Catalogue before the change, for append-only entries (default with --repo: at the base)");
  app.add_flag("--all-evals", flags.all_evals, "Every eval point, as the label says");
  app.add_flag("--evals-only", flags.evals_only, "No throughput rows, as the label says");
  app.add_flag("--compat", flags.compat, "As the reference: two trees without a merge base, catalogue of the working folder, its reading of a diff");
}

}  // namespace

void add_changelog_commands(Cli& cli) {
  CLI::App* top = cli.root.add_subcommand("changelog", "The append-only ledger of recipe changes")->require_subcommand(1);

  auto check_flags = std::make_shared<CompareFlags>();
  CLI::App* check_app = cli.command(*top, "check", "Judge a change of the ledger: the gate, and the strict check beside it",
                                    "  pawl changelog check --repo . --base-ref origin/main --head-ref HEAD --number 42 --strict\n"
                                    "  pawl changelog check --base old.yaml --head new.yaml --catalog DIR --json");
  add_compare_options(*check_app, *check_flags);
  check_app->add_option("--number", check_flags->number, "Number of the request, for the links of new entries (default: as on main)");
  check_app->add_flag("--strict", check_flags->strict, "The strict check must pass too");
  check_app->callback([&cli, check_flags] {
    cli.flags.compat = check_flags->compat;
    cli.selected = [check_flags](World& world, const CommonFlags& common) { return check(world, common, *check_flags); };
  });

  auto process_flags = std::make_shared<CompareFlags>();
  CLI::App* process_app = cli.command(*top, "process", "The matrix that new entries ask for; prints the contract's JSON",
                                      "  pawl changelog process --repo . --base-ref origin/main --head-ref HEAD --trim-conc");
  add_compare_options(*process_app, *process_flags);
  process_app->add_flag("--trim-conc", process_flags->trim_conc, "The lowest concurrency of every recipe alone");
  process_app->callback([&cli, process_flags] {
    cli.flags.compat = process_flags->compat;
    cli.selected = [process_flags](World& world, const CommonFlags&) { return process(world, *process_flags); };
  });

  auto append_flags = std::make_shared<AppendFlags>();
  CLI::App* append_app = cli.command(*top, "append", "Append one entry; every byte before it stays",
                                     "  pawl changelog append --file perf-changelog.yaml --key dsr1-fp8-b200-sglang --description 'Update image'");
  append_app->add_option("--file", append_flags->file, "The ledger")->required();
  append_app->add_option("--key", append_flags->entry.config_keys, "Config key or pattern with *; may be repeated")->required();
  append_app->add_option("--description", append_flags->entry.description, "One sentence; may be repeated")->required();
  append_app->add_option("--link", append_flags->entry.pr_link, "Link of the request")->capture_default_str();
  changelog::EntryModifiers& m = append_flags->modifiers;
  append_app->add_flag("--evals-only", m.evals_only, "The entry asks for evals alone");
  append_app->add_flag("--all-evals", m.all_evals, "The entry asks for every eval point and no throughput");
  append_app->add_flag("--append-only", m.append_only, "The entry asks for new points of recipes that are there; excludes the eval flags");
  append_app->add_flag("--no-evals", m.no_evals, "The entry asks for no evals (generations from 2026-09a on); excludes the eval flags");
  append_app->add_option("--eval-min-prefill-ep", m.eval_min_prefill_ep, "Evals only of multi-node rows with at least this prefill ep")
      ->check(CLI::PositiveNumber);
  append_app->add_option("--scenario-type", m.scenario_type, "Only these scenarios: fixed-seq-len, agentic-coding")
      ->check(CLI::IsMember({"fixed-seq-len", "agentic-coding"}));
  append_app->add_flag("--dry-run", append_flags->dry_run, "Print the entry, write nothing");
  append_app->callback(
      [&cli, append_flags] { cli.selected = [append_flags](World& world, const CommonFlags& common) { return append(world, common, *append_flags); }; });

  auto merge_flags = std::make_shared<MergeFlags>();
  CLI::App* merge_app = cli.command(*top, "merge", "Resolve a conflict of the ledger: main's bytes, then the request's entries",
                                    "  pawl changelog merge --repo . --number 42\n"
                                    "  pawl changelog merge --merge-base b.yaml --request r.yaml --main m.yaml --number 42");
  merge_app->add_option("--repo", merge_flags->repo, "Take the three versions from the index of a conflicted merge, and write the file");
  merge_app->add_option("--path", merge_flags->path, "Path of the ledger in the repository")->capture_default_str();
  merge_app->add_option("--merge-base", merge_flags->merge_base, "The ledger where the request left main: a file");
  merge_app->add_option("--request", merge_flags->request, "The ledger of the request: a file");
  merge_app->add_option("--main", merge_flags->main, "The ledger of main: a file");
  merge_app->add_option("--number", merge_flags->target.number, "Number of the request")->required();
  merge_app->add_option("--repository", merge_flags->target.repository, "Its repository, for links")->capture_default_str();
  merge_app->add_option("--output", merge_flags->output, "Write the result here instead of printing it");
  merge_app->add_flag("--compat", cli.flags.compat, "Exit statuses of the reference: 1 for whatever is refused");
  merge_app->callback(
      [&cli, merge_flags] { cli.selected = [merge_flags](World& world, const CommonFlags& common) { return merge(world, common, *merge_flags); }; });

  auto canon_flags = std::make_shared<MergeFlags>();
  CLI::App* canon_app = cli.command(*top, "canonicalize", "Put the request's link into the new entries of a ledger",
                                    "  pawl changelog canonicalize --base old.yaml --file perf-changelog.yaml --number 42");
  canon_app->add_option("--base", canon_flags->merge_base, "The ledger before the change: a file");
  canon_app->add_option("--base-ref", canon_flags->base_ref, "The ledger before the change: a ref of the repository that the file lies in");
  canon_app->add_option("--file,--path", canon_flags->output, "The ledger to rewrite (default: perf-changelog.yaml)");
  canon_app->add_flag("--compat", cli.flags.compat, "Exit statuses of the reference: 1 for whatever is refused");
  canon_app->add_option("--number", canon_flags->target.number, "Number of the request")->required();
  canon_app->add_option("--repository", canon_flags->target.repository, "Its repository, for links")->capture_default_str();
  canon_app->callback(
      [&cli, canon_flags] { cli.selected = [canon_flags](World& world, const CommonFlags& common) { return canonicalize(world, common, *canon_flags); }; });

  auto log_flags = std::make_shared<LogFlags>();
  CLI::App* log_app = cli.command(*top, "log", "Entries that touched a key or its siblings, oldest first",
                                  "  pawl changelog log --catalog DIR --key 'dsr1-fp8-*'\n"
                                  "  pawl changelog log --repo . --key dsr1-fp8-b200-sglang --json");
  log_app->add_option("--key", log_flags->key, "Config key, or pattern with * and ?")->required();
  log_app->add_option("--catalog", log_flags->catalog, "Folder of the recipe catalogue; resolves the wildcards of entries");
  log_app->add_option("--file", log_flags->file, "The ledger, when it is not that of the catalogue");
  log_app->add_option("--repo", log_flags->repo, "Read the ledger from this git repository, with dates");
  log_app->add_option("--ref", log_flags->ref, "Which commit of it")->capture_default_str();
  log_app->add_option("--path", log_flags->path, "Path of the ledger in the repository (default: of the layout found)");
  log_app->callback([&cli, log_flags] { cli.selected = [log_flags](World& world, const CommonFlags& common) { return log(world, common, *log_flags); }; });
}

}  // namespace pawl::app
