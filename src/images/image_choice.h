#pragma once

#include <boost/describe.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "images/tag_grammar.h"

namespace pawl::images {

/// A tag as a registry lists it.
struct ListedTag {
  std::string tag;
  std::optional<WallTime> pushed;  ///< absent when the registry does not tell
  std::string digest;              ///< empty when unknown
};

/// Why a tag is, or is not, an update of the pin.
enum class TagVerdict {
  kNewer,         ///< may be written
  kCurrent,       ///< the pin itself
  kSameImage,     ///< other name, same digest
  kOlder,         ///< or equal
  kOtherVariant,  ///< another CUDA or ROCm level, GPU family, architecture or flavour
  kOtherChannel,  ///< less stable than the pin
  kOtherScheme,   ///< calendar numbers against release numbers
  kOtherGrammar,  ///< built in another way, so there is no order between the two
  kFloating,      ///< moves with every build
  kNoOrder,       ///< neither name, push time nor ancestry says which is newer
  kIgnored,       ///< by a rule of the user
  kTooYoung,      ///< pushed less than the minimum age ago, or at an unknown time
};

struct JudgedTag {
  std::string tag, grammar, variant, channel;
  TagVerdict verdict = TagVerdict::kNoOrder;
  std::string rule;    ///< one sentence
  std::string pushed;  ///< ISO 8601, empty when unknown
  bool newer = false;  ///< by its name; also true of tags that are refused for another reason
};
BOOST_DESCRIBE_ENUM(TagVerdict, kNewer, kCurrent, kSameImage, kOlder, kOtherVariant, kOtherChannel, kOtherScheme, kOtherGrammar, kFloating, kNoOrder, kIgnored,
                    kTooYoung)
BOOST_DESCRIBE_STRUCT(JudgedTag, (), (tag, grammar, variant, channel, verdict, rule, pushed, newer))

struct ChoicePolicy {
  WallTime now{};
  Nanos min_age{0};                 ///< a tag must have been pushed this long ago; 0: no condition
  std::vector<std::string> ignore;  ///< globs over tags
  std::vector<Channel> also_allow;  ///< channels beyond the rule
  /// Position of a commit in the source's history, larger is later; nothing when it is not known there. May be empty.
  std::function<std::optional<std::int64_t>(const std::string& commit)> ancestry;
};

struct ImageChoice {
  std::string current;
  std::optional<std::string> newest;
  std::string reason;                 ///< why there is none, or why it is this one
  std::vector<std::string> mention;   ///< newer tags of other variants: a separate decision of a person
  std::vector<std::string> warnings;  ///< e.g. the newest was pushed before the pin
  std::vector<JudgedTag> tags;        ///< newest first where there is an order
};
BOOST_DESCRIBE_STRUCT(ImageChoice, (), (current, newest, reason, mention, warnings, tags))

/// Judges every tag of a complete listing against the pin and picks the newest that may be written (upgrade-loop 5.1). Never
/// picks one that is not strictly greater by the order of the pin's own family, variant, scheme and channel. Pure.
[[nodiscard]] ImageChoice choose_image(const TagGrammars& grammars, const std::string& current, const std::vector<ListedTag>& tags, const ChoicePolicy& policy);

/// Whether going from tag `from` to tag `to` is known to go backward: same family and scheme, and strictly less. False when
/// there is no order between them.
[[nodiscard]] bool is_backward(const TagGrammars& grammars, const std::string& from, const std::string& to);

}  // namespace pawl::images
