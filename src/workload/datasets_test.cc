#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "codec/json.h"
#include "tokenizer/tokenizer.h"
#include "workload/conversations.h"
#include "workload/filler.h"
#include "workload/prefix_tree.h"
#include "workload/random_workload.h"
#include "workload/reference_workload.h"
#include "workload/rows.h"
#include "workload/trace_workload.h"

namespace pawl::workload {
namespace {

std::string file_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<const tokenizer::Tokenizer> small_tokenizer(const std::string& name = "byte_level.json") {
  auto loaded = tokenizer::load_tokenizer(file_of(PAWL_SOURCE_DIR "/tests/tokenizers/" + name), name);
  EXPECT_TRUE(loaded.has_value());
  return loaded ? *loaded : nullptr;
}

/// The text of a prompt, whatever its form.
std::string text_of(const Prompt& prompt) { return prompt.messages.empty() ? prompt.text : prompt.messages.back().content; }

/// Whole blocks of `block` ids that an earlier prompt had as its beginning, over all input: the cache itself.
double simulated_hit_ratio(const Workload& workload, std::int64_t n, std::size_t block) {
  std::set<std::vector<std::int32_t>> cache;
  double hits = 0, input = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const Prompt prompt = workload.prompt(i);
    input += static_cast<double>(prompt.ids.size());
    bool leading = true;
    for (std::size_t end = block; end <= prompt.ids.size(); end += block) {
      const bool known = !cache.insert({prompt.ids.begin(), prompt.ids.begin() + static_cast<std::ptrdiff_t>(end)}).second;
      leading = leading && known;
      if (leading) hits += static_cast<double>(block);
    }
  }
  return hits / input;
}

// ── random text ──────────────────────────────────────────────────────────────────────────────────────────────────────

TEST(RandomText, HasTheExactCountOfEveryTokenizer) {
  for (const char* name : {"byte_level.json", "metaspace.json", "old_style.json", "sentencepiece.model"}) {
    const auto tokenizer = small_tokenizer(name);
    const auto made = make_random_workload({.form = Form::kText, .tokenizer = tokenizer, .lengths = {RangeProfile::kInferencex, 120, 8, 0.1, 0}, .seed = 1});
    ASSERT_TRUE(made.has_value());
    const auto encoder = tokenizer->encoder();
    int exact = 0;
    for (int i = 0; i < 40; ++i) {
      const Prompt prompt = (*made)->prompt(i);
      EXPECT_EQ(*encoder->count(prompt.text), prompt.isl) << name;
      EXPECT_FALSE(prompt.input_exact);
      exact += prompt.isl == prompt.asked_isl;
      // These have hardly any words: counting and repair get there, or next to it.
      EXPECT_NEAR(static_cast<double>(prompt.isl), static_cast<double>(prompt.asked_isl), 5) << name;
    }
    EXPECT_GE(exact, 34) << name;
  }
}

/// A byte-level tokenizer with 64 words of two letters, each with and without the blank before it.
std::shared_ptr<const tokenizer::Tokenizer> tokenizer_of_words() {
  std::string vocab, merges;
  int next = 0;
  const auto add = [&](const std::string& token) { vocab += fmt::format("{}\"{}\":{}", next == 0 ? "" : ",", token, next), ++next; };
  for (char c = 'a'; c <= 'z'; ++c) add(std::string(1, c));
  const std::string blank = "\xC4\xA0";  // Ġ
  add(blank);
  for (const char first : std::string("bcdfghjk")) {
    for (const char second : std::string("lmnpqrst")) {
      const std::string word{first, second};
      add(word);
      add(blank + word);
      merges += fmt::format("{}\"{} {}\",\"{} {}\"", merges.empty() ? "" : ",", first, second, blank, word);
    }
  }
  auto loaded = tokenizer::load_tokenizer_json(
      fmt::format(R"({{"pre_tokenizer":{{"type":"ByteLevel","add_prefix_space":false}},"model":{{"type":"BPE","vocab":{{{}}},"merges":[{}]}}}})", vocab,
                  merges),
      "words");
  EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message);
  return loaded ? *loaded : nullptr;
}

