#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "tokenizer/internal/added_tokens.h"
#include "tokenizer/internal/bpe.h"
#include "tokenizer/internal/decoder.h"
#include "tokenizer/internal/hf_tokenizer.h"
#include "tokenizer/internal/json_fields.h"
#include "tokenizer/internal/json_source.h"
#include "tokenizer/internal/normalizer.h"
#include "tokenizer/internal/pre_tokenizer.h"
#include "tokenizer/internal/unigram.h"
#include "tokenizer/internal/utf8.h"

namespace pawl::tokenizer {
namespace {

constexpr std::string_view kMark = "\xE2\x96\x81";  // ▁

class HfEncoder final : public Encoder {
 public:
  explicit HfEncoder(const HfParts& parts) : parts_(parts) {
    if (const auto* bpe = std::get_if<BpeModel>(&parts.model)) {
      bpe_.emplace(*bpe);
    } else {
      unigram_.emplace(std::get<UnigramModel>(parts.model));
    }
  }

  Status encode(std::string_view text, std::vector<TokenId>& out) override {
    if (!is_utf8(text)) return bad_input("text that is no UTF-8");
    raw_.clear();
    parts_.raw_added.split(text, raw_);
    for (const AddedTokens::Part& raw : raw_) {
      if (raw.id) {
        out.push_back(*raw.id);
        continue;
      }
      const bool at_start = raw.text.data() == text.data();
      std::string_view ready = raw.text;
      if (!parts_.normalizer.empty()) {
        normal_ = raw.text;
        PAWL_TRY(parts_.normalizer.apply(normal_, scratch_));
        ready = normal_;
      }
      normalized_.clear();
      parts_.normalized_added.split(ready, normalized_);
      for (const AddedTokens::Part& part : normalized_) {
        if (part.id) {
          out.push_back(*part.id);
        } else {
          PAWL_TRY(words(part.text, at_start && part.text.data() == ready.data(), out));
        }
      }
    }
    return {};
  }

 private:
  Status words(std::string_view text, bool at_start, std::vector<TokenId>& out) {
    pieces_.items.assign(1, {text, at_start});
    pieces_.owned.clear();
    PAWL_TRY(parts_.pre_tokenizer.apply(pieces_, scratch_));
    for (const Piece& piece : pieces_.items) {
      if (bpe_) {
        bpe_->encode(piece.text, out);
      } else {
        PAWL_TRY(unigram_->encode(piece.text, out));
      }
    }
    return {};
  }

  const HfParts& parts_;
  RegexScratch scratch_;
  std::optional<BpeEncoder> bpe_;
  std::optional<UnigramEncoder> unigram_;
  std::vector<AddedTokens::Part> raw_, normalized_;
  std::string normal_;
  Pieces pieces_;
};

class HfTokenizer final : public Tokenizer {
 public:
  explicit HfTokenizer(HfParts parts) : parts_(std::move(parts)) {}

  const std::string& name() const override { return parts_.name; }
  std::string kind() const override {
    if (const auto* bpe = std::get_if<BpeModel>(&parts_.model)) {
      return bpe->byte_level ? "byte-level BPE" : bpe->byte_fallback ? "BPE with byte fallback" : "BPE";
    }
    return "unigram";
  }
  std::int64_t vocab_size() const override { return parts_.vocab_size; }
  TokenId id_limit() const override { return vocabulary().id_limit(); }
  std::int64_t special_overhead() const override { return parts_.special_overhead; }
  bool is_special(TokenId id) const override { return !vocabulary().has(id) || parts_.added_ids.contains(id) || id == unknown(); }
  std::unique_ptr<Encoder> encoder() const override { return std::make_unique<HfEncoder>(parts_); }

  std::string piece(TokenId id) const override {
    std::string text(vocabulary().text_of(id));
    if (byte_level()) return text;
    if (text.size() == 6 && text.starts_with("<0x") && text.back() == '>') {
      for (std::size_t byte = 0; byte < 256; ++byte) {
        if (byte_ids()[byte] == id) return std::string(1, static_cast<char>(byte));
      }
    }
    return replace_all(std::move(text), kMark, " ");
  }

  Result<std::string> decode(std::span<const TokenId> ids) const override {
    std::string bytes;
    std::vector<std::string> tokens;
    for (const TokenId id : ids) {
      if (id < 0 || id >= id_limit()) return bad_input(fmt::format("token {} is not one of {}", id, parts_.name));
      if (byte_level()) {
        bytes += vocabulary().text_of(id);
      } else {
        tokens.emplace_back(vocabulary().text_of(id));
      }
    }
    if (byte_level()) return to_valid_utf8(bytes);
    return parts_.decoder.apply(std::move(tokens));
  }

