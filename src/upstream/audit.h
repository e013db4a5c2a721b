#pragma once

#include <boost/describe.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "playbook/playbook.h"
#include "upstream/argument_schema.h"
#include "upstream/decisions.h"
#include "upstream/dependencies.h"
#include "upstream/engine_profile.h"
#include "upstream/history.h"
#include "upstream/image_facts.h"
#include "upstream/recipe_command.h"
#include "upstream/source_tree.h"

namespace pawl::upstream {

/// Verdicts of the flag audit (upgrade-loop 13), and one for what could not be read.
enum class Verdict {
  kDefined,
  kAlias,
  kDeprecated,
  kRenamed,
  kNowTheDefault,
  kSplit,
  kAmbiguous,
  kValuesChanged,
  kDefaultChanged,
  kRemoved,
  kUndefined,
  kUnknown,
};
BOOST_DESCRIBE_ENUM(Verdict, kDefined, kAlias, kDeprecated, kRenamed, kNowTheDefault, kSplit, kAmbiguous, kValuesChanged, kDefaultChanged, kRemoved, kUndefined,
                    kUnknown)

/// One flag or environment name of the recipe.
struct FlagFinding {
  std::string flag;
  std::vector<std::string> values;
  Verdict verdict = Verdict::kDefined;
  bool breaks = false;   ///< the new version refuses it, or takes it to mean something else: the recipe must change
  bool already = false;  ///< kAlias, kDeprecated: it was so in the old version too
  bool moved = false;    ///< defined in another file than before
  std::string dest;
  std::string successor;  ///< what to write instead; empty when nothing is known
  std::string evidence;   ///< what shows it, with its citation in the text
  Place old_place, new_place, given;
};
BOOST_DESCRIBE_STRUCT(FlagFinding, (), (flag, values, verdict, breaks, already, moved, dest, successor, evidence, old_place, new_place, given))

/// Whether a changed default matters to the recipe.
enum class Effect { kAffects, kMayAffect, kPinned, kGated, kOtherHardware, kOtherModel };
BOOST_DESCRIBE_ENUM(Effect, kAffects, kMayAffect, kPinned, kGated, kOtherHardware, kOtherModel)

struct DefaultFinding {
  std::string flag, dest;
  bool decided = false;                             ///< the engine's own code decides it; false: the default of the argument itself
  std::vector<std::string> old_values, new_values;  ///< those that differ, as the sources write them
  Effect effect = Effect::kMayAffect;
  std::string because;  ///< flag, predicate or condition that says so; empty when plain
  std::vector<Place> old_places, new_places;
};
BOOST_DESCRIBE_STRUCT(DefaultFinding, (), (flag, dest, decided, old_values, new_values, effect, because, old_places, new_places))

struct DependencyFinding {
  std::string name, before, after;  ///< empty: not there
  bool coupled = false;
  std::string direction;  ///< "up", "down", "added", "removed", "changed"
  Place old_place, new_place;
};
BOOST_DESCRIBE_STRUCT(DependencyFinding, (), (name, before, after, coupled, direction, old_place, new_place))

/// An option that one version has and the other has not.
struct OptionFinding {
  std::string flag, what;
  bool deprecated = false;
  Place place;
};
BOOST_DESCRIBE_STRUCT(OptionFinding, (), (flag, what, deprecated, place))

/// A change of an option that the recipe does not set: listed, never a finding about the recipe.
struct OtherChange {
  std::string flag;
  Verdict verdict = Verdict::kDefined;
  std::string successor, detail;
  Place old_place, new_place;
};
BOOST_DESCRIBE_STRUCT(OtherChange, (), (flag, verdict, successor, detail, old_place, new_place))

struct EffectiveValue {
  std::string dest, before, after;  ///< "?" where it is decided at run time
  bool changed = false;
};
BOOST_DESCRIBE_STRUCT(EffectiveValue, (), (dest, before, after, changed))

struct MovedParts {
  std::string what, before, after;  ///< what: "definitions" or "decisions"; files with counts
};
BOOST_DESCRIBE_STRUCT(MovedParts, (), (what, before, after))

struct SideFacts {
  std::string shown, revision, origin;
  std::size_t arguments = 0, names = 0, environment = 0, decisions = 0;
};
BOOST_DESCRIBE_STRUCT(SideFacts, (), (shown, revision, origin, arguments, names, environment, decisions))

/// How one image is tied to a source commit.
struct Provenance {
  std::string side;                            ///< "old", "new"
  std::string image;                           ///< as it was given
  std::string digest, created, commit, label;  ///< empty: not known
  bool agree = true;                           ///< false: labels of the image name different commits, nothing may be assumed
  bool matches = true;                         ///< false: the commit is not the revision of the compared source
};
BOOST_DESCRIBE_STRUCT(Provenance, (), (side, image, digest, created, commit, label, agree, matches))

/// What an audit found. Everything is data; the words are made by `section`.
struct AuditReport {
  std::string engine, gpu, family, architecture;
  SideFacts before, after;
  std::vector<FlagFinding> flags;
  std::vector<FlagFinding> environment;
  std::vector<DefaultFinding> defaults;
  std::vector<EffectiveValue> effective;
  std::vector<DependencyFinding> dependencies;
  std::vector<MovedParts> moved;
  std::vector<OptionFinding> added;
  std::vector<OtherChange> others;  ///< of options the recipe does not set: removed, renamed, choices withdrawn, newly deprecated
  std::vector<OptionFinding> endpoints_added, endpoints_removed;
  std::optional<History> history;      ///< commits under the profile's paths, where both sources are of one clone
  std::vector<Provenance> provenance;  ///< where images were given
  std::vector<std::string> identity;   ///< packages that differ inside the images
  std::vector<std::string> uncertain;

  /// Flags and environment names that must be changed.
  [[nodiscard]] std::size_t breaking() const;
};
BOOST_DESCRIBE_STRUCT(AuditReport, (),
                      (engine, gpu, family, architecture, before, after, flags, environment, defaults, effective, dependencies, moved, added, others,
                       endpoints_added, endpoints_removed, history, provenance, identity, uncertain))

struct AuditInput {
  const SourceTree& before;
  const SourceTree& after;
  const EngineProfile& profile;
  const RecipeCommand& recipe;
  const playbook::Playbook* playbook = nullptr;  ///< what is known of flags that went away; may be null
  std::string gpu, family, architecture;
};

/// Compares two versions for one recipe. Pure: no file, no clock, no network.
[[nodiscard]] AuditReport audit(const AuditInput& input);

/// Adds what two images say about themselves: commits by their labels, and packages that differ, by what their layers hold.
void add_images(AuditReport& report, const EngineProfile& profile, const std::string& before_name, const ImageFacts& before, const std::string& after_name,
                const ImageFacts& after);

/// One flag against both schemas. `before_tree`, `after_tree`: for evidence from where a field is used.
[[nodiscard]] FlagFinding judge_flag(const GivenFlag& given, const Schema& before, const Schema& after, const AuditInput& input);

/// Where a field of the old version went: the one added field that stands in the same statements of the same files.
/// `evidence` cites both lines. Nothing when no statement shows it, or several fields fit equally well.
struct UseSite {
  std::string dest, evidence;
};
[[nodiscard]] std::optional<UseSite> successor_by_use(const SourceTree& before, const SourceTree& after, const std::string& dest,
                                                      const std::vector<std::string>& added);

}  // namespace pawl::upstream