TEST(RandomText, AddsUpWhereWordsAreTokens) {
  const auto tokenizer = tokenizer_of_words();
  const auto filler = *Filler::make(tokenizer);
  ASSERT_TRUE(filler->additive());
  const auto encoder = tokenizer->encoder();
  for (const std::int64_t length : {1, 2, 17, 4000}) {
    SplitMix64 random(static_cast<std::uint64_t>(length));
    const Filler::Text made = filler->text(random, length);
    EXPECT_TRUE(made.counted);
    EXPECT_EQ(made.tokens, length);
    EXPECT_EQ(*encoder->count(made.text), length);
  }
  // Parts of a prefix tree are aligned to tokens: the shared part is the same ids, the next one is not.
  const auto tree = make_prefix_tree({.form = Form::kText, .tokenizer = tokenizer, .levels = {{2, 30}}, .own_tokens = 10});
  std::vector<std::int32_t> a, b;
  ASSERT_TRUE(encoder->encode((*tree)->prompt(0).text, a).has_value());
  ASSERT_TRUE(encoder->encode((*tree)->prompt(2).text, b).has_value());
  ASSERT_EQ(a.size(), 40u);
  ASSERT_EQ(b.size(), 40u);
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 30, b.begin()));
  EXPECT_FALSE(std::equal(a.begin() + 30, a.end(), b.begin() + 30));
}

TEST(RandomText, DrawsIdsThatAreNotSpecial) {
  const auto tokenizer = small_tokenizer();
  const auto made = make_random_workload({.form = Form::kIds, .tokenizer = tokenizer, .lengths = {RangeProfile::kInferencex, 500, 8, 1, 0}});
  for (int i = 0; i < 20; ++i) {
    for (const std::int32_t id : (*made)->prompt(i).ids) EXPECT_FALSE(tokenizer->is_special(id));
  }
}

// ── the reference's data set ─────────────────────────────────────────────────────────────────────────────────────────

// From NumPy: seed(0); randint(819, 1025, 20) twice; randint(0, 151643, 20).
TEST(Reference, DrawsWhatNumpyDraws) {
  const ReferenceDraws draws = reference_draws(0, 20, 1024, 1024, 0.8, 151643);
  EXPECT_EQ(draws.inputs, (std::vector<std::int64_t>{991, 866, 936, 1011, 886, 1014, 922, 828, 840, 855, 906, 889, 907, 959, 877, 1012, 858, 906, 993, 907}));
  EXPECT_EQ(draws.outputs, (std::vector<std::int64_t>{900, 984, 844, 896, 891, 828, 967, 934, 1016, 898, 994, 1011, 901, 918, 996, 848, 966, 966, 961, 986}));
  EXPECT_EQ(draws.offsets, (std::vector<std::int64_t>{122144, 84665, 119423, 41504,  49866,  123031, 125603, 11723, 148663, 58146,
                                                      108672, 89141, 71557,  151078, 134632, 61713,  96591,  45444, 46522,  113183}));
  // A range of one value draws nothing: the outputs begin where the generator began.
  const ReferenceDraws fixed = reference_draws(5, 3, 7, 8, 0, 200000);
  EXPECT_EQ(reference_draws(5, 3, 7, 7, 1, 9).inputs, (std::vector<std::int64_t>{7, 7, 7}));
  EXPECT_EQ(reference_draws(5, 3, 7, 7, 1, 9).offsets, (std::vector<std::int64_t>{3, 6, 6}));
  EXPECT_EQ(fixed.inputs.size(), 3u);
}

// From NumPy and PyPI's tokenizers: tests/tokenizers/make.py. Prompts that were padded are not compared.
TEST(Reference, MakesTheTextsThatTheDescriptionGives) {
  const auto tokenizer = small_tokenizer();
  const auto made = make_reference_workload({.tokenizer = tokenizer, .isl = 60, .osl = 20, .ratio = 0.8, .requests = 40});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const codec::Json golden = *codec::parse_json(file_of(PAWL_SOURCE_DIR "/tests/tokenizers/golden.json"), "golden.json");
  const auto encoder = tokenizer->encoder();
  int compared = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    const codec::Json& wanted = golden["reference"][static_cast<std::size_t>(i)];
    const Prompt prompt = (*made)->prompt(i);
    EXPECT_EQ(prompt.asked_isl, wanted[0].get<std::int64_t>());
    EXPECT_EQ(prompt.osl, wanted[1].get<std::int64_t>());
    EXPECT_EQ(*encoder->count(prompt.text), prompt.isl);
    if (wanted[2].is_null()) continue;
    EXPECT_EQ(prompt.text, wanted[2].get<std::string>());
    ++compared;
  }
  EXPECT_GE(compared, 10);
  EXPECT_EQ((*made)->warmup(3).text, (*made)->prompt(0).text);
  EXPECT_EQ((*made)->size(), 40);
  EXPECT_FALSE(make_reference_workload({.form = Form::kIds, .tokenizer = tokenizer}).has_value());
  EXPECT_FALSE(make_reference_workload({}).has_value());
}