 private:
  const Vocabulary& vocabulary() const {
    const auto* bpe = std::get_if<BpeModel>(&parts_.model);
    return bpe != nullptr ? bpe->vocabulary : std::get<UnigramModel>(parts_.model).vocabulary;
  }
  bool byte_level() const {
    const auto* bpe = std::get_if<BpeModel>(&parts_.model);
    return bpe != nullptr && bpe->byte_level;
  }
  const std::array<TokenId, 256>& byte_ids() const {
    const auto* bpe = std::get_if<BpeModel>(&parts_.model);
    return bpe != nullptr ? bpe->byte_ids : std::get<UnigramModel>(parts_.model).byte_ids;
  }
  TokenId unknown() const {
    const auto* bpe = std::get_if<BpeModel>(&parts_.model);
    return (bpe != nullptr ? bpe->unknown : std::get<UnigramModel>(parts_.model).unknown).value_or(-1);
  }

  HfParts parts_;
};

// ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────

constexpr std::int64_t kMaxId = 8'000'000;

std::int64_t specials_of(const codec::Json& post) {
  const std::string type = text_field(post, "type");
  std::int64_t count = 0;
  if (type == "Sequence") {
    for (const codec::Json& item : part(post, "processors")) count += specials_of(item);
  } else if (type == "TemplateProcessing") {
    for (const codec::Json& item : part(post, "single")) {
      const codec::Json& special = part(item, "SpecialToken");
      if (special.is_null()) continue;
      const codec::Json& ids = part(part(part(post, "special_tokens"), text_field(special, "id").c_str()), "ids");
      count += ids.is_array() ? static_cast<std::int64_t>(ids.size()) : 1;
    }
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    count = 2;
  }
  return count;
}

void find_byte_tokens(const Vocabulary& vocabulary, std::array<TokenId, 256>& ids) {
  for (std::size_t byte = 0; byte < 256; ++byte) ids[byte] = vocabulary.find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
}

Status check_id(std::int64_t id, std::string_view token) {
  if (id >= 0 && id <= kMaxId) return {};
  return bad_input(fmt::format("model.vocab: token \"{}\" has the id {}, which is not between 0 and {}", token.substr(0, 60), id, kMaxId));
}

Result<BpeModel> read_bpe(const JsonSource& source, const codec::Json& json, bool byte_level) {
  if (part(json, "dropout").is_number() && part(json, "dropout").get<double>() > 0)
    return bad_input("model.dropout: a tokenizer that draws lots is not supported");
  BpeModel model;
  model.byte_level = byte_level;
  model.ignore_merges = flag_field(json, "ignore_merges", false);
  model.fuse_unknown = flag_field(json, "fuse_unk", false);
  model.byte_fallback = flag_field(json, "byte_fallback", false);
  model.subword_prefix = text_field(json, "continuing_subword_prefix");
  model.word_suffix = text_field(json, "end_of_word_suffix");
  if (byte_level && !(model.subword_prefix.empty() && model.word_suffix.empty()))
    return bad_input("a byte-level model with prefixes or suffixes is not supported");
  std::string bytes;
  for (const JsonSource::Token& token : source.vocab) {
    const std::string_view text = source.view(token.text);
    PAWL_TRY(check_id(token.id, text));
    const auto id = static_cast<TokenId>(token.id);
    if (!byte_level) {
      model.vocabulary.add(text, id);
    } else if (printable_to_bytes(text, bytes)) {
      model.vocabulary.add(bytes, id);
    } else {
      model.vocabulary.add(text, id, false);
    }
  }
  model.byte_ids.fill(-1);
  if (byte_level) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      model.byte_ids[byte] = model.vocabulary.find(std::string_view(&c, 1)).value_or(-1);
    }
  } else if (model.byte_fallback) {
    find_byte_tokens(model.vocabulary, model.byte_ids);
  }
  if (const std::string unknown = text_field(json, "unk_token"); !unknown.empty()) {
    std::string as_bytes = unknown;
    if (byte_level && !printable_to_bytes(unknown, as_bytes)) as_bytes = unknown;
    model.unknown = model.vocabulary.find(as_bytes);
  }
  model.merges.reserve(source.merges.size());
  // An unknown character must not be fused over a cut either: the mark itself has to be known.
  model.words_begin_at_marks = !byte_level && model.subword_prefix.empty() && model.word_suffix.empty() && model.vocabulary.find(kMark).has_value();
  std::uint32_t rank = 0;
  std::string left_bytes, right_bytes, both;
  for (const auto& [left_text, right_text] : source.merges) {
    std::string_view left = source.view(left_text), right = source.view(right_text);
    if (byte_level) {
      if (!printable_to_bytes(left, left_bytes) || !printable_to_bytes(right, right_bytes)) {
        return bad_input(fmt::format("model.merges[{}]: a character that no byte is written as", rank));
      }
      left = left_bytes;
      right = right_bytes;
    }
    both = left;
    both += right.substr(right.starts_with(model.subword_prefix) ? model.subword_prefix.size() : 0);
    const auto left_id = model.vocabulary.find(left), right_id = model.vocabulary.find(right), merged = model.vocabulary.find(both);
    if (!left_id || !right_id || !merged) return bad_input(fmt::format("model.merges[{}]: a token that is not in model.vocab", rank));
    model.merges.add(*left_id, *right_id, {rank++, *merged});
    if (right.starts_with(kMark) && !left.ends_with(kMark)) model.words_begin_at_marks = false;
  }
  return model;
}

