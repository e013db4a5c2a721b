#include "tokenizer/tokenizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "codec/json.h"
#include "tokenizer/internal/regex.h"
#include "tokenizer/internal/utf8.h"

namespace pawl::tokenizer {
namespace {

std::string file_of(const std::string& name) {
  std::ifstream file(PAWL_SOURCE_DIR "/tests/tokenizers/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<const Tokenizer> load(const std::string& name) {
  auto loaded = load_tokenizer(file_of(name), name);
  EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message);
  return loaded ? *loaded : nullptr;
}

std::vector<TokenId> ids_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<TokenId> ids;
  const Status done = tokenizer.encoder()->encode(text, ids);
  EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
  return ids;
}

/// What the reference libraries gave for the lines of tests/tokenizers/corpus.py; made by tests/tokenizers/make.py.
class Golden : public testing::TestWithParam<const char*> {
 protected:
  static const codec::Json& golden() {
    static const codec::Json json = *codec::parse_json(file_of("golden.json"), "golden.json");
    return json;
  }
};

TEST_P(Golden, EncodesAndDecodesAsTheReferenceDoes) {
  const std::string name = GetParam();
  const auto tokenizer = load(name + (name == "sentencepiece" ? ".model" : ".json"));
  ASSERT_NE(tokenizer, nullptr);
  const auto encoder = tokenizer->encoder();
  for (std::size_t i = 0; i < golden()["texts"].size(); ++i) {
    const auto text = golden()["texts"][i].get<std::string>();
    const auto wanted = golden()["ids"][name][i].get<std::vector<TokenId>>();
    std::vector<TokenId> ids;
    ASSERT_TRUE(encoder->encode(text, ids).has_value());
    EXPECT_EQ(ids, wanted) << text;
    EXPECT_EQ(*encoder->count(text), static_cast<std::int64_t>(wanted.size()));
    EXPECT_EQ(*tokenizer->decode(wanted), golden()["decoded"][name][i].get<std::string>()) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizer, Golden, testing::Values("byte_level", "metaspace", "unigram", "old_style", "sentencepiece"),
                         [](const auto& made) { return std::string(made.param); });

TEST(Tokenizer, GivesTheSameWithAWarmCacheAndForOneLongWord) {
  // 20,000 letters are one piece for the pre-tokenizer: the merges go by the heap, and must agree with the scan.
  const auto tokenizer = load("byte_level.json");
  std::string word;
  for (int i = 0; i < 20'000; ++i) word += static_cast<char>('a' + (i * i + i / 7) % 26);
  const auto long_ids = ids_of(*tokenizer, word);
  EXPECT_LT(long_ids.size(), word.size());
  EXPECT_EQ(*tokenizer->decode(long_ids), word);
  // A short word through the scan and the same letters at the end of a long one, cut off by a digit.
  const auto encoder = tokenizer->encoder();
  std::vector<TokenId> first, again;
  ASSERT_TRUE(encoder->encode("the quick brown fox", first).has_value());
  ASSERT_TRUE(encoder->encode("the quick brown fox", again).has_value());
  EXPECT_EQ(first, again);
}

TEST(Tokenizer, CountsMergesNotSquaresForAHostileWord) {
  // One word of 64 KB. Quadratic work would be some 10^9 steps, minutes in this build.
  const auto tokenizer = load("metaspace.json");
  EXPECT_GT(ids_of(*tokenizer, std::string(64 << 10, 'a')).size(), 1000u);
}

TEST(Tokenizer, KnowsItsSpecialTokensAndTheirNumber) {
  const auto tokenizer = load("byte_level.json");
  EXPECT_EQ(tokenizer->special_overhead(), 1);
  EXPECT_EQ(tokenizer->kind(), "byte-level BPE");
  const auto ids = ids_of(*tokenizer, "a<|im_end|>");
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_FALSE(tokenizer->is_special(ids[0]));
  EXPECT_TRUE(tokenizer->is_special(ids[1]));
  EXPECT_TRUE(tokenizer->is_special(-1));
  EXPECT_TRUE(tokenizer->is_special(tokenizer->id_limit()));
  EXPECT_EQ(tokenizer->piece(ids[1]), "<|im_end|>");
  EXPECT_EQ(load("metaspace.json")->special_overhead(), 0);
}

TEST(Tokenizer, DecodesBrokenCharactersAsOneMarkEach) {
  EXPECT_EQ(to_valid_utf8("a\xE2\x82z"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(to_valid_utf8("\xF0\x9F\x98"), "\xEF\xBF\xBD");
  EXPECT_EQ(to_valid_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(to_valid_utf8("\xE2\x82\xAC"), "\xE2\x82\xAC");
}

TEST(Tokenizer, RefusesTextThatIsNoUtf8AndIdsThatItDoesNotHave) {
  const auto tokenizer = load("byte_level.json");
  std::vector<TokenId> ids;
  EXPECT_FALSE(tokenizer->encoder()->encode("\xFF", ids).has_value());
  EXPECT_FALSE(tokenizer->decode(std::vector<TokenId>{tokenizer->id_limit()}).has_value());
  EXPECT_FALSE(tokenizer->decode(std::vector<TokenId>{-1}).has_value());
}

std::string message_of(std::string_view text) {
  const auto loaded = load_tokenizer(text, "t.json");
  return loaded ? "" : loaded.error().message;
}

TEST(Tokenizer, SaysWhatIsWrongWithAFile) {
  EXPECT_NE(message_of("{").find("no JSON at byte"), std::string::npos);
  EXPECT_NE(message_of("").find("neither"), std::string::npos);
  EXPECT_NE(message_of("{}").find("model.vocab is empty"), std::string::npos);
  EXPECT_NE(message_of(R"({"model":{"type":"WordPiece","vocab":{"a":0}}})").find("\"WordPiece\" is not supported"), std::string::npos);
  EXPECT_NE(message_of(R"({"model":{"vocab":{"a":-4}}})").find("id -4"), std::string::npos);
  EXPECT_NE(message_of(R"({"model":{"vocab":{"a":99999999999}}})").find("not between"), std::string::npos);
  EXPECT_NE(message_of(R"({"model":{"vocab":{"a":0},"merges":["a b"]}})").find("merges[0]"), std::string::npos);
  EXPECT_NE(message_of(R"({"model":{"vocab":{"a":0},"merges":["a"]}})").find("merges[0]"), std::string::npos);
  EXPECT_NE(message_of(R"({"model":{"vocab":{"a":0},"merges":[["a"]]}})").find("not whole"), std::string::npos);
  EXPECT_NE(message_of(R"({"model":{"vocab":{"a":[1]}}})").find("vocab"), std::string::npos);
  EXPECT_NE(message_of(R"({"normalizer":{"type":"Precompiled"},"model":{"vocab":{"a":0}}})").find("\"Precompiled\""), std::string::npos);
  EXPECT_NE(message_of(R"({"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a"}},"model":{"vocab":{"a":0}}})").find("regular expression"),
            std::string::npos);
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"a":)";
  EXPECT_NE(message_of(deep).find("nested"), std::string::npos);
}

TEST(Tokenizer, EndsAHostileExpressionWithAnError) {
  const auto loaded =
      load_tokenizer(R"({"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(?:a+)+$"},"behavior":"Isolated"},"model":{"vocab":{"a":0,"b":1}}})", "t.json");
  ASSERT_TRUE(loaded.has_value());
  std::vector<TokenId> ids;
  const Status done = (*loaded)->encoder()->encode(std::string(60, 'a') + "b", ids);
  ASSERT_FALSE(done.has_value());
  EXPECT_NE(done.error().message.find("too many steps"), std::string::npos);
}

TEST(Regex, RewritesWhatOnigurumaMeansOtherwise) {
  EXPECT_EQ(to_pcre(R"(a|[^x]\p{L})"), R"(a|[^x]\p{L})");
  EXPECT_EQ(to_pcre(R"([\p{Lu}&&[^\p{Han}]])"), R"((?:(?![\p{Han}])[\p{Lu}]))");
  EXPECT_EQ(to_pcre("[a"), "[a");
  RegexScratch scratch;
  const auto space = Regex::compile(R"(\s+)");
  ASSERT_TRUE(space.has_value());
  // U+0085 and U+3000 are white space, U+180E is not any more.
  EXPECT_EQ((*space->find("x\xC2\x85\xE3\x80\x80y", 0, scratch))->end, 6u);
  EXPECT_FALSE((*space->find("x\xE1\xA0\x8Ey", 0, scratch)).has_value());
  const auto han = Regex::compile(R"([\p{L}&&[^\p{Han}]]+)");
  ASSERT_TRUE(han.has_value());
  EXPECT_EQ((*han->find("ab\xE4\xB8\xAD", 0, scratch))->end, 2u);
}

}  // namespace
}  // namespace pawl::tokenizer
