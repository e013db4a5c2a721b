#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "cli.h"
#include "codec/describe.h"
#include "plan/catalogue.h"
#include "plan/launch_script.h"
#include "playbook/playbook.h"
#include "upstream/audit.h"
#include "upstream/extract.h"
#include "upstream/history.h"
#include "upstream/image_facts.h"
#include "upstream/package_fetch.h"
#include "upstream/section.h"

namespace pawl::app {
namespace {

using codec::Json;
namespace fs = std::filesystem;

struct UpstreamFlags {
  std::string engine, from, to, script, recipe, log, gpu, architecture, format = "text", language = "en", python = "python3", flag;
  fs::path cache = ".pawl-sources";
  std::string from_image, to_image, platform = "linux/amd64", repository, path, symptom, reference;
  std::size_t list = 20;
};

/// The release inside a version, a tag or an image: "0.5.19" of "lmsysorg/sglang:v0.5.19-cu130"; empty when there is none.
std::string release_of(const std::string& text) {
  std::string tag = text.substr(0, text.find('@'));
  if (const std::size_t colon = tag.rfind(':'); colon != std::string::npos && tag.find('/', colon) == std::string::npos) tag = tag.substr(colon + 1);
  for (std::size_t at = 0; at < tag.size(); ++at) {
    if (std::isdigit(static_cast<unsigned char>(tag[at])) == 0 || (at > 0 && tag[at - 1] != 'v' && tag[at - 1] != '-')) continue;
    std::size_t end = at;
    while (end < tag.size() && (std::isdigit(static_cast<unsigned char>(tag[end])) != 0 || tag[end] == '.')) ++end;
    for (const std::string_view suffix : {"post", "rc", "dev"}) {
      if (tag.compare(end, suffix.size(), suffix) != 0) continue;
      end += suffix.size();
      while (end < tag.size() && std::isdigit(static_cast<unsigned char>(tag[end])) != 0) ++end;
    }
    const std::string found = tag.substr(at, end - at);
    if (found.find('.') != std::string::npos && !found.ends_with('.')) return found;
    at = end;
  }
  return {};
}

bool is_archive(const std::string& name) {
  return std::ranges::any_of(std::initializer_list<std::string_view>{".whl", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.zst", ".tar.bz2"},
                             [&](std::string_view end) { return name.ends_with(end); });
}

/// Reads one side: a folder, an archive, a help text, git:REPOSITORY@REVISION, NAME==VERSION, a version or an image.
Result<upstream::SourceTree> read_source(World& world, const UpstreamFlags& flags, const upstream::EngineProfile& profile, const std::string& spec,
                                         io::Progress& progress) {
  if (spec.starts_with("git:")) {
    const std::size_t at = spec.rfind('@');
    if (at == std::string::npos) return usage_error(fmt::format("{}: no revision", spec), "write git:REPOSITORY@REVISION");
    progress.report({"read", spec});
    return upstream::read_git(spec.substr(4, at - 4), spec.substr(at + 1), profile.read);
  }
  fs::path path = spec;
  std::error_code ec;
  if (fs::is_directory(path, ec)) {
    progress.report({"read", spec});
    return upstream::read_folder(world.files, path, profile.read);
  }
  std::string shown, revision;
  if (!world.files.exists(path)) {
    std::string name = profile.packages.empty() ? std::string() : profile.packages[0];
    std::string version = release_of(spec);
    if (const std::size_t equals = spec.find("=="); equals != std::string::npos) {
      name = spec.substr(0, equals);
      version = spec.substr(equals + 2);
    }
    if (version.empty() || spec.find('/') == 0 || spec.starts_with('.') || is_archive(spec)) {
      return not_found(fmt::format("{}: neither a file, a folder nor a version", spec),
                       "give a folder, an archive, git:REPOSITORY@REVISION, NAME==VERSION, a version or an image with one in its tag");
    }
    progress.report({"fetch", fmt::format("{} {} (downloaded only, never run; kept in {})", name, version, flags.cache.string())});
    PAWL_ASSIGN(path, upstream::fetch_package(world.processes, world.files, name, version, flags.cache, flags.python, world.stop));
    shown = fmt::format("{} {}", name, version);
    revision = version;
  }
  progress.report({"read", path.string()});
  PAWL_ASSIGN(const std::string bytes, world.files.read(path, 2ull << 30));
  if (!is_archive(path.filename().string())) {
    upstream::SourceTree tree;
    tree.shown = tree.origin = path.filename().string();
    tree.files[path.filename().string()] = bytes;
    return tree;
  }
  PAWL_ASSIGN(upstream::SourceTree tree, upstream::read_archive(bytes, path.filename().string(), profile.read));
  if (shown.empty()) {
    // NAME-VERSION-…: the file says it itself.
    const std::string file = path.filename().string();
    const std::size_t dash = file.find('-');
    const std::size_t end = file.find('-', dash + 1);
    if (dash != std::string::npos && end != std::string::npos) {
      revision = file.substr(dash + 1, end - dash - 1);
      shown = file.substr(0, dash) + " " + revision;
    }
  }
  if (!shown.empty()) {
    tree.shown = shown;
    tree.revision = revision;
  }
  return tree;
}

/// An image on this machine: the folder of an OCI layout, with :TAG behind it where it holds several, or an unpacked root.
Result<upstream::ImageFacts> read_image(World& world, const std::string& spec, const std::string& platform) {
  std::string folder = spec, reference;
  std::error_code ec;
  if (!fs::is_directory(folder, ec)) {
    const std::size_t colon = spec.rfind(':');
    if (colon == std::string::npos || !fs::is_directory(spec.substr(0, colon), ec))
      return not_found(fmt::format("{}: no such folder", spec), "give the folder of an OCI layout, DIR or DIR:TAG, or of an unpacked image");
    folder = spec.substr(0, colon);
    reference = spec.substr(colon + 1);
  }
  if (world.files.exists(fs::path(folder) / "index.json")) return upstream::read_oci_layout(world.files, folder, reference, platform);
  upstream::ImageFacts facts;
  PAWL_TRY(upstream::add_unpacked(world.files, folder, facts));
  return facts;
}

/// A recipe of a master file: its image, its engine, its machine, and the launch script that belongs to it.
struct RecipeFacts {
  std::string image, framework, runner, script, model;
};

Result<RecipeFacts> read_recipe(World& world, const std::string& spec) {
  const std::size_t slash = spec.rfind('/');
  if (slash == std::string::npos) return usage_error(fmt::format("{}: no key", spec), "write FILE/KEY: configs/nvidia-master.yaml/qwen3.5-fp8-h200-sglang");
  const std::string file = spec.substr(0, slash), key = spec.substr(slash + 1);
  PAWL_ASSIGN(const std::string text, world.files.read(file));
  plan::Layout layout;
  layout.name = "given";
  layout.masters = {file};
  PAWL_ASSIGN(const plan::Catalogue catalogue, plan::Catalogue::read(layout, {{file, text}}));
  PAWL_ASSIGN(const plan::Recipe* recipe, catalogue.find(key));
  RecipeFacts facts{recipe->image(), recipe->framework(), recipe->runner(), "", recipe->text("model")};
  model::Point point;
  point.model_prefix = recipe->text("model-prefix");
  point.exp_name = point.model_prefix;  // the part of it that script names begin with
  point.precision = recipe->text("precision");
  point.framework = facts.framework;
  point.runner = facts.runner;
  if (key.ends_with("-mtp") || key.find("-mtp-") != std::string::npos) point.spec_decoding = "mtp";
  fs::path root = fs::path(file).parent_path();
  for (int up = 0; up < 4; ++up, root = root / "..") {
    for (const std::string& path : plan::launch_script_paths(point)) {
      if (world.files.exists(root / path)) {
        facts.script = (root / path).lexically_normal().string();
        return facts;
      }
    }
  }
  return facts;
}

void print_rows(const upstream::Schema& schema) {
  for (const upstream::Argument& a : schema.arguments) {
    std::string value = a.takes_value ? (a.choices ? "{" + join(*a.choices, ",") + "}" : a.type.empty() ? "VALUE" : a.type) : "";
    if (value.size() > 60) value = value.substr(0, 57) + "…";
    fmt::print("{:<44} {:<24} {}{}\n", join(a.names, ", "), value, a.fallback_text.empty() ? "" : "= " + a.fallback_text.substr(0, 40) + "  ", a.place.text());
    if (a.deprecated) fmt::print("    deprecated{}\n", a.successor.empty() ? "" : ": use " + a.successor);
  }
  fmt::print("{} arguments, {} names, {} environment names, {} endpoints\n", schema.arguments.size(), schema.names(), schema.environment.size(),
             schema.endpoints.size());
  for (const std::string& problem : schema.problems) fmt::print("  not read: {}\n", problem);
}

Result<ExitStatus> schema(World& world, const CommonFlags& common, const UpstreamFlags& flags) {
  PAWL_ASSIGN(const upstream::EngineProfile profile, upstream::load_profile(*world.assets, flags.engine));
  const auto progress = make_progress(world, common);
  PAWL_ASSIGN(const upstream::SourceTree tree, read_source(world, flags, profile, flags.from, *progress));
  upstream::Program program(tree, profile.default_of);
  upstream::Schema found = upstream::extract_schema(tree, profile, program);
  if (!flags.flag.empty()) {
    std::erase_if(found.arguments,
                  [&](const upstream::Argument& a) { return std::ranges::none_of(a.names, [&](const std::string& n) { return glob_match(flags.flag, n); }); });
  }
  if (common.json) {
    Json json{{"schema", "pawl.upstream-schema/1"}, {"engine", profile.engine}, {"source", tree.shown}, {"revision", tree.revision}, {"origin", tree.origin}};
    const Json body = codec::to_json(found);
    for (auto it = body.begin(); it != body.end(); ++it) json[it.key()] = it.value();
    print_json(json);
    return ExitStatus::kDone;
  }
  print_rows(found);
  return found.arguments.empty() ? ExitStatus::kFoundWanting : ExitStatus::kDone;
}

Result<ExitStatus> audit(World& world, const CommonFlags& common, UpstreamFlags flags) {
  RecipeFacts facts;
  if (!flags.recipe.empty()) {
    PAWL_ASSIGN(facts, read_recipe(world, flags.recipe));
    if (flags.engine.empty()) flags.engine = facts.framework;
    if (flags.gpu.empty()) flags.gpu = facts.runner;
    if (flags.from.empty()) flags.from = facts.image;
    if (flags.script.empty()) flags.script = facts.script;
    if (flags.script.empty()) return not_found(fmt::format("{}: no launch script beside its catalogue", flags.recipe), "name it with --script");
  }
  if (flags.engine.empty()) return usage_error("which engine?", "--engine sglang; there are: " + join(upstream::profile_names(*world.assets), ", "));
  if (flags.from.empty() || flags.to.empty())
    return usage_error("--from and --to are required", "a folder, an archive, git:REPOSITORY@REVISION, NAME==VERSION, a version or an image");
  PAWL_ASSIGN(const upstream::EngineProfile profile, upstream::load_profile(*world.assets, flags.engine));
  PAWL_ASSIGN(const upstream::HardwareTable hardware, upstream::load_hardware(*world.assets));
  PAWL_ASSIGN(const std::string signatures, world.assets->read("playbook/signatures.yaml"));
  PAWL_ASSIGN(const std::string known_flags, world.assets->read("playbook/flags.yaml"));
  PAWL_ASSIGN(const playbook::Playbook playbook, playbook::Playbook::parse(signatures, known_flags));
  upstream::RecipeCommand command;
  if (!flags.script.empty()) {
    PAWL_ASSIGN(const std::string text, world.files.read(flags.script));
    PAWL_ASSIGN(command, upstream::read_script(text, profile, flags.script));
  } else if (!flags.log.empty()) {
    PAWL_ASSIGN(const std::string text, world.files.read(flags.log));
    PAWL_ASSIGN(command, upstream::read_argument_log(text, profile, flags.log));
  }
  const auto progress = make_progress(world, common);
  PAWL_ASSIGN(const upstream::SourceTree before, read_source(world, flags, profile, flags.from, *progress));
  PAWL_ASSIGN(const upstream::SourceTree after, read_source(world, flags, profile, flags.to, *progress));
  progress->report({"compare", fmt::format("{} and {} files", before.files.size(), after.files.size())});
  const upstream::AuditInput input{before, after, profile, command, &playbook, flags.gpu, upstream::family_of(hardware, flags.gpu), flags.architecture};
  upstream::AuditReport report = upstream::audit(input);
  const std::size_t old_at = flags.from.rfind('@'), new_at = flags.to.rfind('@');
  if (flags.from.starts_with("git:") && flags.to.starts_with("git:") && flags.from.substr(0, old_at) == flags.to.substr(0, new_at)) {
    progress->report({"history", fmt::format("{} to {}", before.revision.substr(0, 12), after.revision.substr(0, 12))});
    PAWL_ASSIGN(report.history, upstream::changes_under(flags.from.substr(4, old_at - 4), before.revision, after.revision, profile.touched, world.stop));
  }
  if (!flags.from_image.empty() || !flags.to_image.empty()) {
    if (flags.from_image.empty() || flags.to_image.empty()) return usage_error("--from-image and --to-image belong together");
    PAWL_ASSIGN(const upstream::ImageFacts old_image, read_image(world, flags.from_image, flags.platform));
    PAWL_ASSIGN(const upstream::ImageFacts new_image, read_image(world, flags.to_image, flags.platform));
    upstream::add_images(report, profile, flags.from_image, old_image, flags.to_image, new_image);
  }
  if (common.json || flags.format == "json") {
    print_json(upstream::audit_json(report));
  } else {
    const upstream::SectionLength length{flags.list, std::max<std::size_t>(flags.list, 40)};
    std::string text;
    if (flags.language != "zh") text += upstream::section(report, upstream::Language::kEnglish, length);
    if (flags.language == "both") text += "\n---\n\n";
    if (flags.language != "en") text += upstream::section(report, upstream::Language::kChinese, length);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return report.breaking() == 0 ? ExitStatus::kDone : ExitStatus::kFoundWanting;
}

Result<ExitStatus> culprit(World& world, const CommonFlags& common, const UpstreamFlags& flags) {
  const auto progress = make_progress(world, common);
  progress->report({"history", fmt::format("{} to {}", flags.from, flags.to)});
  PAWL_ASSIGN(const upstream::Culprit found, upstream::find_culprit(flags.repository, flags.from, flags.to, flags.path, flags.symptom, world.stop));
  if (common.json) {
    Json json{{"schema", "pawl.upstream-culprit/1"}};
    const Json body = codec::to_json(found);
    for (auto it = body.begin(); it != body.end(); ++it) json[it.key()] = it.value();
    print_json(json);
    return found.suspects.empty() ? ExitStatus::kFoundWanting : ExitStatus::kDone;
  }
  const std::string under = flags.path.empty() ? std::string() : " under " + flags.path;
  fmt::print("{} of {} commits touch something{}; looked for: {}\n", found.history.changes.size(), found.history.looked_at, under, join(found.words, ", "));
  if (found.suspects.empty()) {
    fmt::print("none of them holds a word of the symptom\n");
    return ExitStatus::kFoundWanting;
  }
  const upstream::Change& first = found.suspects[0].change;
  fmt::print("\nproposed  {}  {}  {}\nparent    {}  (the last commit without it)\n", first.commit, first.day, first.subject,
             first.parent.empty() ? "none: it is the first commit" : first.parent);
  for (const std::string& reason : found.suspects[0].reasons) fmt::print("  {}\n", reason);
  for (std::size_t i = 1; i < found.suspects.size() && i < 5; ++i) {
    const upstream::Suspect& s = found.suspects[i];
    fmt::print("\nnext      {}  {}  {}  (score {:.1f}, the first has {:.1f})\n  {}\n", s.change.commit.substr(0, 12), s.change.day, s.change.subject, s.score,
               found.suspects[0].score, s.reasons[0]);
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> packages(World& world, const CommonFlags& common, const UpstreamFlags& flags) {
  PAWL_ASSIGN(const upstream::ImageFacts facts, read_image(world, flags.reference, flags.platform));
  const auto commit = upstream::source_commit(facts);
  if (common.json) {
    Json json{{"schema", "pawl.image-facts/1"}};
    if (commit) json["source_commit"] = {{"commit", commit->commit}, {"label", commit->label}, {"agree", commit->agree}};
    const Json body = codec::to_json(facts);
    for (auto it = body.begin(); it != body.end(); ++it) json[it.key()] = it.value();
    print_json(json);
    return ExitStatus::kDone;
  }
  if (!facts.digest.empty()) fmt::print("{}  {}  created {}\n", facts.digest, facts.platform, facts.created.empty() ? "unknown" : facts.created);
  if (commit) fmt::print("source commit {} ({}){}\n", commit->commit, commit->label, commit->agree ? "" : "; other labels name other commits");
  for (const upstream::PackageFact& p : facts.packages) fmt::print("{:<8} {:<32} {:<20} {}\n", p.kind, p.name, p.version, p.path);
  for (const std::string& note : facts.notes) fmt::print("  {}\n", note);
  return ExitStatus::kDone;
}

}  // namespace

void add_upstream_commands(Cli& cli) {
  CLI::App* group = cli.root.add_subcommand("upstream", "What changed inside an engine between two versions")->require_subcommand(1);
  const auto common_options = [](CLI::App* app, UpstreamFlags& flags) {
    app->add_option("--engine", flags.engine, "Engine or companion: a name of data/upstream");
    app->add_option("--cache", flags.cache, "Folder of downloaded packages; only missing ones are fetched")->capture_default_str();
    app->add_option("--python", flags.python, "The Python whose pip downloads packages")->capture_default_str();
  };
  {
    auto flags = std::make_shared<UpstreamFlags>();
    CLI::App* app = cli.command(*group, "audit",
                                "Compares two versions for one recipe: flags, environment, defaults, dependencies. Exit status 1 when a flag must be changed",
                                "  pawl upstream audit --engine sglang --from 0.5.14 --to 0.5.19 --script launch.sh --gpu h200\n"
                                "  pawl upstream audit --recipe configs/nvidia-master.yaml/KEY --to lmsysorg/sglang:v0.5.19-cu130\n"
                                "  pawl upstream audit --engine sglang --from git:sglang@v0.5.14 --to git:sglang@v0.5.19 --json\n"
                                "  pawl upstream audit --engine llamacpp --from help-9093.txt --to help-11434.txt --args flags.txt");
    common_options(app, *flags);
    app->add_option("--from", flags->from, "Old source: folder, archive, help text, git:REPOSITORY@REVISION, NAME==VERSION, version, image");
    app->add_option("--to", flags->to, "New source, in the same forms");
    auto* script = app->add_option("--script", flags->script, "Launch script of the recipe");
    auto* log = app->add_option("--args", flags->log, "What the engine logged about its arguments, or a text of flags")->excludes(script);
    app->add_option("--recipe", flags->recipe, "FILE/KEY of a master file: gives engine, GPU, old image and script")->excludes(log);
    app->add_option("--gpu", flags->gpu, "GPU or runner of the recipe: h200, b200-dgxc");
    app->add_option("--architecture", flags->architecture, "The model's architecture, as its config.json says it");
    app->add_option("--from-image", flags->from_image,
                    "Old image on this machine (OCI layout, DIR:TAG, or an unpacked root): provenance and packages from its layers");
    app->add_option("--to-image", flags->to_image, "New image, in the same forms");
    app->add_option("--platform", flags->platform, "Which platform of the images")->capture_default_str();
    app->add_option("--format", flags->format, "How to print: text (Markdown), json")->check(CLI::IsMember({"text", "json"}))->capture_default_str();
    app->add_option("--lang", flags->language, "en, zh, both")->check(CLI::IsMember({"en", "zh", "both"}))->capture_default_str();
    app->add_option("--list", flags->list, "How many of each list about other options to print")->capture_default_str();
    app->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return audit(world, common, *flags); }; });
  }
  {
    auto flags = std::make_shared<UpstreamFlags>();
    CLI::App* app = cli.command(*group, "schema", "The arguments, environment names and endpoints that one version defines",
                                "  pawl upstream schema 0.5.19 --engine sglang\n  pawl upstream schema vllm-src/ --engine vllm --flag '*max*' --json");
    common_options(app, *flags);
    app->add_option("source", flags->from, "Folder, archive, help text, git:REPOSITORY@REVISION, NAME==VERSION, version, image")->required();
    app->add_option("--flag", flags->flag, "Only arguments with a name that fits this pattern");
    app->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return schema(world, common, *flags); }; });
  }
  {
    auto flags = std::make_shared<UpstreamFlags>();
    CLI::App* app = cli.command(*group, "culprit", "Proposes the commit that broke something, and its parent. Exit status 1 when none fits",
                                "  pawl upstream culprit --repo sglang --from v0.5.14 --to v0.5.19 --path python/sglang/srt --symptom 'unrecognized arguments: "
                                "--optimistic-prefill-retries'");
    app->add_option("--repo", flags->repository, "Folder of a git clone with its history")->required();
    app->add_option("--from", flags->from, "Revision that works")->required();
    app->add_option("--to", flags->to, "Revision that does not")->required();
    app->add_option("--path", flags->path, "Only commits that touch something below it");
    app->add_option("--symptom", flags->symptom, "The line of the log, or what is missing")->required();
    app->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return culprit(world, common, *flags); }; });
  }
  {
    auto flags = std::make_shared<UpstreamFlags>();
    CLI::App* app = cli.command(*group, "packages", "What lies in an image on this machine, read from its layers without running it",
                                "  pawl upstream packages layout:v0.5.19-cu130\n  pawl upstream packages rootfs --json");
    app->add_option("image", flags->reference, "Folder of an OCI layout (DIR or DIR:TAG), or of an unpacked root")->required();
    app->add_option("--platform", flags->platform, "Which platform of the image")->capture_default_str();
    app->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return packages(world, common, *flags); }; });
  }
}

}  // namespace pawl::app
