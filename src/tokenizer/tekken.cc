#include <fmt/format.h>
#include <openssl/evp.h>

#include "tokenizer/internal/hf_tokenizer.h"
#include "tokenizer/internal/json_fields.h"

namespace pawl::tokenizer {
namespace {

constexpr std::size_t kMaxBytes = 256u << 20;
constexpr std::int64_t kMaxTokens = 4'000'000;

Status from_base64(const std::string& text, std::string& out) {
  out.resize(text.size() / 4 * 3 + 3);
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0 || text.size() % 4 != 0) return bad_input("token_bytes that are no base64");
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(static_cast<std::size_t>(size) - padding);
  return {};
}

std::int64_t integer_field(const codec::Json& json, const char* key) {
  const codec::Json& found = part(json, key);
  return found.is_number_integer() ? found.get<std::int64_t>() : -1;
}

Result<HfParts> read(const codec::Json& json, const std::string& name) {
  const codec::Json& config = part(json, "config");
  const std::int64_t specials = integer_field(config, "default_num_special_tokens"), size = integer_field(config, "default_vocab_size");
  if (specials < 0 || specials > kMaxTokens || size <= specials || size > kMaxTokens)
    return bad_input("config: no usable default_vocab_size and default_num_special_tokens");
  HfParts parts;
  parts.name = name;
  parts.vocab_size = size;
  parts.special_overhead = 1;  // the begin of a text
  codec::Json steps;
  steps["type"] = "Sequence";
  steps["pretokenizers"] = codec::Json::array();
  steps["pretokenizers"].push_back({{"type", "Split"}, {"pattern", {{"Regex", text_field(config, "pattern")}}}, {"behavior", "Isolated"}});
  steps["pretokenizers"].push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
  PAWL_ASSIGN(parts.pre_tokenizer, PreTokenizer::from_json(steps));

  BpeModel model;
  model.byte_level = true;
  // A word that is a token is that token, whichever merges lead to it.
  model.ignore_merges = true;
  const codec::Json& vocabulary = part(json, "vocab");
  // The file may hold more tokens than the model uses.
  const auto used = static_cast<std::size_t>(size - specials);
  if (!vocabulary.is_array() || vocabulary.size() < used) return bad_input(fmt::format("vocab: fewer than {} tokens", used));
  std::string bytes;
  for (std::size_t i = 0; i < used; ++i) {
    PAWL_TRY(from_base64(text_field(vocabulary[i], "token_bytes"), bytes));
    if (bytes.empty() || integer_field(vocabulary[i], "rank") != static_cast<std::int64_t>(i))
      return bad_input(fmt::format("vocab[{}]: out of order or empty", i));
    model.vocabulary.add(bytes, static_cast<TokenId>(specials + static_cast<std::int64_t>(i)));
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    model.byte_ids[byte] = model.vocabulary.find(std::string_view(&c, 1)).value_or(-1);
  }
  // Two neighbours merge when their bytes together are a token; its rank decides.
  for (std::size_t i = 0; i < used; ++i) {
    const auto id = static_cast<TokenId>(specials + static_cast<std::int64_t>(i));
    const std::string text(model.vocabulary.text_of(id));
    for (std::size_t cut = 1; cut < text.size() && text.size() <= 512; ++cut) {
      const auto left = model.vocabulary.find(std::string_view(text).substr(0, cut)), right = model.vocabulary.find(std::string_view(text).substr(cut));
      if (left && right) model.merges.add(*left, *right, {static_cast<std::uint32_t>(i), id});
    }
  }
  // Special tokens have the first ids. Text never becomes one of them, as in Mistral's own library.
  for (std::int64_t i = 0; i < specials; ++i) {
    parts.added_ids.insert(static_cast<TokenId>(i));
    model.vocabulary.add(fmt::format("<SPECIAL_{}>", i), static_cast<TokenId>(i), false);
  }
  for (const codec::Json& item : part(json, "special_tokens")) {
    const std::int64_t rank = integer_field(item, "rank");
    if (rank >= 0 && rank < specials) model.vocabulary.add(text_field(item, "token_str"), static_cast<TokenId>(rank), false);
  }
  parts.model = std::move(model);
  return parts;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> load_tekken(std::string_view text, const std::string& name) {
  PAWL_ASSIGN(const codec::Json json, codec::parse_json(text, name, kMaxBytes));
  auto parts = read(json, name);
  if (!parts) return std::move(parts).error().within(name);
  return make_hf_tokenizer(std::move(*parts));
}

}  // namespace pawl::tokenizer