// ── ShareGPT ─────────────────────────────────────────────────────────────────────────────────────────────────────────

std::string row(const std::string& human, const std::string& answer) {
  return fmt::format(R"({{"conversations":[{{"from":"human","value":"{}"}},{{"from":"gpt","value":"{}"}}]}})", human, answer);
}

std::string words(int n) {
  std::string out = "x";
  for (int i = 1; i < n; ++i) out += " x";
  return out;
}

TEST(ShareGpt, DropsEachRowUnderTheFirstReasonThatApplies) {
  const auto tokenizer = small_tokenizer();
  const auto tokens = [&](const std::string& text) { return *tokenizer->encoder()->count(text); };
  const std::string good = words(20), tiny = "x", wide = words(1100), middling = words(900);
  ASSERT_GT(tokens(good), 4);
  ASSERT_LT(tokens(tiny), 4);
  ASSERT_GT(tokens(wide), 1024);
  ASSERT_LE(tokens(middling), 1024);
  const std::string file = "[" + row(good, good) + "," + R"({"conversations":[{"from":"gpt","value":"hi"},{"from":"human","value":"x"}]})" + "," +
                           row(tiny, tiny) + "," + row(wide, tiny) + "," + row(good, tiny) + "," + row(middling, words(1300)) + R"(,{"text":"x"}, 17, )" +
                           R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":")" + good + R"("},{"role":"assistant","content":")" +
                           good + R"("}]}])";
  const auto made = make_sharegpt_workload({.tokenizer = tokenizer, .path = "s.json"}, file);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const Description d = (*made)->describe();
  EXPECT_EQ(d.rows, 9);
  EXPECT_EQ(d.kept, 2);
  EXPECT_EQ(d.dropped, (std::map<std::string, std::int64_t>{
                           {"malformed", 2}, {"no_pair", 1}, {"prompt_short", 1}, {"prompt_long", 1}, {"output_short", 1}, {"total_long", 1}}));
  for (std::int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*made)->prompt(i).text, good);  // what stands before the human message is not sent
    EXPECT_EQ((*made)->prompt(i).osl, tokens(good));
    EXPECT_EQ((*made)->prompt(i).isl, tokens(good));
  }

  // BC-10.9: the recorded answer's length does not matter when the user sets one. BC-10.10: the limits can be lifted.
  const auto fixed = make_sharegpt_workload({.tokenizer = tokenizer, .path = "s.json", .osl = 7}, file);
  EXPECT_EQ((*fixed)->describe().kept, 4);
  EXPECT_EQ((*fixed)->prompt(0).osl, 7);
  const auto lifted = make_sharegpt_workload({.tokenizer = tokenizer, .path = "s.json", .limits = false}, file);
  EXPECT_EQ((*lifted)->describe().kept, 6);
}

TEST(ShareGpt, NamesBothNumbersWhenRowsAreTooFewAndRepeatsOnlyWhenAllowed) {
  const auto tokenizer = small_tokenizer();
  const std::string file = row(words(20), words(20)) + "\n\n" + row(words(30), words(30)) + "\n" + row("x", "x") + "\n";
  const auto few = make_sharegpt_workload({.tokenizer = tokenizer, .path = "s.jsonl", .requests = 5}, file);
  ASSERT_FALSE(few.has_value());
  EXPECT_NE(few.error().message.find("2 usable, 5 asked; dropped: prompt_short 1"), std::string::npos) << few.error().message;
  const auto repeated = make_sharegpt_workload({.tokenizer = tokenizer, .path = "s.jsonl", .requests = 5, .repeat = true}, file);
  ASSERT_TRUE(repeated.has_value());
  EXPECT_EQ((*repeated)->size(), 5);
  EXPECT_EQ((*repeated)->describe().repeats, 3);
  EXPECT_EQ((*repeated)->prompt(4).text, (*repeated)->prompt(0).text);
  EXPECT_EQ((*repeated)->prompt(4).session, 4);
  EXPECT_FALSE(make_sharegpt_workload({.path = "s.jsonl"}, file).has_value());  // no tokenizer
}

