#include "workload/filler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace pawl::workload {
namespace {

/// Everyday words that the usual vocabularies hold as one token with the blank before it.
constexpr std::array<std::string_view, 64> kWords{
    "time",  "year", "people", "way",   "day",  "man",  "thing", "woman", "life", "child", "world", "school", "state",  "family", "student", "group",
    "hand",  "part", "place",  "case",  "week", "work", "night", "point", "home", "water", "room",  "mother", "area",   "money",  "story",   "fact",
    "month", "lot",  "right",  "study", "book", "eye",  "job",   "word",  "side", "kind",  "head",  "house",  "friend", "father", "power",   "hour",
    "game",  "line", "end",    "law",   "car",  "city", "name",  "team",  "idea", "body",  "back",  "face",   "level",  "office", "door",    "health"};

constexpr std::int64_t kFirstToken = 100;
constexpr std::size_t kFewestIds = 16;
constexpr std::size_t kMostWords = 4096;
constexpr std::size_t kFewestWords = 32;  ///< below, everyday words with repair read better than so few
constexpr int kRounds = 10;

bool is_lower_word(std::string_view text) {
  return text.size() >= 2 && std::ranges::all_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

Result<std::shared_ptr<const Filler>> Filler::make(TokenizerPtr tokenizer, std::int64_t vocabulary) {
  auto filler = std::shared_ptr<Filler>(new Filler());
  filler->tokenizer_ = std::move(tokenizer);
  filler->vocabulary_ = vocabulary;
  if (!filler->tokenizer_) {
    if (vocabulary <= kFirstToken || vocabulary > INT32_MAX) {
      return bad_input(fmt::format("a vocabulary of {} tokens has none to draw from", vocabulary), fmt::format("more than {} are needed", kFirstToken));
    }
  } else {
    for (std::int32_t id = 0; id < filler->tokenizer_->id_limit(); ++id) {
      if (!filler->tokenizer_->is_special(id)) filler->ids_.push_back(id);
    }
    if (filler->ids_.size() < kFewestIds) return bad_input(filler->tokenizer_->name() + ": too few ordinary tokens to make prompts of");
  }
  filler->choose_words();
  return std::shared_ptr<const Filler>(std::move(filler));
}

/// Words of the vocabulary that are one token after another word; of those, the ones that are one at the start too.
void Filler::choose_words() {
  if (tokenizer_) {
    const auto encoder = tokenizer_->encoder();
    std::vector<std::int32_t> ids;
    for (const std::int32_t id : ids_) {
      if (words_.size() >= kMostWords) break;
      std::string piece = tokenizer_->piece(id);
      if (!piece.starts_with(' ') || !is_lower_word(std::string_view(piece).substr(1))) continue;
      const std::string alone = piece.substr(1);
      // Twice, so that the second one stands after a word and nothing else is counted.
      ids.clear();
      if (!encoder->encode(alone + piece + piece, ids) || ids.size() < 3 || ids[ids.size() - 1] != id || ids[ids.size() - 2] != id) continue;
      if (ids.size() == 3) firsts_.push_back(alone);
      words_.push_back(std::move(piece));
    }
    if (words_.size() >= kFewestWords && !firsts_.empty()) {
      // Over the whole list and in another order than the numbering: neighbours must not matter.
      SplitMix64 random(1);
      std::string sample;
      constexpr std::int64_t kSample = 3000;
      add_words(random, kSample, sample);
      const auto counted = encoder->count(sample);
      additive_ = counted && *counted == kSample;
      return;
    }
  }
  words_.clear();
  firsts_.clear();
  for (const std::string_view word : kWords) {
    words_.push_back(" " + std::string(word));
    firsts_.emplace_back(word);
  }
}

void Filler::add_ids(SplitMix64& random, std::int64_t tokens, std::vector<std::int32_t>& out) const {
  out.reserve(out.size() + static_cast<std::size_t>(tokens));
  for (std::int64_t i = 0; i < tokens; ++i) {
    out.push_back(ids_.empty() ? static_cast<std::int32_t>(random.between(kFirstToken, vocabulary_ - 1))
                               : ids_[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(ids_.size()) - 1))]);
  }
}

void Filler::add_words(SplitMix64& random, std::int64_t tokens, std::string& out) const {
  for (std::int64_t i = 0; i < tokens; ++i) {
    const std::vector<std::string>& from = out.empty() ? firsts_ : words_;
    out += from[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(from.size()) - 1))];
  }
}

Filler::Text Filler::text(SplitMix64& random, std::int64_t tokens) const {
  Text out;
  tokens = std::max<std::int64_t>(1, tokens);
  out.text.reserve(static_cast<std::size_t>(tokens) * 7);
  add_words(random, tokens, out.text);
  out.tokens = tokens;
  out.counted = tokenizer_ != nullptr;
  if (!tokenizer_ || additive_) return out;
  const auto encoder = tokenizer_->encoder();
  for (int round = 0;; ++round) {
    const auto counted = encoder->count(out.text);
    out.counted = counted.has_value();
    if (!counted) return out;
    out.tokens = *counted;
    if (*counted == tokens || round == kRounds) return out;
    if (*counted < tokens) {
      add_words(random, std::max<std::int64_t>(1, (tokens - *counted) / 2), out.text);
      continue;
    }
    // Too long: off with as many words as the surplus at the present rate, at least one letter.
    const auto surplus = static_cast<double>(*counted - tokens) / static_cast<double>(*counted);
    const auto cut = std::max<std::size_t>(1, static_cast<std::size_t>(surplus * static_cast<double>(out.text.size())));
    if (cut >= out.text.size()) return out;
    out.text.resize(out.text.size() - cut);
    while (out.text.size() > 1 && out.text.back() == ' ') out.text.pop_back();
  }
}

void Filler::fill(Form form, SplitMix64& random, std::int64_t tokens, Prompt& prompt) const {
  prompt.asked_isl = prompt.isl = std::max<std::int64_t>(1, tokens);
  prompt.input_exact = form == Form::kIds;
  if (form == Form::kIds) {
    add_ids(random, prompt.isl, prompt.ids);
    return;
  }
  Text made = text(random, tokens);
  prompt.isl = made.tokens;
  if (form == Form::kText) {
    prompt.text = std::move(made.text);
  } else {
    prompt.messages.push_back({"user", std::move(made.text)});
  }
}

Result<std::int64_t> Filler::count(std::string_view text) const {
  if (tokenizer_) return tokenizer_->encoder()->count(text);
  std::int64_t words = 0;
  bool within = false;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    words += !blank && !within;
    within = !blank;
  }
  return words;
}

}  // namespace pawl::workload
