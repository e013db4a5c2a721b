#include "tokenizer/internal/pre_tokenizer.h"

#include <algorithm>

#include "base/text.h"
#include "tokenizer/internal/json_fields.h"

namespace pawl::tokenizer {
namespace {

/// What ByteLevel splits by unless it is told not to: GPT-2's expression.
constexpr const char* kGpt2 = R"('(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
/// Unicode punctuation and the ASCII characters that Unicode calls symbols.
constexpr const char* kPunctuation = R"([\p{P}$+<=>^`|~])";

}  // namespace

Result<PreTokenizer::Split> PreTokenizer::split_at(const char* pattern, Behavior behavior) {
  PAWL_ASSIGN(Regex regex, Regex::compile(pattern));
  return Split{std::move(regex), behavior, false};
}

Status PreTokenizer::add(const codec::Json& json) {
  if (json.is_null()) return {};
  const std::string type = text_field(json, "type");
  if (byte_level_) return bad_input("pre-tokenizer \"" + type + "\" after ByteLevel is not supported");
  const auto behavior = [&](const std::string& otherwise) -> Result<Behavior> {
    const std::string text = text_field(json, "behavior", otherwise);
    if (text == "Removed") return Behavior::kRemoved;
    if (text == "Isolated") return Behavior::kIsolated;
    if (text == "MergedWithPrevious") return Behavior::kMergedWithPrevious;
    if (text == "MergedWithNext") return Behavior::kMergedWithNext;
    if (text == "Contiguous") return Behavior::kContiguous;
    return bad_input("split behavior \"" + text + "\" is not known");
  };
  if (type == "Sequence") {
    for (const codec::Json& item : part(json, "pretokenizers")) PAWL_TRY(add(item));
  } else if (type == "Split") {
    PAWL_ASSIGN(Regex pattern, pattern_field(json));
    PAWL_ASSIGN(const Behavior chosen, behavior("Isolated"));
    steps_.emplace_back(Split{std::move(pattern), chosen, flag_field(json, "invert", false)});
  } else if (type == "ByteLevel") {
    if (flag_field(json, "add_prefix_space", true)) steps_.emplace_back(PrefixSpace());
    if (flag_field(json, "use_regex", true)) {
      PAWL_ASSIGN(Split split, split_at(kGpt2, Behavior::kIsolated));
      steps_.emplace_back(std::move(split));
    }
    byte_level_ = true;
  } else if (type == "Metaspace") {
    Metaspace step{text_field(json, "replacement", "\xE2\x96\x81"), PrependScheme::kAlways, flag_field(json, "split", true)};
    const std::string scheme = text_field(json, "prepend_scheme", flag_field(json, "add_prefix_space", true) ? "always" : "never");
    step.scheme = scheme == "first" ? PrependScheme::kFirst : scheme == "never" ? PrependScheme::kNever : PrependScheme::kAlways;
    steps_.emplace_back(std::move(step));
  } else if (type == "Digits") {
    PAWL_ASSIGN(Split split, split_at(R"(\p{N})", flag_field(json, "individual_digits", false) ? Behavior::kIsolated : Behavior::kContiguous));
    steps_.emplace_back(std::move(split));
  } else if (type == "Punctuation") {
    PAWL_ASSIGN(const Behavior chosen, behavior("Isolated"));
    PAWL_ASSIGN(Split split, split_at(kPunctuation, chosen));
    steps_.emplace_back(std::move(split));
  } else if (type == "WhitespaceSplit") {
    PAWL_ASSIGN(Split split, split_at(R"(\s)", Behavior::kRemoved));
    steps_.emplace_back(std::move(split));
  } else if (type == "Whitespace") {
    PAWL_ASSIGN(Split split, split_at(R"(\w+|[^\w\s]+)", Behavior::kRemoved));
    split.invert = true;
    steps_.emplace_back(std::move(split));
  } else {
    return bad_input("pre-tokenizer \"" + type + "\" is not supported",
                     "supported: ByteLevel, Digits, Metaspace, Punctuation, Sequence, Split, Whitespace, WhitespaceSplit");
  }
  return {};
}

Result<PreTokenizer> PreTokenizer::from_json(const codec::Json& json) {
  PreTokenizer out;
  PAWL_TRY(out.add(json));
  return out;
}

/// Cuts one piece at every match and lets the behaviour say what becomes of matches.
Status PreTokenizer::cut(const Split& split, const Piece& piece, std::vector<Piece>& out, RegexScratch& scratch) {
  const std::string_view text = piece.text;
  const std::size_t first = out.size();
  bool previous_matched = false;
  const auto push = [&](std::size_t begin, std::size_t end) { out.push_back({text.substr(begin, end - begin), piece.at_start && begin == 0}); };
  std::size_t waiting = 0;  // MergedWithNext: where a match that waits for its neighbour began
  bool waits = false;
  const auto take = [&](std::size_t begin, std::size_t end, bool matched) {
    matched = matched != split.invert;
    switch (split.behavior) {
      case Behavior::kRemoved:
        if (!matched) push(begin, end);
        break;
      case Behavior::kIsolated:
        push(begin, end);
        break;
      case Behavior::kMergedWithPrevious:
        if (matched && !previous_matched && out.size() > first) {
          Piece& last = out.back();
          last.text = std::string_view(last.text.data(), last.text.size() + (end - begin));
        } else {
          push(begin, end);
        }
        break;
      case Behavior::kMergedWithNext:
        if (matched) {
          if (waits) push(waiting, begin);
          waiting = begin;
          waits = true;
        } else {
          push(waits ? waiting : begin, end);
          waits = false;
        }
        break;
      case Behavior::kContiguous:
        if (matched == previous_matched && out.size() > first) {
          Piece& last = out.back();
          last.text = std::string_view(last.text.data(), last.text.size() + (end - begin));
        } else {
          push(begin, end);
        }
        break;
    }
    previous_matched = matched;
  };
  std::size_t done = 0;
  for (;;) {
    PAWL_ASSIGN(const auto match, split.pattern.find(text, done, scratch));
    if (!match) break;
    if (match->begin > done) take(done, match->begin, false);
    take(match->begin, match->end, true);
    done = match->end;
  }
  if (done < text.size()) take(done, text.size(), false);
  if (waits) push(waiting, text.size());
  return {};
}

Status PreTokenizer::apply(Pieces& pieces, RegexScratch& scratch) const {
  for (const Step& step : steps_) {
    pieces.next.clear();
    if (const auto* split = std::get_if<Split>(&step)) {
      for (const Piece& piece : pieces.items) PAWL_TRY(cut(*split, piece, pieces.next, scratch));
    } else if (std::holds_alternative<PrefixSpace>(step)) {
      for (const Piece& piece : pieces.items) {
        if (piece.text.starts_with(' ')) {
          pieces.next.push_back(piece);
        } else {
          pieces.next.push_back({pieces.owned.emplace_back(" " + std::string(piece.text)), piece.at_start});
        }
      }
    } else if (const auto* meta = std::get_if<Metaspace>(&step)) {
      for (const Piece& piece : pieces.items) {
        std::string& text = pieces.owned.emplace_back(replace_all(std::string(piece.text), " ", meta->replacement));
        const bool prepend = meta->scheme == PrependScheme::kAlways || (meta->scheme == PrependScheme::kFirst && piece.at_start);
        if (prepend && !text.starts_with(meta->replacement)) text.insert(0, meta->replacement);
        if (!meta->split) {
          pieces.next.push_back({text, piece.at_start});
          continue;
        }
        // Each mark begins a piece.
        std::size_t begin = 0;
        while (begin < text.size()) {
          const std::size_t end = std::min(text.find(meta->replacement, begin + 1), text.size());
          pieces.next.push_back({std::string_view(text).substr(begin, end - begin), piece.at_start && begin == 0});
          begin = end;
        }
      }
    }
    pieces.items.swap(pieces.next);
  }
  return {};
}

}  // namespace pawl::tokenizer
