#include "twin/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/json.h"
#include "codec/yaml.h"
#include "twin/hash.h"

namespace pawl::twin {
namespace {

constexpr std::size_t kKey = 16;  // bytes of a question that find it

constexpr std::array<std::string_view, 64> kWords = {
    " pawl",  " wheel", " tooth", " gear",  " lever", " spring", " latch", " crank", " shaft", " bolt",  " hinge", " plate", " rivet",
    " cam",   " drum",  " chain", " rope",  " hook",  " beam",   " frame", " axle",  " pivot", " valve", " pump",  " gauge", " dial",
    " clock", " bell",  " lamp",  " wire",  " coil",  " rod",    " nail",  " screw", " nut",   " ring",  " disc",  " belt",  " saw",
    " plane", " file",  " vice",  " forge", " anvil", " kiln",   " mould", " cast",  " ingot", " ore",   " slag",  " ash",   " coal",
    " steam", " press", " loom",  " reel",  " spool", " yarn",   " cloth", " seam",  " hem",   " knot",  " pin",   " peg"};

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

std::string_view Reply::piece(std::int64_t index) const {
  if (!pieces_.empty()) return pieces_[static_cast<std::size_t>(index)];
  return kWords[mix(seed_, static_cast<std::uint64_t>(index)) % kWords.size()];
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
      examiner.add({{question->text, answer->text}});
    }
  }
  return examiner;
}

void Examiner::add(std::vector<Known> questions) {
  for (Known& known : questions) {
    if (known.question.size() < kKey) known.question.resize(kKey, ' ');  // found only where blanks follow: a question is longer
    by_start_[known.question.substr(0, kKey)].push_back(questions_.size());
    questions_.push_back(std::move(known));
  }
}

Result<std::vector<Examiner::Known>> Examiner::read_answers(const std::string& text, const std::string& file) {
  std::vector<Known> out;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    PAWL_ASSIGN(const codec::Json json, codec::parse_json(line, fmt::format("{}:{}", file, number)));
    const auto is_text = [&](const char* key) { return json.is_object() && json.contains(key) && json[key].is_string(); };
    if (!is_text("question") || !is_text("answer"))
      return bad_input(fmt::format("{}:{}: an object with the texts question and answer is needed", file, number));
    const std::string answer = json["answer"].get<std::string>();
    const std::size_t mark = answer.rfind("####");
    out.push_back({json["question"].get<std::string>(), std::string(trim(std::string_view(answer).substr(mark == std::string::npos ? 0 : mark + 4)))});
  }
  return out;
}

const Examiner::Known* Examiner::find(std::string_view prompt) const {
  for (std::size_t at = prompt.size() < kKey ? 0 : prompt.size() - kKey + 1; at-- > 0;) {
    const auto candidates = by_start_.find(std::string(prompt.substr(at, kKey)));
    if (candidates == by_start_.end()) continue;
    for (auto i = candidates->second.rbegin(); i != candidates->second.rend(); ++i) {
      if (prompt.substr(at).starts_with(questions_[*i].question)) return &questions_[*i];
    }
  }
  return nullptr;
}

std::vector<std::string> Examiner::answer(std::string_view prompt, bool wrong) const {
  const Known* found = find(prompt);
  if (found == nullptr) return {};
  std::string answer = found->answer;
  if (wrong || unit(mix(hash_text(found->question), hash_text(profile_))) >= accuracy_) {
    const auto number = parse_int(replace_all(answer, ",", ""));
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