TEST(ShareGpt, ShufflesByTheSeedAndTakesTheFirstUsableRows) {
  const auto tokenizer = small_tokenizer();
  std::string file;
  for (int i = 0; i < 50; ++i) file += row(words(10 + i), words(10)) + "\n";
  const auto first = [&](std::int64_t seed) {
    const auto made = make_sharegpt_workload({.tokenizer = tokenizer, .path = "s", .requests = 10, .seed = seed}, file);
    std::vector<std::size_t> sizes;
    for (int i = 0; i < 10; ++i) sizes.push_back((*made)->prompt(i).text.size());
    return sizes;
  };
  EXPECT_EQ(first(1), first(1));
  EXPECT_NE(first(1), first(2));
  const auto sizes = first(1);
  EXPECT_FALSE(std::ranges::is_sorted(sizes));
}

// ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────

constexpr const char* kTalk = R"({"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"one"},{"role":"assistant","content":"1"},)"
                              R"({"role":"user","content":"two"},{"role":"assistant","content":"2"},{"role":"user","content":"unanswered"}]})";

TEST(Sessions, HoldTheLiveReplyOrTheRecordedOne) {
  TextRowOptions options{.form = Form::kMessages, .path = "t.jsonl", .think_time = Millis(250)};
  const auto live = make_session_workload(options, kTalk);
  ASSERT_TRUE(live.has_value()) << live.error().message;
  EXPECT_EQ((*live)->sessions(), 1);
  EXPECT_EQ((*live)->size(), 2);
  EXPECT_EQ((*live)->session(0).count, 2);
  const Prompt first = (*live)->prompt(0), second = (*live)->prompt(1);
  EXPECT_EQ(first.messages, (std::vector<Message>{{"system", "be brief"}, {"user", "one"}}));
  EXPECT_TRUE(first.parents.empty());
  EXPECT_TRUE(second.continues);
  EXPECT_EQ(second.messages, (std::vector<Message>{{"user", "two"}}));
  EXPECT_EQ(second.parents, (std::vector<std::int64_t>{0}));
  EXPECT_EQ(second.think_time, Millis(250));

  options.history = History::kRecorded;
  const auto recorded = make_session_workload(options, kTalk);
  EXPECT_FALSE((*recorded)->prompt(1).continues);
  EXPECT_EQ((*recorded)->prompt(1).messages, (std::vector<Message>{{"system", "be brief"}, {"user", "one"}, {"assistant", "1"}, {"user", "two"}}));
  options.form = Form::kText;
  EXPECT_FALSE(make_session_workload(options, kTalk).has_value());
}

TEST(Sessions, OfRandomContentChainTheirTurns) {
  const auto made = make_synthetic_sessions({.turns = 3, .first_isl = 40, .turn_isl = 5, .osl = 8, .think_time = Seconds(1)});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ((*made)->session(7).first, 21);
  const Prompt first = (*made)->prompt(21), last = (*made)->prompt(23);
  EXPECT_EQ(first.session, 7);
  EXPECT_TRUE(first.parents.empty());
  EXPECT_FALSE(first.continues);
  EXPECT_EQ(last.turn, 2);
  EXPECT_TRUE(last.continues);
  EXPECT_EQ(last.parents, (std::vector<std::int64_t>{22}));
  EXPECT_NE(text_of(first), text_of((*made)->prompt(0)));
}

// ── own prompts ──────────────────────────────────────────────────────────────────────────────────────────────────────

