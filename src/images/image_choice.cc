#include "images/image_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "codec/describe.h"

namespace pawl::images {
namespace {

std::string name_of(Channel channel) { return codec::enum_text(channel); }

bool channel_allowed(Channel pin, Channel tag, const std::vector<Channel>& also) {
  if (pin == tag || std::ranges::find(also, tag) != also.end()) return true;
  if (pin == Channel::kNightly || pin == Channel::kNone || tag == Channel::kNone) return false;
  return tag < pin;  // the enumeration runs from the most stable to the least
}

/// Judges tags against one pin.
class Judge {
 public:
  Judge(const TagReading& pin, const ListedTag* pinned, const ChoicePolicy& policy) : pin_(pin), pinned_(pinned), policy_(policy) {}

  /// The order of the two, by name, then ancestry, then push time. Nothing when none of them tells.
  [[nodiscard]] std::optional<std::strong_ordering> order(const TagReading& a, const ListedTag* a_listed, const TagReading& b,
                                                          const ListedTag* b_listed) const {
    if (a.family != b.family || a.family.empty() || a.order.empty()) return std::nullopt;
    if (const auto by_name = compare_tags(a, b)) return by_name;
    if (std::ranges::find(a.order, OrderPart::kPush) == a.order.end()) return std::nullopt;
    if (policy_.ancestry && !a.commit.empty() && !b.commit.empty()) {
      const auto x = policy_.ancestry(a.commit), y = policy_.ancestry(b.commit);
      if (x && y) return *x <=> *y;
    }
    if (a_listed != nullptr && b_listed != nullptr && a_listed->pushed && b_listed->pushed)
      return a_listed->pushed->since_epoch.count() <=> b_listed->pushed->since_epoch.count();
    return std::nullopt;
  }

  [[nodiscard]] JudgedTag judge(const TagReading& tag, const ListedTag& listed) const {
    JudgedTag j{
        tag.tag, tag.grammar, tag.variant_text(), name_of(tag.channel), TagVerdict::kNoOrder, {}, listed.pushed ? iso_utc(*listed.pushed) : std::string(),
        false};
    const auto say = [&](TagVerdict verdict, std::string rule) {
      j.verdict = verdict;
      j.rule = std::move(rule);
      return j;
    };
    if (tag.tag == pin_.tag) return say(TagVerdict::kCurrent, "the current pin");
    for (const std::string& glob : policy_.ignore) {
      if (glob_match(glob, tag.tag)) return say(TagVerdict::kIgnored, fmt::format("ignored by the rule {}", glob));
    }
    if (tag.floating) return say(TagVerdict::kFloating, "a floating tag: it names a moving target");
    if (pin_.order.empty()) return say(TagVerdict::kNoOrder, fmt::format("the pin is of the kind {}, which has no order", pin_.grammar));
    if (tag.family != pin_.family) return say(TagVerdict::kOtherGrammar, fmt::format("{} and {} have no order between them", tag.grammar, pin_.grammar));
    if (tag.calendar != pin_.calendar) {
      return say(TagVerdict::kOtherScheme, tag.calendar ? "calendar numbers; the pin counts releases" : "release numbers; the pin counts days");
    }
    if (tag.version && pin_.version && tag.version->components() < pin_.version->components() && tag.variant == pin_.variant) {
      return say(TagVerdict::kFloating, "a floating tag: fewer version numbers than the pin");
    }
    const auto found = order(tag, &listed, pin_, pinned_);
    if (!found) return say(TagVerdict::kNoOrder, "no order without push time or ancestry");
    j.newer = *found == std::strong_ordering::greater;
    if (!j.newer) return say(TagVerdict::kOlder, *found == std::strong_ordering::equal ? "not newer: equal in order" : "older than the pin");
    if (pinned_ != nullptr && !listed.digest.empty() && listed.digest == pinned_->digest)
      return say(TagVerdict::kSameImage, "the same image under another name: equal digest");
    if (tag.variant != pin_.variant) return say(TagVerdict::kOtherVariant, fmt::format("another variant ({}; the pin is {})", spelled(tag), spelled(pin_)));
    if (!channel_allowed(pin_.channel, tag.channel, policy_.also_allow)) {
      return say(TagVerdict::kOtherChannel, fmt::format("another channel ({}; the pin is {})", name_of(tag.channel), name_of(pin_.channel)));
    }
    if (policy_.min_age > Nanos{0}) {
      if (!listed.pushed) return say(TagVerdict::kTooYoung, "its age is unknown, and a minimum age is asked for");
      const Nanos age = policy_.now - *listed.pushed;
      if (age < policy_.min_age) {
        return say(TagVerdict::kTooYoung,
                   fmt::format("pushed {:.1f} h ago; the minimum age is {:.1f} h", seconds_of(age) / 3600, seconds_of(policy_.min_age) / 3600));
      }
    }
    return say(TagVerdict::kNewer, "newer in the same variant, scheme and channel");
  }

