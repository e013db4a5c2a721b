#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "codec/internal/yaml_usual.h"

namespace pawl::codec::internal {
namespace {

enum class Said { kNothing, kTheSame, kOther };

/// What the reader of the usual form says of a text, beside libyaml's events.
Said compare(const std::string& text, const YamlLimits& limits = {}) {
  YamlStorage storage{text};
  const auto usual = read_usual_form(storage, limits);
  if (!usual) return Said::kNothing;
  const auto events = parse_by_events(text, "t", limits);
  return events && yaml_identical(*usual, events->root) ? Said::kTheSame : Said::kOther;
}

TEST(UsualForm, ReadsWhatCataloguesAreWrittenIn) {
  for (const char* text : {
           "a: 1\n",
           "a: 1",
           "# c\n\na:   x y  z   # c\n\n# end",
           "a:\n  b:\n  - 1\n  - 2\n  c: 'x'\nd: \"y\" # é – ü\n",
           "a:\n- b: 1\n  c: 2\n\n  # between\n- b: 3\nd:\n",
           "a:\n  - - 1\n    - 2\n  - b:\n    - 3\n",
           "- a\n- {b: c, d: [1, 2.5, x y], e: {}, f: []}\n",
           "a: [ 1 , \"x, y\" , 'z' ]   \nb: { k: v, \"q\": -1 }\n",
           "a: http://x/y:z#w\nb: -.5\nc: yes\nd: ~\ne: 2026-07-20\nf: 0x1F\ng: null\n",
           "a:\nb:\n  # nothing\nc:\n\n",
           "'k': 1\n\"l\": 2\n3: 4\n",
       }) {
    EXPECT_EQ(compare(text), Said::kTheSame) << text;
  }
}

TEST(UsualForm, LeavesTheRestToLibyaml) {
  for (const char* text : {
           "",
           "a",
           "a: &x 1\n",
           "a: *x\n",
           "a: !!str 1\n",
           "a: |\n  x\n",
           "a: >\n  x\n",
           "a: x\n  y\n",
           "a: \"x\n  y\"\n",
           "a: \"\\n\"\n",
           "a: 'it''s'\n",
           "a:\t1\n",
           "a: 1\t\n",
           "a: 1\r\n",
           "a: é\n",
           "\xEF\xBB\xBF"
           "a: 1\n",
           "--- \na: 1\n",
           "a: 1\n...\n",
           "%YAML 1.1\n---\na: 1\n",
           "? a\n: 1\n",
           "a: [1,\n  2]\n",
           "a: [1, 2\n",
           "a: [1, 2]]\n",
           "a: [x: 1]\n",
           "a: {x}\n",
           "a: [1, ]\n",
           "a: {x:1}\n",
           "a : 1\n",
           "a: b: c\n",
           "a: - b\n",
           "a: 1\n   b: 2\n",
           " a: 1\n",
           "a:\n   b: 1\n  c: 2\n",
           "- 1\nb: 2\n",
           "a: \"x\"#c\n",
           "a: [a?]\n",
           "a: 2026-13-01\n",
           "a: =\n",
           "<<: {b: 1}\n",
           "# \xC2\x85"
           "a: 1\n",
           "# \xFF\na: 1\n",
           "# \x01\na: 1\n",
           "a: 1 # \xE2\x80\xA8"
           "b: 2\n",
       }) {
    EXPECT_EQ(compare(text), Said::kNothing) << text;
  }
  EXPECT_EQ(compare(std::string(1001, 'k') + ": 1\n"), Said::kNothing) << "the length of a key is libyaml's affair";
  EXPECT_EQ(compare("a: [[[1]]]\n", {.depth = 3}), Said::kNothing) << "and so is a limit that is reached";
}

std::string file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(UsualForm, IsThatOfRealCatalogues) {
  const std::filesystem::path data = PAWL_SOURCE_DIR "/../shared/data/inferencex/configs";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "there is no " << data;
  for (const char* name : {"nvidia-master.yaml", "amd-master.yaml", "runners.yaml", "ci-priority.yaml"}) {
    EXPECT_EQ(compare(file(data / name)), Said::kTheSame) << name;
  }
  for (const auto& entry : std::filesystem::directory_iterator(data / "deprecated")) EXPECT_NE(compare(file(entry.path())), Said::kOther) << entry.path();
}

/// Texts that are nearly of the form, or are of it by chance: where both read, both read the same.
TEST(UsualForm, AgreesWithLibyamlOnWhateverItReads) {
  const std::vector<std::string> pieces{"a",      "b c",    "key",  ":", ": ", ":\n",  "\n",  "\n  ", "\n    ", "\n- ",       "\n  - ", "- ",     " ",
                                        "  ",     "#c",     " # c", "[", "]",  "{",    "}",   ", ",   ",",      "\"x\"",      "'y'",    "1",      "-1",
                                        "0.5",    "yes",    "~",    "?", "-",  "--- ", "...", "é",    "\t",     "2026-07-20", "x: 1",   "x: 1\n", "- y\n",
                                        "{a: 1}", "[1, 2]", "&",    "*", "!",  "|",    ">",   "%",    "=",      "<<",         "\r\n",   "#"};
  std::mt19937_64 random(7);
  int read = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string text = i % 2 == 0 ? "a:\n  b: 1\n  c:\n  - x\n" : "";
    for (std::size_t n = 1 + random() % 9; n > 0; --n) text.insert(i % 3 == 0 ? random() % (text.size() + 1) : text.size(), pieces[random() % pieces.size()]);
    const Said said = compare(text);
    ASSERT_NE(said, Said::kOther) << text;
    read += said == Said::kTheSame ? 1 : 0;
  }
  EXPECT_GT(read, 3'000) << "the texts are too seldom of the form for this to say anything";
}

}  // namespace
}  // namespace pawl::codec::internal