TEST(Jsonl, TakesTextsIdsAndMessagesWithTheirLengthsAndTimes) {
  const std::string file = R"({"prompt":"later please","output_tokens":9,"timestamp_ms":1500})"
                           "\n"
                           R"({"prompt":[5,6,7],"max_tokens":3,"timestamp_ms":500})"
                           "\n"
                           R"({"prompt":"","max_tokens":3})"
                           "\n"
                           R"({"prompt":"no length"})"
                           "\n{broken\n";
  const auto made = make_jsonl_workload({.path = "p.jsonl"}, file);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ((*made)->describe().dropped, (std::map<std::string, std::int64_t>{{"empty", 1}, {"malformed", 1}, {"no_output_length", 1}}));
  ASSERT_TRUE((*made)->has_arrivals());
  EXPECT_EQ((*made)->prompt(0).ids, (std::vector<std::int32_t>{5, 6, 7}));
  EXPECT_TRUE((*made)->prompt(0).input_exact);
  EXPECT_EQ((*made)->prompt(0).arrival, Nanos(0));
  EXPECT_EQ((*made)->prompt(1).arrival, Nanos(Seconds(1)));
  EXPECT_EQ((*made)->prompt(1).isl, 2);  // words, without a tokenizer
  const auto chat =
      make_jsonl_workload({.form = Form::kMessages, .path = "p", .osl = 4}, R"({"messages":[{"role":"user","content":"a"},{"role":"tool","content":"b"}]})");
  ASSERT_TRUE(chat.has_value());
  EXPECT_EQ((*chat)->prompt(0).messages[1], (Message{"tool", "b"}));
  EXPECT_FALSE(make_jsonl_workload({.form = Form::kText, .path = "p", .osl = 4}, R"({"messages":[{"role":"user","content":"a"}]})").has_value());
}

// ── prefix tree ──────────────────────────────────────────────────────────────────────────────────────────────────────

TEST(PrefixTree, PredictsExactlyWhatACacheOfWholeBlocksHolds) {
  struct Case {
    std::vector<PrefixLevel> levels;
    std::int64_t own, requests;
  };
  for (const Case& c : {Case{{{1, 64}, {3, 40}}, 10, 25}, Case{{{4, 33}, {2, 31}, {3, 17}}, 5, 100}, Case{{{5, 16}}, 1, 3}, Case{{{2, 8}}, 50, 40}}) {
    const auto made =
        make_prefix_tree({.form = Form::kIds, .levels = c.levels, .own_tokens = c.own, .osl = 4, .requests = c.requests, .block_tokens = 16, .seed = 5});
    ASSERT_TRUE(made.has_value());
    EXPECT_NEAR(*(*made)->describe().predicted_hit_ratio, simulated_hit_ratio(**made, c.requests, 16), 1e-12);
  }
}

TEST(PrefixTree, ReachesTheRatioThatIsAskedForUpToOneBlock) {
  const auto levels = levels_for_ratio(0.5, 4, 400, 1024, 16);
  ASSERT_TRUE(levels.has_value());
  const auto made = make_prefix_tree({.form = Form::kIds, .levels = *levels, .own_tokens = 1024 - levels->front().tokens, .requests = 400});
  EXPECT_NEAR(*(*made)->describe().predicted_hit_ratio, 0.5, 16.0 / 1024);
  EXPECT_FALSE(levels_for_ratio(0.999, 4, 8, 1024, 16).has_value());
  EXPECT_FALSE(levels_for_ratio(0.5, 8, 8, 1024, 16).has_value());
  EXPECT_FALSE(make_prefix_tree({.levels = {}}).has_value());
  EXPECT_FALSE(make_prefix_tree({.levels = {{1'000'000, 1}, {1'000'000, 1}}}).has_value());
}

TEST(PrefixTree, AlignsTextToTokensAndWarmsUpElsewhere) {
  const auto tokenizer = small_tokenizer();
  const auto made = make_prefix_tree({.form = Form::kText, .tokenizer = tokenizer, .levels = {{2, 30}}, .own_tokens = 10});
  const auto encoder = tokenizer->encoder();
  std::vector<std::int32_t> a, b, w;
  ASSERT_TRUE(encoder->encode((*made)->prompt(0).text, a).has_value());
  ASSERT_TRUE(encoder->encode((*made)->prompt(2).text, b).has_value());
  ASSERT_TRUE(encoder->encode((*made)->warmup(0).text, w).has_value());
  EXPECT_EQ((*made)->prompt(0).isl, static_cast<std::int64_t>(a.size()));
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 24, b.begin()));
  EXPECT_NE(std::vector(a.begin(), a.begin() + 8), std::vector(w.begin(), w.begin() + 8));
}