 private:
  /// The variant, with the letter before the version where that is all that differs.
  [[nodiscard]] static std::string spelled(const TagReading& tag) {
    const auto prefix = tag.variant.find("prefix");
    return tag.variant_text() + (prefix != tag.variant.end() ? fmt::format(", spelled with '{}'", prefix->second) : std::string());
  }

  const TagReading& pin_;
  const ListedTag* pinned_;
  const ChoicePolicy& policy_;
};

}  // namespace

ImageChoice choose_image(const TagGrammars& grammars, const std::string& current, const std::vector<ListedTag>& tags, const ChoicePolicy& policy) {
  const TagReading pin = grammars.read(current);
  const auto listed_pin = std::ranges::find(tags, current, &ListedTag::tag);
  const ListedTag* pinned = listed_pin == tags.end() ? nullptr : &*listed_pin;
  const Judge judge(pin, pinned, policy);

  struct Entry {
    TagReading reading;
    const ListedTag* listed;
    JudgedTag judged;
  };
  std::vector<Entry> all;
  all.reserve(tags.size());
  for (const ListedTag& listed : tags) {
    TagReading reading = grammars.read(listed.tag);
    JudgedTag judged = judge.judge(reading, listed);
    all.push_back({std::move(reading), &listed, std::move(judged)});
  }

  ImageChoice choice;
  choice.current = current;
  const Entry* best = nullptr;
  bool lost_order = false;
  for (const Entry& entry : all) {
    lost_order = lost_order || entry.judged.verdict == TagVerdict::kNoOrder;
    if (entry.judged.verdict == TagVerdict::kOtherVariant && channel_allowed(pin.channel, entry.reading.channel, policy.also_allow)) {
      choice.mention.push_back(entry.reading.tag);
    }
    if (entry.judged.verdict != TagVerdict::kNewer) continue;
    if (best == nullptr) {
      best = &entry;
      continue;
    }
    const auto found = judge.order(entry.reading, entry.listed, best->reading, best->listed);
    // Two that only the push time could part, and it is not known: the greater name, so that every scan picks the same one.
    if (found ? *found == std::strong_ordering::greater : entry.reading.tag > best->reading.tag) best = &entry;
  }
  std::ranges::sort(choice.mention, std::greater<>());
  if (best != nullptr) {
    choice.newest = best->reading.tag;
    choice.reason = "the newest in the same variant, scheme and channel";
    if (pinned != nullptr && pinned->pushed && best->listed->pushed && *best->listed->pushed < *pinned->pushed) {
      choice.warnings.push_back(
          fmt::format("{} was pushed {} before the current {} ({})", best->reading.tag, iso_utc(*best->listed->pushed), current, iso_utc(*pinned->pushed)));
    }
    if (pinned == nullptr) choice.warnings.push_back(fmt::format("the current tag {} is not listed any more", current));
  } else if (pin.order.empty()) {
    choice.reason = pin.floating ? "the pin is a floating tag: pin a version first" : fmt::format("a tag of the kind {} has no order", pin.grammar);
  } else if (lost_order) {
    choice.reason = "no order without push time or ancestry";
  } else {
    choice.reason = "no newer tag in the same variant";
  }
  std::ranges::stable_sort(all, [&](const Entry& a, const Entry& b) {
    if (a.judged.newer != b.judged.newer) return a.judged.newer;
    return a.judged.newer ? false : a.judged.verdict < b.judged.verdict;
  });
  for (Entry& entry : all) choice.tags.push_back(std::move(entry.judged));
  return choice;
}

bool is_backward(const TagGrammars& grammars, const std::string& from, const std::string& to) {
  const TagReading a = grammars.read(from), b = grammars.read(to);
  if (a.family != b.family || a.family.empty() || a.order.empty() || a.calendar != b.calendar) return false;
  return compare_tags(b, a) == std::strong_ordering::less;
}

}  // namespace pawl::images