Result<UnigramModel> read_unigram(const JsonSource& source, const codec::Json& json) {
  UnigramModel model;
  model.byte_fallback = flag_field(json, "byte_fallback", false);
  double least = 0;
  for (const JsonSource::Token& token : source.vocab) {
    PAWL_TRY(check_id(token.id, source.view(token.text)));
    model.vocabulary.add(source.view(token.text), static_cast<TokenId>(token.id));
    model.scores.push_back(token.score);
    least = std::min(least, token.score);
  }
  model.unknown_score = least - 10;
  const codec::Json& unknown = part(json, "unk_id");
  if (unknown.is_number_unsigned() && unknown.get<std::uint64_t>() < model.scores.size()) model.unknown = static_cast<TokenId>(unknown.get<std::uint64_t>());
  model.byte_ids.fill(-1);
  if (model.byte_fallback) find_byte_tokens(model.vocabulary, model.byte_ids);
  return model;
}

Result<HfParts> read_parts(const JsonSource& source, const std::string& name) {
  HfParts parts;
  parts.name = name;
  PAWL_ASSIGN(parts.normalizer, Normalizer::from_json(part(source.rest, "normalizer")));
  PAWL_ASSIGN(parts.pre_tokenizer, PreTokenizer::from_json(part(source.rest, "pre_tokenizer")));
  parts.decoder = Decoder::from_json(part(source.rest, "decoder"));
  parts.special_overhead = specials_of(part(source.rest, "post_processor"));

  const codec::Json& json = part(source.rest, "model");
  if (source.vocab.empty()) return bad_input("model.vocab is empty or missing");
  std::string type = text_field(json, "type");
  // Old files do not name it.
  if (type.empty()) type = json.is_object() && json.contains("unk_id") ? "Unigram" : "BPE";
  Vocabulary* vocabulary = nullptr;
  if (type == "BPE") {
    PAWL_ASSIGN(parts.model, read_bpe(source, json, parts.pre_tokenizer.byte_level()));
    vocabulary = &std::get<BpeModel>(parts.model).vocabulary;
  } else if (type == "Unigram") {
    if (parts.pre_tokenizer.byte_level()) return bad_input("a byte-level unigram model is not supported");
    PAWL_ASSIGN(parts.model, read_unigram(source, json));
    vocabulary = &std::get<UnigramModel>(parts.model).vocabulary;
  } else {
    return bad_input("model \"" + type + "\" is not supported", "supported: BPE, Unigram");
  }
  parts.vocab_size = static_cast<std::int64_t>(source.vocab.size());

  RegexScratch scratch;
  std::string bytes;
  for (const codec::Json& item : part(source.rest, "added_tokens")) {
    AddedToken token{text_field(item, "content"), 0, flag_field(item, "single_word", false), flag_field(item, "lstrip", false),
                     flag_field(item, "rstrip", false)};
    const codec::Json& id = part(item, "id");
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > kMaxId || token.content.empty()) {
      return bad_input(fmt::format("added_tokens: \"{}\" has no usable id", token.content.substr(0, 60)));
    }
    token.id = static_cast<TokenId>(id.get<std::uint64_t>());
    parts.added_ids.insert(token.id);
    if (!vocabulary->has(token.id)) {
      const bool as_bytes = parts.pre_tokenizer.byte_level() && printable_to_bytes(token.content, bytes);
      vocabulary->add(as_bytes ? bytes : token.content, token.id, false);
    }
    const bool normalized = flag_field(item, "normalized", !flag_field(item, "special", false));
    if (normalized) PAWL_TRY(parts.normalizer.apply(token.content, scratch));
    (normalized ? parts.normalized_added : parts.raw_added).add(std::move(token));
  }
  return parts;
}

}  // namespace

std::shared_ptr<const Tokenizer> make_hf_tokenizer(HfParts parts) { return std::make_shared<HfTokenizer>(std::move(parts)); }

Result<std::shared_ptr<const Tokenizer>> load_tokenizer_json(std::string_view text, const std::string& name) {
  PAWL_ASSIGN(const JsonSource source, read_json_source(text, name));
  auto parts = read_parts(source, name);
  if (!parts) return std::move(parts).error().within(name);
  return make_hf_tokenizer(std::move(*parts));
}

}  // namespace pawl::tokenizer