// ── traces ───────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST(Mooncake, MakesEqualBlocksOfEqualIdsAndPredictsTheHits) {
  const std::string file = R"({"timestamp": 1000, "input_length": 1100, "output_length": 5, "hash_ids": [0, 1, 2]})"
                           "\n"
                           R"({"timestamp": 3000, "input_length": 1500, "output_length": 6, "hash_ids": [0, 1, 3]})"
                           "\n"
                           R"({"timestamp": 2000, "input_length": 512, "output_length": 7, "hash_ids": [9]})"
                           "\n"
                           R"({"timestamp": 4000, "input_length": 600, "output_length": 7, "hash_ids": [9]})"
                           "\n"
                           R"({"timestamp": 5000, "input_length": 0, "output_length": 7, "hash_ids": []})"
                           "\n"
                           R"({"timestamp": 5000, "input_length": 5, "output_length": 7, "hash_ids": ["a"]})"
                           "\n";
  const auto made = make_mooncake_workload({.path = "m.jsonl", .speed = 2}, file);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const Description d = (*made)->describe();
  EXPECT_EQ(d.kept, 3);
  EXPECT_EQ(d.dropped, (std::map<std::string, std::int64_t>{{"blocks", 1}, {"empty", 1}, {"malformed", 1}}));
  const Prompt a = (*made)->prompt(0), b = (*made)->prompt(2);
  EXPECT_EQ(a.ids.size(), 1100u);
  EXPECT_EQ(b.ids.size(), 1500u);
  EXPECT_TRUE(std::equal(a.ids.begin(), a.ids.begin() + 1024, b.ids.begin()));
  EXPECT_FALSE(std::equal(a.ids.begin() + 1024, a.ids.end(), b.ids.begin() + 1024));
  EXPECT_EQ(a.arrival, Nanos(0));
  EXPECT_EQ(b.arrival, Nanos(Seconds(1)));  // by time, at twice the speed
  EXPECT_EQ(b.osl, 6);
  EXPECT_NEAR(*d.predicted_hit_ratio, 1024.0 / (1100 + 512 + 1500), 1e-12);
  EXPECT_NEAR(*d.predicted_hit_ratio, simulated_hit_ratio(**made, 3, 512), 1e-12);
  EXPECT_FALSE(make_mooncake_workload({.path = "m", .requests = 4}, file).has_value());
  const auto repeated = make_mooncake_workload({.path = "m", .requests = 5, .repeat = true}, file);
  EXPECT_EQ((*repeated)->prompt(3).ids, (*repeated)->prompt(0).ids);
  EXPECT_EQ((*repeated)->prompt(3).arrival, Nanos(Seconds(3)));
}

TEST(Azure, ReadsLengthsAndTimes) {
  const std::string file =
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,48,10\r\n2023-11-16 18:17:04.0319600,31,8\r\n"
      "2023-11-16 18:17:05,0,8\r\nyesterday,1,1\r\n";
  const auto made = make_azure_workload({.path = "a.csv"}, file);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ((*made)->describe().dropped, (std::map<std::string, std::int64_t>{{"empty", 1}, {"malformed", 1}}));
  EXPECT_EQ((*made)->prompt(1).ids.size(), 31u);
  EXPECT_NEAR(seconds_of(*(*made)->prompt(1).arrival), 0.052, 1e-6);
  EXPECT_FALSE(make_azure_workload({.path = "a.csv"}, "a,b\n1,2\n").has_value());
}

