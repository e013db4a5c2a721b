#include "twin/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/yaml.h"
#include "twin/hash.h"

namespace pawl::twin {
namespace {

constexpr std::array<std::string_view, 64> kWords = {
    "pawl", "wheel", "tooth", "gear",  "lever", "spring", "latch", "crank", "shaft", "bolt", "hinge", "plate", "rivet", "cam",   "drum", "chain",
    "rope", "hook",  "beam",  "frame", "axle",  "pivot",  "valve", "pump",  "gauge", "dial", "clock", "bell",  "lamp",  "wire",  "coil", "rod",
    "nail", "screw", "nut",   "ring",  "disc",  "belt",   "saw",   "plane", "file",  "vice", "forge", "anvil", "kiln",  "mould", "cast", "ingot",
    "ore",  "slag",  "ash",   "coal",  "steam", "press",  "loom",  "reel",  "spool", "yarn", "cloth", "seam",  "hem",   "knot",  "pin",  "peg"};

}  // namespace

Reply Reply::words(std::uint64_t seed, std::int64_t length) {
  Reply reply;
  reply.seed_ = seed;
  reply.length_ = length;
  return reply;
}

Reply Reply::fixed(std::vector<std::string> pieces, std::int64_t limit) {
  Reply reply;
  reply.stopped_ = static_cast<std::int64_t>(pieces.size()) <= limit;
  if (!reply.stopped_) pieces.resize(static_cast<std::size_t>(limit));
  reply.length_ = static_cast<std::int64_t>(pieces.size());
  reply.pieces_ = std::move(pieces);
  return reply;
}

std::string Reply::piece(std::int64_t index) const {
  if (!pieces_.empty()) return pieces_[static_cast<std::size_t>(index)];
  return fmt::format(" {}", kWords[mix(seed_, static_cast<std::uint64_t>(index)) % kWords.size()]);
}

std::string Reply::whole() const {
  std::string text;
  for (std::int64_t i = 0; i < length_; ++i) text += piece(i);
  return text;
}

void Reply::cut_at(const std::vector<std::string>& stops) {
  if (stops.empty()) return;
  std::string text;
  std::vector<std::string> kept;
  std::size_t longest = 0;
  for (const std::string& stop : stops) longest = std::max(longest, stop.size());
  for (std::int64_t i = 0; i < length_; ++i) {
    const std::size_t before = text.size();
    text += piece(i);
    kept.push_back(text.substr(before));
    std::size_t first = std::string::npos;
    for (const std::string& stop : stops) {
      if (!stop.empty()) first = std::min(first, text.find(stop, before > longest ? before - longest : 0));
    }
    if (first == std::string::npos) continue;
    // The stop string may have begun in an earlier piece: what is after `first` is taken back piece by piece. The last
    // token stays, perhaps without text: an engine has spent its time on it.
    std::size_t end = text.size();
    for (std::size_t k = kept.size(); k-- > 0 && end > first;) {
      const std::size_t begin = end - kept[k].size();
      kept[k].resize(begin >= first ? 0 : first - begin);
      end = begin;
    }
    pieces_ = std::move(kept);
    length_ = static_cast<std::int64_t>(pieces_.size());
    stopped_ = true;
    return;
  }
}

Result<Examiner> Examiner::load(const io::Assets& assets, std::string profile, double accuracy) {
  Examiner examiner;
  examiner.profile_ = std::move(profile);
  examiner.accuracy_ = accuracy;
  for (const std::string& file : assets.list("evals/")) {
    if (!file.ends_with(".yaml")) continue;
    PAWL_ASSIGN(std::string text, assets.read(file));
    PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(std::move(text), file));
    const codec::YamlNode* list = document.root.find("questions");
    if (list == nullptr) continue;
    for (const codec::YamlNode& item : list->items) {
      const codec::YamlNode* question = item.find("question");
      const codec::YamlNode* answer = item.find("answer");
      if (question == nullptr || answer == nullptr || question->text.empty()) {
        return Error(bad_input(file + ": a question needs the keys question and answer")).at(document.place(item));
      }
      examiner.questions_.push_back({question->text, answer->text});
    }
  }
  return examiner;
}

std::vector<std::string> Examiner::answer(std::string_view prompt) const {
  const Known* found = nullptr;
  std::size_t last = 0;
  for (const Known& known : questions_) {
    const std::size_t at = prompt.rfind(known.question);
    if (at == std::string_view::npos || (found != nullptr && at < last)) continue;
    found = &known;
    last = at;
  }
  if (found == nullptr) return {};
  std::string answer = found->answer;
  if (unit(mix(hash_text(found->question), hash_text(profile_))) >= accuracy_) {
    const auto number = parse_int(answer);
    answer = number ? std::to_string(*number + 1) : answer + "1";
  }
  return {" Step", " by", " step", ",", " that", " makes", " it", ".", "\n", "####", " " + answer};
}

std::int64_t count_tokens(std::string_view text) {
  std::int64_t words = 0;
  bool inside = false;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
    if (!blank && !inside) ++words;
    inside = !blank;
  }
  return std::max<std::int64_t>(1, (words * 4 + 2) / 3);
}

}  // namespace pawl::twin
