#include "tokenizer/internal/json_source.h"

#include <fmt/format.h>

#include <optional>

namespace pawl::tokenizer {
namespace {

using codec::Json;

constexpr std::size_t kMaxBytes = 256u << 20;
constexpr std::size_t kMaxEntries = 4'000'000;
constexpr std::size_t kMaxNesting = 64;
constexpr std::size_t kMaxTree = 1'000'000;  ///< values outside of the two big parts
constexpr std::size_t kMaxKeys = 10'000;     ///< of one object there: its keys are searched one by one
constexpr std::size_t kVocabDepth = 2;       ///< open containers around an entry: the file, the model, the part itself

/// Takes vocab and merges as they come by, and builds a tree of the rest. A tree of the whole file would hold each of
/// some 500,000 texts as an object, and the ordered maps of `codec` search a key in linear time.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(JsonSource& out) : out_(out) {}
  std::string error;

  bool null() override { return value(Json(nullptr)); }
  bool boolean(bool item) override { return value(Json(item)); }
  bool number_integer(number_integer_t item) override { return number(static_cast<double>(item), item, Json(item)); }
  bool number_unsigned(number_unsigned_t item) override {
    return number(static_cast<double>(item), item > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(item), Json(item));
  }
  bool number_float(number_float_t item, const string_t&) override { return number(item, -1, Json(item)); }
  bool binary(binary_t&) override { return refuse("binary data"); }

  bool string(string_t& item) override {
    switch (part_) {
      case Part::kNone:
        return value(Json(std::move(item)));
      case Part::kVocab:
        if (depth_ == kVocabDepth + 2) {
          pending_ = keep(item);
          return true;
        }
        return refuse("model.vocab: a text where a number belongs");
      case Part::kMerges:
        return depth_ == kVocabDepth + 1 ? merge_line(item) : merge_half(item);
    }
    return false;
  }
  bool key(string_t& item) override {
    if (part_ == Part::kVocab) {
      if (depth_ != kVocabDepth + 1) return refuse("model.vocab: an object within");
      pending_ = keep(item);
      return true;
    }
    if (part_ == Part::kMerges) return refuse("model.merges: an object within");
    key_ = item;
    if (depth_ == 1) in_model_ = item == "model";
    if (depth_ == 2 && in_model_) starts_ = item == "vocab" ? Part::kVocab : item == "merges" ? Part::kMerges : Part::kNone;
    return true;
  }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    error = fmt::format("no JSON at byte {}", position);
    return false;
  }

 private:
  enum class Part { kNone, kVocab, kMerges };

  bool refuse(std::string what) {
    error = std::move(what);
    return false;
  }
  JsonSource::Text keep(std::string_view text) {
    const JsonSource::Text kept{out_.arena.size(), static_cast<std::uint32_t>(text.size())};
    out_.arena += text;
    return kept;
  }
  bool add_token(std::int64_t id, double score) {
    if (!pending_) return refuse("model.vocab: a number without its token");
    if (out_.vocab.size() >= kMaxEntries) return refuse(fmt::format("model.vocab: more than {} tokens", kMaxEntries));
    out_.vocab.push_back({*pending_, id, score});
    pending_.reset();
    return true;
  }
  bool number(double as_double, std::int64_t as_integer, Json&& json) {
    if (part_ == Part::kNone) return value(std::move(json));
    if (part_ == Part::kMerges) return refuse("model.merges: a number");
    if (depth_ == kVocabDepth + 1) return add_token(as_integer, 0);
    return add_token(static_cast<std::int64_t>(out_.vocab.size()), as_double);
  }
  bool add_merge(JsonSource::Text left, JsonSource::Text right) {
    if (out_.merges.size() >= kMaxEntries) return refuse(fmt::format("model.merges: more than {} merges", kMaxEntries));
    out_.merges.emplace_back(left, right);
    return true;
  }
  bool merge_line(std::string_view line) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos || line.find(' ', blank + 1) != std::string_view::npos) {
      return refuse(fmt::format("model.merges[{}]: expected two tokens and a blank between them", out_.merges.size()));
    }
    const JsonSource::Text left = keep(line.substr(0, blank));
    return add_merge(left, keep(line.substr(blank + 1)));
  }
  bool merge_half(std::string_view half) {
    if (!pending_) {
      pending_ = keep(half);
      return true;
    }
    const JsonSource::Text left = *std::exchange(pending_, std::nullopt);
    return add_merge(left, keep(half));
  }

  bool value(Json&& item) {
    starts_ = Part::kNone;
    if (part_ != Part::kNone) return refuse("model.vocab or model.merges: a value that is neither token nor number");
    if (++values_ > kMaxTree) return refuse(fmt::format("more than {} values outside of the vocabulary", kMaxTree));
    if (open_.empty()) {
      out_.rest = std::move(item);
      return true;
    }
    Json& into = *open_.back();
    if (into.is_array()) {
      into.push_back(std::move(item));
    } else {
      if (into.size() >= kMaxKeys) return refuse(fmt::format("an object of more than {} keys outside of the vocabulary", kMaxKeys));
      into[key_] = std::move(item);
    }
    return true;
  }
  bool open(Json&& item) {
    if (++depth_ > kMaxNesting) return refuse(fmt::format("nested more than {} levels", kMaxNesting));
    if (part_ != Part::kNone) {
      if (depth_ > kVocabDepth + 2 || item.is_object()) return refuse("model.vocab or model.merges: nested too deep");
      pending_.reset();
      return true;
    }
    if (starts_ != Part::kNone) {
      part_ = std::exchange(starts_, Part::kNone);
      if (part_ == Part::kMerges && item.is_object()) return refuse("model.merges: an object where a list belongs");
      return true;
    }
    // References stay valid: a container gets its next child only after this one is closed.
    if (open_.empty()) {
      out_.rest = std::move(item);
      open_.push_back(&out_.rest);
      return true;
    }
    Json& into = *open_.back();
    const bool array = into.is_array();
    if (!value(std::move(item))) return false;
    open_.push_back(array ? &into.back() : &into[key_]);
    return true;
  }
  bool close() {
    --depth_;
    if (part_ == Part::kNone) {
      open_.pop_back();
    } else if (depth_ == kVocabDepth) {
      part_ = Part::kNone;
    } else if (pending_) {
      return refuse("model.vocab or model.merges: an entry that is not whole");
    }
    return true;
  }

  JsonSource& out_;
  std::vector<Json*> open_;
  std::string key_;
  std::size_t depth_ = 0, values_ = 0;
  bool in_model_ = false;
  Part part_ = Part::kNone, starts_ = Part::kNone;
  std::optional<JsonSource::Text> pending_;
};

}  // namespace

Result<JsonSource> read_json_source(std::string_view text, const std::string& name) {
  if (text.size() > kMaxBytes) return bad_input(fmt::format("{}: {} bytes, at most {} are read", name, text.size(), kMaxBytes));
  JsonSource source;
  Reader reader(source);
  if (!Json::sax_parse(text.begin(), text.end(), &reader)) {
    return bad_input(fmt::format("{}: {}", name, reader.error.empty() ? "no JSON" : reader.error), "it should be the tokenizer.json of a Hugging Face model");
  }
  if (!source.rest.is_object()) return bad_input(name + ": no JSON object", "it should be the tokenizer.json of a Hugging Face model");
  return source;
}

}  // namespace pawl::tokenizer