TEST(Weka, MakesATreeOfEachConversationWithIdsOfItsOwn) {
  const std::string file =
      R"({"id":"a","block_size":64,"hash_id_scope":"local","requests":[)"
      R"({"t":0,"type":"n","in":128,"out":4,"hash_ids":[1,2],"api_time":2},)"
      R"({"type":"subagent","agent_id":"s","requests":[{"t":3,"type":"n","in":64,"out":2,"hash_ids":[7],"api_time":1},{"t":5,"type":"n","in":70,"out":2,"hash_ids":[7,8]}]},)"
      R"({"t":1000,"type":"s","in":192,"out":5,"hash_ids":[1,2,3]}]})"
      "\n"
      R"({"id":"b","requests":[{"t":0,"type":"n","in":128,"out":4,"hash_ids":[1,2]}]})"
      "\n"
      R"({"id":"c","requests":[{"t":0,"type":"n","in":0,"out":4,"hash_ids":[]}]})"
      "\n"
      R"({"id":"d","requests":[]})";
  const auto made = make_weka_workload({.path = "w.jsonl", .idle_cap_s = 300}, file);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ((*made)->describe().dropped, (std::map<std::string, std::int64_t>{{"empty", 2}}));
  EXPECT_EQ((*made)->sessions(), 2);
  EXPECT_EQ((*made)->session(0).count, 4);
  EXPECT_EQ((*made)->session(1).first, 4);
  EXPECT_EQ((*made)->prompt(1).parents, (std::vector<std::int64_t>{0}));
  EXPECT_EQ((*made)->prompt(2).parents, (std::vector<std::int64_t>{1}));
  EXPECT_EQ((*made)->prompt(2).think_time, Nanos(Seconds(1)));
  EXPECT_EQ((*made)->prompt(3).parents, (std::vector<std::int64_t>{0, 2}));  // the request before it, and the sub-agent since
  EXPECT_EQ((*made)->prompt(3).think_time, Nanos(Seconds(300)));             // 998 s, capped
  const Prompt first = (*made)->prompt(0), last = (*made)->prompt(3), other = (*made)->prompt(4);
  EXPECT_TRUE(std::equal(first.ids.begin(), first.ids.end(), last.ids.begin()));
  EXPECT_NE(first.ids, other.ids);  // the same block ids in another conversation
  EXPECT_NEAR(*(*made)->describe().predicted_hit_ratio, simulated_hit_ratio(**made, 5, 64), 1e-12);
}

TEST(Traces, OfTheContractAreReadWhole) {
  const std::string folder = PAWL_SOURCE_DIR "/../shared/data/traces/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no traces beside the project";
  const auto read = [&](const char* name) { return *unpacked(file_of(folder + name), name, 1u << 30); };
  const auto talk = make_mooncake_workload({.path = "mooncake"}, read("mooncake-conversation-4000.jsonl.gz"));
  ASSERT_TRUE(talk.has_value()) << talk.error().message;
  EXPECT_EQ((*talk)->describe().kept, 4000);
  EXPECT_GT(*(*talk)->describe().predicted_hit_ratio, 0.1);
  const auto synthetic = make_mooncake_workload({.path = "mooncake"}, read("mooncake-synthetic-2000.jsonl.gz"));
  ASSERT_TRUE(synthetic.has_value());
  EXPECT_EQ((*synthetic)->describe().kept, 2000);
  const auto few = make_mooncake_workload({.path = "mooncake", .requests = 10}, read("mooncake-conversation-4000.jsonl.gz"));
  EXPECT_NEAR(*(*few)->describe().predicted_hit_ratio, simulated_hit_ratio(**few, 10, 512), 1e-12);
  const auto azure = make_azure_workload({.path = "azure"}, read("azure-llm-code-2023.csv.gz"));
  ASSERT_TRUE(azure.has_value());
  EXPECT_EQ((*azure)->describe().rows, 8819);
  EXPECT_EQ((*azure)->describe().kept, 8819);
}

// ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST(Rows, AreElementsOfAnArrayOrLines) {
  const auto array = split_rows(R"( [ {"a":"],{"}, [1,2] ,"x\"]" , 4 ] )", "f");
  ASSERT_TRUE(array.has_value());
  EXPECT_EQ(*array, (std::vector<std::string_view>{R"({"a":"],{"})", "[1,2]", R"("x\"]")", "4"}));
  EXPECT_EQ(split_rows("\xEF\xBB\xBF{}\r\n\n {} ", "f")->size(), 2u);
  EXPECT_FALSE(split_rows("[{},", "f").has_value());
  EXPECT_FALSE(split_rows(" \n", "f").has_value());
  EXPECT_FALSE(split_rows("[]", "f").has_value());
}

std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 100, '\0');
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

TEST(Rows, OfAGzipFileAreBounded) {
  EXPECT_EQ(*unpacked("plain", "f", 10), "plain");
  EXPECT_EQ(*unpacked(gzipped("one") + gzipped(" two"), "f", 10), "one two");
  const std::string bomb = gzipped(std::string(50 << 20, '\0'));
  EXPECT_LT(bomb.size(), 100'000u);
  EXPECT_FALSE(unpacked(bomb, "f", 1 << 20).has_value());
  EXPECT_FALSE(unpacked("\x1F\x8B broken", "f", 10).has_value());
  EXPECT_FALSE(unpacked(gzipped("cut off").substr(0, 15), "f", 100).has_value());
}

}  // namespace
}  // namespace pawl::workload
