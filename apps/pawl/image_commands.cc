#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "catalogue_source.h"
#include "cli.h"
#include "codec/describe.h"
#include "codec/yaml.h"
#include "git_tree.h"
#include "image_sources.h"
#include "plan/catalogue.h"
#include "registry/layer_packages.h"
#include "registry/manifest.h"

namespace pawl::app {
namespace {

using codec::Json;

struct ImageFlags {
  RegistryFlags registry;
  std::string catalog, image, min_age, clone, platform, against, interval = "1h", state;
  std::vector<std::string> ignore, allow, watched;
  std::int64_t newest = 0, cycles = 0;
  double layer_gib_max = 32;
  bool check = false, once = false, packages = false, digests = false;
};

/// An image to look at, and the recipe that pins it, if one was named.
struct Subject {
  model::ImageRef image;
  std::string recipe, runner;
};

Result<plan::Catalogue> read_catalogue_at(World& world, const std::string& folder) {
  CatalogueSource source;
  source.catalog = folder;
  PAWL_ASSIGN(const plan::CatalogueTexts texts, source.read(world));
  return plan::Catalogue::read(texts.layout, texts.texts);
}

Result<Subject> subject_of(World& world, const ImageFlags& flags) {
  if (!flags.catalog.empty()) {
    PAWL_ASSIGN(const plan::Catalogue catalogue, read_catalogue_at(world, flags.catalog));
    PAWL_ASSIGN(const plan::Recipe* recipe, catalogue.find(flags.image));
    PAWL_ASSIGN(const model::ImageRef image, registry::parse_image_name(recipe->image()));
    return Subject{image, recipe->key, recipe->runner()};
  }
  PAWL_ASSIGN(const model::ImageRef image, registry::parse_image_name(flags.image));
  return Subject{image, {}, {}};
}

Result<images::ChoicePolicy> policy_of(World& world, const ImageFlags& flags) {
  images::ChoicePolicy policy;
  policy.now = world.clock.wall();
  if (!flags.min_age.empty()) {
    PAWL_ASSIGN(policy.min_age, parse_age(flags.min_age, "--min-age"));
  }
  policy.ignore = flags.ignore;
  for (const std::string& name : flags.allow) {
    const auto channel = codec::enum_value<images::Channel>(name);
    if (!channel) return usage_error(fmt::format("--allow {}: there is no such channel", name), "known: " + join(codec::enum_texts<images::Channel>(), ", "));
    policy.also_allow.push_back(*channel);
  }
  if (!flags.clone.empty()) {
    PAWL_ASSIGN(const GitTree tree, GitTree::open(flags.clone));
    PAWL_ASSIGN(const auto commits, tree.history(2'000'000));
    // Tags abbreviate commits: the first seven digits find the candidates, the rest must agree.
    auto positions = std::make_shared<std::multimap<std::string, std::pair<std::string, std::int64_t>>>();
    for (std::size_t i = 0; i < commits.size(); ++i) positions->emplace(commits[i].substr(0, 7), std::pair(commits[i], static_cast<std::int64_t>(i)));
    policy.ancestry = [positions](const std::string& commit) -> std::optional<std::int64_t> {
      std::optional<std::int64_t> found;
      const auto [first, last] = positions->equal_range(commit.substr(0, 7));
      for (auto it = first; it != last; ++it) {
        if (!it->second.first.starts_with(commit)) continue;
        if (found) return std::nullopt;  // ambiguous
        found = it->second.second;
      }
      return found;
    };
  }
  return policy;
}

/// What one look at a repository says about one pin.
struct Look {
  Subject subject;
  io::TagListing listing;
  images::ImageChoice choice;
  images::Lifetime life;
  std::string digest_now, digest_newest;  ///< empty when not asked for or not there
  bool already_updated = false;           ///< the newest tag names the image that is pinned
};

Result<Look> look(World& world, ImageDesk& desk, const Subject& subject, const images::ChoicePolicy& policy) {
  if (subject.image.tag.empty()) {
    return bad_input(fmt::format("{} names no tag, so nothing can be newer than it", registry::image_name_text(subject.image)),
                     "give the pin: repository:tag; pawl images list shows the tags that there are");
  }
  Look look{.subject = subject};
  PAWL_ASSIGN(look.listing, desk.sources().tags(subject.image.name, world.stop));
  look.choice = images::choose_image(desk.grammars(), subject.image.tag, look.listing.tags, policy);
  look.life = images::lifetime_of(desk.retention(), desk.grammars(), subject.image.name, subject.image.tag, look.listing.tags, policy.now);
  if (look.choice.newest) {
    // A tag must be verified to exist before it is written anywhere, and an equal digest is no update.
    PAWL_ASSIGN(look.digest_newest, desk.sources().digest({subject.image.name, *look.choice.newest, {}}, world.stop));
    if (!subject.image.digest.empty()) {
      look.digest_now = subject.image.digest;
    } else if (!subject.image.tag.empty()) {
      auto now = desk.sources().digest(subject.image, world.stop);
      if (now) {
        look.digest_now = *now;
      } else if (now.error().cls == ErrorClass::kNotFound) {
        look.choice.warnings.push_back("the current image is gone from the registry: that alone is a reason to move");
      } else {
        return std::move(now).error();
      }
    }
    look.already_updated = !look.digest_now.empty() && look.digest_now == look.digest_newest;
  }
  return look;
}

Json look_json(const Look& look) {
  Json json{{"image", registry::image_name_text(look.subject.image)}};
  if (!look.subject.recipe.empty()) json["recipe"] = look.subject.recipe;
  json["newest"] = look.choice.newest ? Json(*look.choice.newest) : Json(nullptr);
  json["reason"] = look.already_updated ? "already-updated: both names have one digest" : look.choice.reason;
  json["already_updated"] = look.already_updated;
  if (look.choice.newest) {
    json["newest_image"] = registry::image_name_text({look.subject.image.name, *look.choice.newest, {}});
    json["digest"] = look.digest_newest;
  }
  if (!look.digest_now.empty()) json["current_digest"] = look.digest_now;
  json["mention"] = look.choice.mention;
  json["warnings"] = look.choice.warnings;
  json["lifetime"] = codec::to_json(look.life);
  json["tags_listed"] = look.listing.tags.size();
  json["read_from"] = look.listing.read_from;
  return json;
}

std::string life_text(const images::Lifetime& life) {
  if (life.rule.empty()) return {};
  if (!life.days_left) return fmt::format("{}; {}", life.rule, life.basis);
  return fmt::format("about {:.1f} days left: {}; {}", *life.days_left, life.rule, life.basis);
}

void print_look(const Look& look) {
  fmt::print("{}{}\n", look.subject.recipe.empty() ? "" : look.subject.recipe + ": ", registry::image_name_text(look.subject.image));
  if (look.already_updated) {
    fmt::print("  already updated: {} names the same image ({})\n", *look.choice.newest, look.digest_newest);
  } else if (look.choice.newest) {
    fmt::print("  newest     {}\n  pin it as  {}@{}\n", *look.choice.newest, registry::image_name_text({look.subject.image.name, *look.choice.newest, {}}),
               look.digest_newest);
  } else {
    fmt::print("  nothing newer: {}\n", look.choice.reason);
  }
  for (const std::string& tag : look.choice.mention) fmt::print("  also there {} (another variant: a decision of its own)\n", tag);
  for (const std::string& warning : look.choice.warnings) fmt::print("  warning    {}\n", warning);
  if (const std::string life = life_text(look.life); !life.empty()) fmt::print("  retention  {}\n", life);
}

Result<ExitStatus> latest(World& world, const CommonFlags& common, const ImageFlags& flags) {
  PAWL_ASSIGN(const Subject subject, subject_of(world, flags));
  PAWL_ASSIGN(const auto policy, policy_of(world, flags));
  PAWL_ASSIGN(const auto desk, ImageDesk::open(world, flags.registry));
  PAWL_ASSIGN(const Look found, look(world, *desk, subject, policy));
  if (common.json) {
    Json document{{"schema", "pawl.image-latest/1"}};
    document.update(look_json(found));
    print_json(document);
  } else {
    print_look(found);
  }
  return flags.check && found.choice.newest && !found.already_updated ? ExitStatus::kFoundWanting : ExitStatus::kDone;
}

Result<ExitStatus> explain(World& world, const CommonFlags& common, const ImageFlags& flags) {
  PAWL_ASSIGN(const Subject subject, subject_of(world, flags));
  PAWL_ASSIGN(const auto policy, policy_of(world, flags));
  PAWL_ASSIGN(const auto desk, ImageDesk::open(world, flags.registry));
  PAWL_ASSIGN(const Look found, look(world, *desk, subject, policy));
  if (common.json) {
    Json document{{"schema", "pawl.image-explanation/1"}};
    document.update(look_json(found));
    document["tags"] = codec::to_json(found.choice.tags);
    print_json(document);
    return ExitStatus::kDone;
  }
  print_look(found);
  const images::TagReading pin = desk->grammars().read(subject.image.tag);
  fmt::print("\nthe pin: kind {}, channel {}, variant {}\n{} tags read from the {}:\n", pin.grammar, codec::enum_text(pin.channel), pin.variant_text(),
             found.listing.tags.size(), found.listing.read_from);
  for (const images::JudgedTag& tag : found.choice.tags) {
    fmt::print("  {:<44} {:<14} {}{}\n", tag.tag, codec::enum_text(tag.verdict), tag.rule, tag.pushed.empty() ? "" : " (pushed " + tag.pushed + ")");
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> list(World& world, const CommonFlags& common, const ImageFlags& flags) {
  PAWL_ASSIGN(const Subject subject, subject_of(world, flags));
  PAWL_ASSIGN(const auto desk, ImageDesk::open(world, flags.registry));
  PAWL_ASSIGN(io::TagListing listing, desk->sources().tags(subject.image.name, world.stop));
  std::vector<images::TagReading> readings;
  for (const images::ListedTag& tag : listing.tags) readings.push_back(desk->grammars().read(tag.tag));
  std::vector<std::size_t> order(listing.tags.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // Newest first by push time where it is told; among the others by what the names say, one kind after the other.
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const auto &x = listing.tags[a], &y = listing.tags[b];
    if (x.pushed.has_value() != y.pushed.has_value()) return x.pushed.has_value();
    if (x.pushed && *x.pushed != *y.pushed) return *x.pushed > *y.pushed;
    if (readings[a].family != readings[b].family) return readings[a].family < readings[b].family;
    return !readings[a].family.empty() && compare_tags(readings[a], readings[b]) == std::strong_ordering::greater;
  });
  if (flags.newest > 0 && static_cast<std::size_t>(flags.newest) < order.size()) order.resize(static_cast<std::size_t>(flags.newest));
  std::map<std::string, std::vector<std::string>> by_digest;
  for (const std::size_t i : order) {
    images::ListedTag& tag = listing.tags[i];
    if (flags.digests && tag.digest.empty()) {
      PAWL_ASSIGN(tag.digest, desk->sources().digest({subject.image.name, tag.tag, {}}, world.stop));
    }
    if (!tag.digest.empty()) by_digest[tag.digest].push_back(tag.tag);
  }
  Json tags = Json::array();
  for (const std::size_t i : order) {
    const images::ListedTag& tag = listing.tags[i];
    const images::TagReading& r = readings[i];
    std::vector<std::string> same;
    if (!tag.digest.empty()) {
      for (const std::string& other : by_digest[tag.digest]) {
        if (other != tag.tag) same.push_back(other);
      }
    }
    if (common.json) {
      Json row{{"tag", tag.tag}, {"kind", r.grammar}, {"channel", codec::enum_text(r.channel)}, {"variant", r.variant_text()}};
      if (tag.pushed) row["pushed"] = iso_utc(*tag.pushed);
      if (!tag.digest.empty()) row["digest"] = tag.digest;
      if (!same.empty()) row["same_image_as"] = same;
      tags.push_back(std::move(row));
    } else {
      fmt::print("{:<48} {:<24} {:<12} {:<20} {}{}{}\n", tag.tag, r.grammar, codec::enum_text(r.channel), r.variant_text(),
                 tag.pushed ? iso_utc(*tag.pushed) : "", tag.digest.empty() ? "" : " " + tag.digest.substr(0, 19),
                 same.empty() ? "" : " = " + join(same, ", "));
    }
  }
  if (common.json) {
    print_json({{"schema", "pawl.image-tags/1"},
                {"repository", listing.repository},
                {"read_from", listing.read_from},
                {"pages", listing.requests},
                {"listed", listing.tags.size()},
                {"tags", tags}});
  }
  return ExitStatus::kDone;
}

/// The platform that the machines of a recipe need.
Result<std::string> platform_for(World& world, const std::string& runner) {
  PAWL_ASSIGN(const std::string text, world.assets->read("images/architectures.yaml"));
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(text, "images/architectures.yaml"));
  PAWL_ASSIGN(const Json json, codec::yaml_value(document, document.root));
  for (const Json& row : json.value("architectures", Json::array())) {
    if (glob_match(row.value("runner", std::string()), runner)) return row.value("platform", std::string());
  }
  return std::string("linux/amd64");
}

struct Inspection {
  io::ImageFacts facts;
  const io::PlatformImage* platform = nullptr;
  std::vector<registry::BundledPackage> packages;
};

Result<std::vector<registry::BundledPackage>> read_packages(World& world, const CommonFlags& common, ImageDesk& desk, const model::ImageRef& image,
                                                            const io::PlatformImage& platform, double gib_max) {
  const auto progress = make_progress(world, common);
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("pawl-layers-{}", ::getpid());
  PAWL_TRY(world.files.make_folder(folder));
  registry::LayerPackages reader;
  Status status;
  std::int64_t n = 0;
  for (const std::string& digest : platform.layer_digests) {
    progress->report({"layer", fmt::format("reading layer {}", digest.substr(0, 19)), n++, platform.layers});
    auto path = desk.sources().layer(image, digest, folder, static_cast<std::uint64_t>(gib_max * (1u << 30)), world.stop);
    status = path ? reader.add_layer(*path, world.stop) : Status(std::move(path).error());
    if (!status) break;
    if (path->parent_path() == folder) static_cast<void>(world.files.remove_tree(*path));
  }
  static_cast<void>(world.files.remove_tree(folder));
  PAWL_TRY(std::move(status));
  return reader.packages();
}

Result<Inspection> inspect_one(World& world, const CommonFlags& common, const ImageFlags& flags, ImageDesk& desk, const model::ImageRef& image,
                               const std::string& platform) {
  Inspection found;
  PAWL_ASSIGN(found.facts, desk.sources().facts(image, world.stop));
  const auto& all = found.facts.platforms;
  const auto at = std::ranges::find(all, platform, &io::PlatformImage::platform);
  if (at != all.end()) found.platform = &*at;
  // A single manifest whose config names no platform is the only image there is.
  if (found.platform == nullptr && all.size() == 1 && all.front().platform.empty()) found.platform = &all.front();
  if (flags.packages) {
    if (found.platform == nullptr) return not_found(fmt::format("{} has no image for {}", image.text(), platform), "choose one of its platforms: --platform");
    PAWL_ASSIGN(found.packages, read_packages(world, common, desk, image, *found.platform, flags.layer_gib_max));
  }
  return found;
}

/// Packages that differ: name, before, after; an empty version is "not there".
struct PackageChange {
  std::string kind, name, before, after;
};
BOOST_DESCRIBE_STRUCT(PackageChange, (), (kind, name, before, after))

std::vector<PackageChange> package_changes(const std::vector<registry::BundledPackage>& before, const std::vector<registry::BundledPackage>& after) {
  std::map<std::pair<std::string, std::string>, PackageChange> all;
  for (const auto& p : before) all[{p.kind, p.name}] = {p.kind, p.name, p.version, {}};
  for (const auto& p : after) {
    PackageChange& change = all[{p.kind, p.name}];
    change.kind = p.kind;
    change.name = p.name;
    change.after = p.version;
  }
  std::vector<PackageChange> changed;
  for (auto& [key, change] : all) {
    if (change.before != change.after) changed.push_back(std::move(change));
  }
  return changed;
}

Json inspection_json(const model::ImageRef& image, const Inspection& found) {
  Json json{{"image", registry::image_name_text(image)},
            {"digest", found.facts.digest},
            {"index", found.facts.index},
            {"platforms", codec::to_json(found.facts.platforms)}};
  if (!found.packages.empty()) json["packages"] = codec::to_json(found.packages);
  return json;
}

void print_inspection(const model::ImageRef& image, const Inspection& found) {
  fmt::print("{}\n  digest     {}{}\n", registry::image_name_text(image), found.facts.digest, found.facts.index ? " (index)" : "");
  for (const io::PlatformImage& p : found.facts.platforms) {
    fmt::print("  {:<10} {}  {} layers, {:.1f} MiB{}\n", p.platform.empty() ? "platform?" : p.platform, p.digest, p.layers,
               static_cast<double>(p.bytes) / (1 << 20), p.created.empty() ? "" : ", built " + p.created);
  }
  if (found.platform == nullptr) return;
  for (const char* label :
       {"org.opencontainers.image.revision", "org.opencontainers.image.version", "org.opencontainers.image.source", "org.opencontainers.image.created"}) {
    const auto value = found.platform->labels.find(label);
    if (value != found.platform->labels.end()) fmt::print("  label      {} = {}\n", label, value->second);
  }
  for (const registry::BundledPackage& p : found.packages) fmt::print("  {:<10} {} {}  ({})\n", p.kind, p.name, p.version, p.read_from);
}

Result<ExitStatus> inspect(World& world, const CommonFlags& common, const ImageFlags& flags) {
  PAWL_ASSIGN(const Subject subject, subject_of(world, flags));
  std::string platform = flags.platform;
  if (platform.empty()) {
    PAWL_ASSIGN(platform, platform_for(world, subject.runner));
  }
  PAWL_ASSIGN(const auto desk, ImageDesk::open(world, flags.registry));
  PAWL_ASSIGN(const Inspection found, inspect_one(world, common, flags, *desk, subject.image, platform));
  PAWL_ASSIGN(const bool anonymous, desk->sources().anonymous(subject.image, world.stop));
  PAWL_ASSIGN(const auto missing, desk->sources().missing_blobs(subject.image, found.facts, world.stop));
  const bool fits = found.platform != nullptr || found.facts.platforms.empty();
  Json document{{"schema", "pawl.image-inspection/1"}};
  document.update(inspection_json(subject.image, found));
  document["platform"] = platform;
  document["platform_available"] = fits;
  document["anonymous"] = anonymous;
  document["missing_blobs"] = missing;
  if (!flags.against.empty()) {
    PAWL_ASSIGN(const model::ImageRef other, registry::parse_image_name(flags.against));
    PAWL_ASSIGN(const Inspection old, inspect_one(world, common, flags, *desk, other, platform));
    const auto change = registry::platform_change(old.facts, found.facts, platform);
    const auto packages = package_changes(old.packages, found.packages);
    document["against"] = {{"image", flags.against}, {"changed", change.changed}, {"reason", change.reason}, {"packages", codec::to_json(packages)}};
    if (!common.json) {
      print_inspection(subject.image, found);
      fmt::print("  against    {}: {}\n", flags.against, change.changed ? "changed (" + change.reason + ")" : change.reason);
      for (const PackageChange& p : packages) {
        fmt::print("  {:<10} {:<32} {} → {}\n", p.kind, p.name, p.before.empty() ? "(not there)" : p.before, p.after.empty() ? "(gone)" : p.after);
      }
    }
  } else if (!common.json) {
    print_inspection(subject.image, found);
  }
  if (common.json) {
    print_json(document);
  } else {
    if (!fits) fmt::print("  wanting    no image for {}\n", platform);
    fmt::print("  pullable   {}{}\n", anonymous ? "by anybody" : "only with an account",
               missing.empty() ? "" : fmt::format("; {} blobs are missing: not usable yet", missing.size()));
  }
  return fits && missing.empty() ? ExitStatus::kDone : ExitStatus::kFoundWanting;
}

/// The subjects of a watch: images named, or every recipe of a catalogue.
Result<std::vector<Subject>> watched(World& world, const ImageFlags& flags) {
  std::vector<Subject> all;
  if (!flags.catalog.empty()) {
    PAWL_ASSIGN(const plan::Catalogue catalogue, read_catalogue_at(world, flags.catalog));
    for (const plan::Recipe& recipe : catalogue.recipes()) {
      if (!flags.watched.empty() && std::ranges::none_of(flags.watched, [&](const std::string& glob) { return glob_match(glob, recipe.key); })) continue;
      auto image = registry::parse_image_name(recipe.image());
      if (image) all.push_back({*std::move(image), recipe.key, recipe.runner()});
    }
    if (all.empty()) return not_found("no recipe fits", "pawl catalog list shows the keys");
    return all;
  }
  for (const std::string& text : flags.watched) {
    PAWL_ASSIGN(model::ImageRef image, registry::parse_image_name(text));
    all.push_back({std::move(image), {}, {}});
  }
  if (all.empty()) return usage_error("nothing to watch", "name images, or give --catalog DIR");
  return all;
}

/// What a watch has told already, so that each new image is told once: image → newest.
Result<std::map<std::string, std::string>> read_told(World& world, const std::string& path) {
  std::map<std::string, std::string> told;
  if (path.empty() || !world.files.exists(path)) return told;
  PAWL_ASSIGN(const std::string text, world.files.read(path, 16u << 20));
  PAWL_ASSIGN(const Json json, codec::parse_json(text, path));
  return codec::from_json<std::map<std::string, std::string>>(json.value("told", Json::object()), path);
}

Result<ExitStatus> watch(World& world, const CommonFlags& common, const ImageFlags& flags) {
  PAWL_ASSIGN(const auto subjects, watched(world, flags));
  PAWL_ASSIGN(const Nanos interval, parse_age(flags.interval, "--interval"));
  PAWL_ASSIGN(auto told, read_told(world, flags.state));
  PAWL_ASSIGN(const auto desk, ImageDesk::open(world, flags.registry));
  const auto progress = make_progress(world, common);
  std::int64_t failures = 0;
  for (std::int64_t cycle = 1;; ++cycle) {
    PAWL_ASSIGN(const auto policy, policy_of(world, flags));
    failures = 0;
    std::map<std::string, Result<Look>> seen;  // one look for all recipes that pin the same image
    std::int64_t n = 0;
    for (const Subject& subject : subjects) {
      const std::string key = registry::image_name_text(subject.image);
      progress->report({"images", key, n++, static_cast<std::int64_t>(subjects.size())});
      if (!seen.contains(key)) seen.emplace(key, look(world, *desk, subject, policy));
      if (world.stop.stop_requested()) return cancelled();
      const Result<Look>& found = seen.at(key);
      const std::string name = subject.recipe.empty() ? key : subject.recipe + " " + key;
      if (!found) {
        // An incomplete listing changes nothing: what was told stays told.
        ++failures;
        if (common.json) {
          fmt::print(
              "{}\n",
              codec::write_json(
                  Json{{"schema", "pawl.image-event/1"}, {"event", "failed"}, {"image", key}, {"recipe", subject.recipe}, {"message", found.error().message}},
                  codec::JsonForm::kCompactUtf8));
        } else {
          fmt::print("{}: not read: {}\n", name, found.error().message);
        }
        continue;
      }
      if (!found->choice.newest || found->already_updated || told[name] == *found->choice.newest) continue;
      told[name] = *found->choice.newest;
      if (common.json) {
        Look own = *found;
        own.subject = subject;
        Json line{{"schema", "pawl.image-event/1"}, {"event", "newer"}};
        line.update(look_json(own));
        fmt::print("{}\n", codec::write_json(line, codec::JsonForm::kCompactUtf8));
      } else {
        fmt::print("{}: newer image {}\n", name, *found->choice.newest);
      }
    }
    std::fflush(stdout);
    if (!flags.state.empty())
      PAWL_TRY(world.files.write_atomic(flags.state, codec::write_json_pretty(Json{{"schema", "pawl.image-watch/1"}, {"told", codec::to_json(told)}})));
    if (flags.once || (flags.cycles > 0 && cycle >= flags.cycles)) break;
    if (!world.clock.sleep_for(interval, world.stop)) return cancelled();
  }
  return failures > 0 ? ExitStatus::kPeer : ExitStatus::kDone;
}

/// The kinds of tags, with how many images of a catalogue are of each.
Result<ExitStatus> kinds(World& world, const CommonFlags& common, const ImageFlags& flags) {
  PAWL_ASSIGN(const auto desk, ImageDesk::open(world, flags.registry));
  std::map<std::string, std::set<std::string>> by_kind;
  std::set<std::string> all;
  if (!flags.catalog.empty()) {
    PAWL_ASSIGN(const plan::Catalogue catalogue, read_catalogue_at(world, flags.catalog));
    for (const plan::Recipe& recipe : catalogue.recipes()) {
      if (!all.insert(recipe.image()).second) continue;
      const auto image = registry::parse_image_name(recipe.image());
      by_kind[!image ? "other" : !image->digest.empty() ? "digest-pinned" : desk->grammars().read(image->tag).grammar].insert(recipe.image());
    }
  }
  auto known = desk->grammars().grammars();
  known.push_back({"digest-pinned", "tag or not, with a digest", ""});
  Json rows = Json::array();
  for (const auto& g : known) {
    if (common.json) {
      rows.push_back({{"kind", g.name}, {"what", g.what}, {"images", std::vector(by_kind[g.name].begin(), by_kind[g.name].end())}});
    } else {
      fmt::print("{:<26} {:>4}  {}\n", g.name, by_kind[g.name].size(), g.what);
    }
  }
  if (common.json) print_json({{"schema", "pawl.image-kinds/1"}, {"images", all.size()}, {"kinds", rows}});
  return ExitStatus::kDone;
}

void add_choice_flags(CLI::App& app, ImageFlags& flags) {
  app.add_option("--min-age", flags.min_age, "A tag must have been pushed this long ago (3d, 12h); unknown push times do not pass");
  app.add_option("--ignore", flags.ignore, "Tags never to propose, a glob; may be repeated");
  app.add_option("--allow", flags.allow, "A further channel: stable, candidate, development, nightly; may be repeated");
  app.add_option("--source-clone", flags.clone, "A git clone of the engine: orders commit-named tags by ancestry");
}

void add_subject(CLI::App& app, ImageFlags& flags) {
  app.add_option("image", flags.image, "IMAGE, oci:FOLDER:TAG, pypi:NAME==VERSION; with --catalog the key of a recipe")->required();
  app.add_option("--catalog", flags.catalog, "Catalogue folder: the argument is then the key of a recipe");
  flags.registry.add_to(app);
}

}  // namespace

void add_image_commands(Cli& cli) {
  CLI::App* images = cli.command(cli.root, "images", "What images there are, which is newer, and what is inside",
                                 "  pawl images latest lmsysorg/sglang:v0.5.18-cu130\n"
                                 "  pawl images explain --catalog DIR qwen3.5-fp8-h200-sglang\n"
                                 "  pawl images inspect oci:layout:v2 --packages --against oci:layout:v1");
  images->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, const char* examples, auto work) {
    auto flags = std::make_shared<ImageFlags>();
    CLI::App* app = cli.command(*images, name, what, examples);
    app->callback([&cli, flags, work] { cli.selected = [flags, work](World& world, const CommonFlags& common) { return work(world, common, *flags); }; });
    return std::pair(app, flags);
  };
  {
    const auto [app, flags] = add("list", "Every tag of an image's repository, newest first",
                                  "  pawl images list lmsysorg/sglang --newest 20\n  pawl images list pypi:sglang --json", list);
    add_subject(*app, *flags);
    app->add_option("--newest", flags->newest, "Only so many");
    app->add_flag("--digests", flags->digests, "Ask for the digest of each tag shown: which names are one image");
  }
  {
    const auto [app, flags] = add("latest", "The newest tag that may replace a pin",
                                  "  pawl images latest vllm/vllm-openai:v0.22.0\n  pawl images latest --catalog DIR KEY --min-age 3d --check", latest);
    add_subject(*app, *flags);
    add_choice_flags(*app, *flags);
    app->add_flag("--check", flags->check, "Exit status 1 when there is a newer one");
  }
  {
    const auto [app, flags] = add("explain", "Why each tag is, or is not, an update of a pin", "  pawl images explain lmsysorg/sglang:v0.5.18-cu130", explain);
    add_subject(*app, *flags);
    add_choice_flags(*app, *flags);
  }
  {
    const auto [app, flags] = add("inspect", "Digest, platforms, labels and packages of an image, without running it",
                                  "  pawl images inspect IMAGE --packages\n  pawl images inspect NEW --packages --against OLD --json", inspect);
    add_subject(*app, *flags);
    app->add_option("--platform", flags->platform, "For example linux/arm64; default: what the recipe's GPU needs, else linux/amd64");
    app->add_flag("--packages", flags->packages, "Read the packages from the layers (downloads them)");
    app->add_option("--against", flags->against, "Another image: what changed");
    app->add_option("--layer-max-gib", flags->layer_gib_max, "Largest layer to download")->capture_default_str()->check(CLI::PositiveNumber);
  }
  {
    const auto [app, flags] = add("watch", "Tell each newer image once",
                                  "  pawl images watch --catalog DIR --state watch.json\n  pawl images watch vllm/vllm-openai:v0.22.0 --once", watch);
    app->add_option("images", flags->watched, "Images; with --catalog globs over recipe keys");
    app->add_option("--catalog", flags->catalog, "Catalogue folder: watch what its recipes pin");
    flags->registry.add_to(*app);
    add_choice_flags(*app, *flags);
    app->add_option("--interval", flags->interval, "Between two looks")->capture_default_str();
    app->add_flag("--once", flags->once, "One look, then end; exit status 5 when a listing could not be read");
    app->add_option("--cycles", flags->cycles, "End after so many looks");
    app->add_option("--state", flags->state, "File that remembers what was told");
  }
  {
    const auto [app, flags] =
        add("kinds", "The kinds of tags that are known, and how many images of a catalogue are of each", "  pawl images kinds --catalog DIR", kinds);
    app->add_option("--catalog", flags->catalog, "Catalogue folder");
    flags->registry.add_to(*app);
  }
}

}  // namespace pawl::app
