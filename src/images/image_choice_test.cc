#include "images/image_choice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "codec/json.h"
#include "images/retention.h"
#include "model/image.h"

namespace pawl::images {
namespace {

namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

const TagGrammars& grammars() {
  static const TagGrammars all = [] {
    const fs::path path = fs::path(PAWL_SOURCE_DIR) / "data" / "images" / "grammars.yaml";
    auto read = TagGrammars::parse(slurp(path), "grammars.yaml");
    if (!read) ADD_FAILURE() << read.error().message;
    return read.value();
  }();
  return all;
}

/// "2026-10-01T04:00:00Z", to the second.
WallTime at(const std::string& iso) {
  std::tm tm{};
  strptime(iso.c_str(), "%Y-%m-%dT%H:%M:%SZ", &tm);
  return WallTime{Seconds{timegm(&tm)}};
}

std::vector<ListedTag> list(const std::vector<std::string>& tags) {
  std::vector<ListedTag> all;
  for (const std::string& tag : tags) all.push_back({tag, std::nullopt, {}});
  return all;
}

const JudgedTag& judged(const ImageChoice& choice, const std::string& tag) { return *std::ranges::find(choice.tags, tag, &JudgedTag::tag); }

TEST(Version, OrdersAsPep440Does) {
  const std::vector<std::string> ascending = {"1.2.0-dev.1", "1.2.0a1",     "1.2.0b2",     "1.2.0rc6.post2.dev1", "1.2.0rc6.post2", "1.2.0rc9", "1.2.0rc10",
                                              "1.2.0",       "1.2.0.post1", "1.2.0.post2", "1.2.1.dev3",          "1.2.1",          "1.10"};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    const auto a = Version::parse(ascending[i]);
    ASSERT_TRUE(a) << ascending[i];
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(*a <=> *Version::parse(ascending[j]), i <=> j) << ascending[i] << " against " << ascending[j];
    }
  }
  EXPECT_EQ(*Version::parse("1.3"), *Version::parse("1.3.0"));
  for (const char* bad : {"", "v1", "1..2", "1.", "1.2x", "1.2.0rc1x", "1.1.1.1.1.1.1.1.1", "1234567890123456789"}) EXPECT_FALSE(Version::parse(bad)) << bad;
}

TEST(TagGrammars, ReadOneOfEachKind) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"v0.5.12-rocm720-mi35x-20260517", "semver-rocm"},
      {"v0.5.12-rocm700-mi30x", "semver-rocm"},
      {"nightly-5e35a6f4f9bbc217c599692157ca985c894373f7", "nightly-commit"},
      {"minimax-m3", "branch"},
      {"deepseek-v4-hopper", "branch"},
      {"v0.22.0", "plain-semver"},
      {"v0.5.12.post1", "plain-semver"},
      {"nightly-dev-cu13-20260711-7de33ce8", "nightly-dated"},
      {"nightly-dev-20261028-586355a8", "nightly-dated"},
      {"sglang-0.5.9-rocm720-mi35x-mori-0227-2", "engine-stack"},
      {"v0.5.19-cu130", "semver-cuda"},
      {"v0.5.8.post1-cu130-runtime", "semver-cuda"},
      {"v0.5.8.post1-cu130-amd64", "semver-cuda"},
      {"1.3.0-dev.1-cuda13", "semver-cuda"},
      {"v0.20.1-ubuntu2404", "semver-platform"},
      {"1.3.0rc14", "semver-pre"},
      {"1.2.0rc6.post2", "semver-pre"},
      {"nightly_202607011530", "nightly-stamp"},
      {"rocm7.2.2_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom0.1.2.post", "stack"},
      {"rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0_atomesh_202607121715", "stack"},
      {"nightly-dev-arm64-cu13.0.1-c188b96", "nightly-arch-cuda-commit"},
      {"nightly", "rolling"},
      {"latest", "rolling"},
      {"v0", "rolling"},
      {"20260517", "commit"},
      {"7de33ce8", "commit"},
      {"1.3.0-deepseek-v4-dev.1", "semver-branch"},
      {"TBD", "branch"},
      {"-broken", "other"},
      {std::string(129, 'a'), "other"},
  };
  for (const auto& [tag, grammar] : expected) EXPECT_EQ(grammars().read(tag).grammar, grammar) << tag;
}

// The order of pairs, each judged by hand from the two names and the rules of the contract, before the code was asked. (When
// the images were published was not looked up.) '<': the second is an update of the first; 'v': newer, but another variant;
// 'c': newer, but a channel that the pin does not take; '?': nothing tells; '-': not an update.
TEST(ImageChoice, FiftyPairsCheckedByHand) {
  struct Pair {
    const char* pin;
    char expected;
    const char* tag;
  };
  const std::vector<Pair> pairs = {
      {"v0.5.12-rocm720-mi35x-20260517", '<', "v0.5.12-rocm720-mi35x-20260519"},
      {"v0.5.12-rocm720-mi35x-20260519", '<', "v0.5.12.post1-rocm720-mi35x-20260523"},
      {"v0.5.12.post1-rocm720-mi35x-20260529", '<', "v0.5.14-rocm720-mi35x-20260701"},
      {"v0.5.14-rocm720-mi35x-20260708", '<', "v0.5.15-rocm720-mi35x-20260713"},
      {"v0.5.16-rocm720-mi35x-20260730", 'v', "v0.5.17-rocm720-mi30x-20260813"},
      {"v0.5.16-rocm720-mi30x-20260730", '-', "v0.5.16-rocm720-mi35x-20260728"},
      {"v0.5.12-rocm700-mi35x", 'v', "v0.5.14-rocm720-mi35x"},
      {"v0.5.14-rocm720-mi35x", 'c', "v0.5.16-rocm720-mi35x-20260726"},
      {"v0.5.14-rocm720-mi35x", '<', "v0.5.16-rocm720-mi35x"},
      {"v0.5.12-rocm720-mi30x", '<', "v0.5.16-rocm720-mi30x"},
      {"v0.5.17-rocm720-mi35x-20260818", '-', "v0.5.17-rocm720-mi35x-20260813"},
      {"v0.5.8-cu130", '<', "v0.5.8.post1-cu130"},
      {"v0.5.8.post1-cu130", '<', "v0.5.11-cu130"},
      {"v0.5.11-cu130", '<', "v0.5.12-cu130"},
      {"v0.5.12-cu130", '<', "v0.5.13.post1-cu130"},
      {"v0.5.13.post1-cu130", '<', "v0.5.14-cu130"},
      {"v0.5.14-cu130", '<', "v0.5.15.post1-cu130"},
      {"v0.5.15.post1-cu130", '<', "v0.5.16-cu130"},
      {"v0.5.16-cu130", '<', "v0.5.17-cu130"},
      {"v0.5.17-cu130", '<', "v0.5.19-cu130"},
      {"v0.5.9-cu130", '<', "v0.5.10-cu130"},
      {"v0.5.19-cu130", '-', "v0.5.9-cu130"},
      {"v0.5.8.post1-cu130-runtime", 'v', "v0.5.11-cu130"},
      {"v0.5.8.post1-cu130-amd64", 'v', "v0.5.8.post2-cu130"},
      {"v0.5.12", 'v', "v0.5.13-cu130"},
      {"v0.5.12", '<', "v0.5.12.post1"},
      {"v0.20.1", 'v', "v0.21.0-ubuntu2404"},
      {"v0.20.1-ubuntu2404", '<', "v0.21.0-ubuntu2404"},
      {"v0.9.2", '<', "v0.22.0"},
      {"v0.22.0", '-', "v0.22"},
      {"v0.22.0", '-', "v0.23"},
      {"1.3.0rc14", '<', "1.3.0rc18"},
      {"1.3.0rc9", '<', "1.3.0rc10"},
      {"1.3.0rc22.post1", '<', "1.3.0rc23.post1"},
      {"1.3.0rc23.post1", '<', "1.3.0rc24"},
      {"1.3.0rc24", '<', "1.3.0"},
      {"1.3.0", '-', "1.3.0rc24"},
      {"1.2.0", 'c', "1.3.0rc1"},
      {"1.3.0-dev.1-cuda13", '<', "1.3.0-dev.2-cuda13"},
      {"1.3.0-dev.1-cuda13", 'v', "1.3.0rc1"},
      {"0.8.1.post1", '<', "0.8.1.post3"},
      {"0.7.0.post2", '<', "0.8.1.post2"},
      {"1.3.0-deepseek-v4-dev.1", '<', "1.3.0-deepseek-v4-dev.2"},
      {"nightly-dev-cu13-20260528-0abe6a85", '<', "nightly-dev-cu13-20260605-7dc73766"},
      {"nightly-dev-cu13-20260605-7dc73766", 'v', "nightly-dev-20260818-c0b6474b"},
      {"nightly-dev-20260818-c0b6474b", '?', "nightly-dev-20260818-ffffffff"},
      {"nightly_202606101403", '<', "nightly_202606161823"},
      {"nightly-5e35a6f4f9bbc217c599692157ca985c894373f7", '?', "nightly-93d8f834dd8acf33eb0e2a75b2711b628cb6e226"},
      {"nightly-dev-arm64-cu13.0.1-426e59f", '?', "nightly-dev-arm64-cu13.0.1-728d3ad"},
      {"rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom0.1.3", 'c', "rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom0.1.4_202607091539"},
      {"rocm7.2.2_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom0.1.2.post", 'v', "rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom0.1.3"},
      {"sglang-0.5.9-rocm720-mi35x-mori-0227-2", '<', "sglang-0.5.9-rocm720-mi35x-mori-0227-3"},
      {"sglang-0.5.9-rocm720-mi35x-mori-0227-2", '<', "sglang-0.5.10-rocm720-mi35x-mori-0101"},
      {"minimax-m3", '-', "v0.23.0"},
      {"v0.23.0", '-', "minimax-m3"},
  };
  ASSERT_GE(pairs.size(), 50U);
  for (const auto& [pin, expected, tag] : pairs) {
    const ImageChoice choice = choose_image(grammars(), pin, list({pin, tag}), {});
    const JudgedTag& j = judged(choice, tag);
    const std::string seen = fmt::format("{} → {}: {}", pin, tag, j.rule);
    EXPECT_EQ(choice.newest.has_value(), expected == '<') << seen;
    EXPECT_EQ(j.verdict == TagVerdict::kOtherVariant, expected == 'v') << seen;
    EXPECT_EQ(j.verdict == TagVerdict::kOtherChannel, expected == 'c') << seen;
    EXPECT_EQ(j.verdict == TagVerdict::kNoOrder && j.rule.starts_with("no order"), expected == '?') << seen;
    if (j.verdict == TagVerdict::kFloating) continue;
    EXPECT_EQ(is_backward(grammars(), tag, pin), expected == '<' || (j.newer && expected != '?')) << seen;
  }
}

TEST(ImageChoice, NeverWritesWhatIsNotStrictlyGreater) {
  const std::vector<std::string> all = {"v0.5.9",
                                        "v0.5.10",
                                        "v0.5.10.post1",
                                        "v0.6.0rc1",
                                        "v0.6.0",
                                        "0.7.0",
                                        "v0.5.10-cu130",
                                        "2026.1.0",
                                        "latest",
                                        "v0.6",
                                        "nightly-dev-20260818-c0b6474b",
                                        "nightly-5e35a6f4f9bbc217c599692157ca985c894373f7",
                                        "7de33ce8",
                                        "kimi-k3",
                                        "TBD"};
  for (const std::string& pin : all) {
    const ImageChoice choice = choose_image(grammars(), pin, list(all), {});
    EXPECT_EQ(choice.tags.size(), all.size());
    for (const JudgedTag& j : choice.tags) EXPECT_FALSE(j.rule.empty()) << pin << " " << j.tag;
    if (!choice.newest) continue;
    EXPECT_NE(*choice.newest, pin);
    EXPECT_FALSE(is_backward(grammars(), pin, *choice.newest)) << pin << " → " << *choice.newest;
    EXPECT_EQ(grammars().read(*choice.newest).variant, grammars().read(pin).variant);
  }
}

TEST(ImageChoice, AgeIgnoreRulesAndDigest) {
  std::vector<ListedTag> tags = {{"v1.0.0", at("2026-09-01T00:00:00Z"), "sha256:a"},
                                 {"v1.0.1", at("2026-09-10T00:00:00Z"), "sha256:a"},
                                 {"v1.1.0", at("2026-10-01T00:00:00Z"), "sha256:b"},
                                 {"v1.2.0", at("2026-10-09T00:00:00Z"), "sha256:c"},
                                 {"v1.3.0", std::nullopt, "sha256:d"}};
  ChoicePolicy policy;
  policy.now = at("2026-10-10T00:00:00Z");
  EXPECT_EQ(choose_image(grammars(), "v1.0.0", tags, policy).newest, "v1.3.0");
  policy.min_age = Seconds{3 * 86400};
  ImageChoice choice = choose_image(grammars(), "v1.0.0", tags, policy);
  EXPECT_EQ(choice.newest, "v1.1.0");
  EXPECT_EQ(judged(choice, "v1.3.0").verdict, TagVerdict::kTooYoung);  // an unknown age is not old enough
  EXPECT_EQ(judged(choice, "v1.0.1").verdict, TagVerdict::kSameImage);
  policy.ignore = {"v1.1.*"};
  choice = choose_image(grammars(), "v1.0.0", tags, policy);
  EXPECT_EQ(choice.newest, std::nullopt);
  EXPECT_EQ(judged(choice, "v1.1.0").rule, "ignored by the rule v1.1.*");
}

TEST(ImageChoice, AncestryBeatsPushTimeForCommits) {
  const std::string a = "nightly-" + std::string(40, 'a'), b = "nightly-" + std::string(40, 'b');
  std::vector<ListedTag> tags = {{a, at("2026-10-02T00:00:00Z"), {}}, {b, at("2026-10-01T00:00:00Z"), {}}};
  ChoicePolicy policy;
  EXPECT_EQ(choose_image(grammars(), b, tags, policy).newest, a);
  policy.ancestry = [](const std::string& commit) { return std::optional<std::int64_t>(commit[0] == 'b' ? 2 : 1); };
  EXPECT_EQ(choose_image(grammars(), b, tags, policy).newest, std::nullopt);
  const ImageChoice choice = choose_image(grammars(), a, tags, policy);
  EXPECT_EQ(choice.newest, b);
  EXPECT_EQ(choice.warnings.size(), 1U);  // pushed before the pin
}

TEST(ImageChoice, SharedCases) {
  const fs::path path = fs::path(PAWL_SOURCE_DIR) / ".." / "shared" / "cases" / "tags.json";
  if (!fs::exists(path)) GTEST_SKIP() << "no ../shared/cases beside the project";
  const auto doc = codec::parse_json(slurp(path), "tags.json").value();
  std::size_t checked = 0;
  for (const auto& c : doc["cases"]) {
    SCOPED_TRACE(c["id"].get<std::string>() + " " + c["title"].get<std::string>());
    std::vector<ListedTag> tags = list(c["tags"].get<std::vector<std::string>>());
    const auto check = [&](const codec::Json& expected) {
      const ImageChoice choice = choose_image(grammars(), c["current"], tags, {});
      EXPECT_EQ(choice.newest ? codec::Json(*choice.newest) : codec::Json(nullptr), expected["newest"]) << choice.reason;
      if (expected.contains("reason")) {
        EXPECT_EQ(choice.reason, expected["reason"].get<std::string>());
      }
      for (const auto& tag : expected.value("mention", codec::Json::array()))
        EXPECT_TRUE(std::ranges::find(choice.mention, tag.get<std::string>()) != choice.mention.end()) << tag;
      const codec::Json refused = expected.value("refused", codec::Json::object());
      for (const auto& [tag, why] : refused.items()) {
        const std::map<std::string, TagVerdict> words = {
            {"other channel", TagVerdict::kOtherChannel}, {"older", TagVerdict::kOlder}, {"other scheme", TagVerdict::kOtherScheme}};
        EXPECT_EQ(judged(choice, tag).verdict, words.at(why)) << tag << ": " << judged(choice, tag).rule;
      }
    };
    if (c.contains("also")) check(c["also"]["without_pushed"]);
    for (ListedTag& tag : tags) {
      if (c.contains("pushed") && c["pushed"].contains(tag.tag)) tag.pushed = at(c["pushed"][tag.tag]);
    }
    check(c["expected"]);
    ++checked;
  }
  EXPECT_EQ(checked, 6U);
}

TEST(ImageChoice, EveryImageOfTheRealCatalogueIsClassified) {
  const fs::path root = fs::path(PAWL_SOURCE_DIR) / ".." / "shared" / "data";
  if (!fs::exists(root)) GTEST_SKIP() << "no ../shared/data beside the project";
  std::map<std::string, int> counts;
  std::set<std::string> seen;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".yaml" || entry.path().string().find("golden") != std::string::npos) continue;
    std::istringstream lines(slurp(entry.path()));
    for (std::string line; std::getline(lines, line);) {
      const auto key = line.find("image: ");
      if (key == std::string::npos || line.find_first_not_of(" -") != key) continue;
      std::string text = line.substr(key + 7);
      std::erase_if(text, [](char ch) { return ch == '"' || ch == '\''; });
      if (!seen.insert(text).second) continue;
      const auto image = model::parse_image(text);
      ASSERT_TRUE(image) << text;
      ++counts[!image->digest.empty() ? "digest-pinned" : grammars().read(image->tag).grammar];
    }
  }
  std::string table;
  for (const auto& [name, n] : counts) table += fmt::format("{} {}\n", name, n);
  std::printf("%s", table.c_str());
  EXPECT_GT(seen.size(), 100U);
  // The kinds of the contract's table all occur, and next to nothing is of no kind.
  for (const char* kind : {"semver-rocm", "nightly-commit", "branch", "plain-semver", "nightly-dated", "engine-stack", "semver-cuda", "semver-pre",
                           "nightly-stamp", "digest-pinned", "stack", "nightly-arch-cuda-commit"}) {
    EXPECT_GT(counts[kind], 0) << kind;
  }
  EXPECT_LE(counts["other"], static_cast<int>(seen.size()) / 50);
}

TEST(Retention, RankAndRhythm) {
  const auto rules = parse_retention(slurp(fs::path(PAWL_SOURCE_DIR) / "data" / "images" / "retention.yaml"), "retention.yaml").value();
  std::vector<ListedTag> tags;
  for (int day = 1; day <= 10; ++day) {
    tags.push_back({fmt::format("nightly-{:040x}", day), at(fmt::format("2026-10-{:02}T00:00:00Z", day)), {}});
  }
  const WallTime now = at("2026-10-10T12:00:00Z");
  // Nine newer builds, fourteen kept, one a day: five more builds push it out, half a day of which has passed.
  const Lifetime oldest = lifetime_of(rules, grammars(), "docker.io/vllm/vllm-openai", tags.front().tag, tags, now);
  ASSERT_TRUE(oldest.days_left) << oldest.basis;
  EXPECT_NEAR(*oldest.days_left, 4.5, 1e-9);
  EXPECT_EQ(lifetime_of(rules, grammars(), "docker.io/vllm/vllm-openai", "nightly-" + std::string(40, 'f'), tags, now).days_left, 0.0);
  const std::vector<ListedTag> sg = {{"nightly-dev-20261001-abcdef12", at("2026-10-01T00:00:00Z"), {}}};
  EXPECT_NEAR(*lifetime_of(rules, grammars(), "lmsysorg/sglang", sg[0].tag, sg, now).days_left, 11.5, 1e-9);
  EXPECT_EQ(lifetime_of(rules, grammars(), "lmsysorg/sglang", "v0.5.19-cu130", list({"v0.5.19-cu130"}), now).days_left, std::nullopt);
}

TEST(TagGrammars, ABrokenFileIsNamed) {
  const std::string head = "schema: pawl.tag-grammars/1\nfragments: {}\ngrammars:\n  - {name: a, what: b, family: f, variant: [], channel: ";
  EXPECT_FALSE(TagGrammars::parse(head + "none, order: [], pattern: '('}\n", "x.yaml"));
  const auto channel = TagGrammars::parse(head + "weekly, order: [], pattern: 'a'}\n", "x.yaml");
  ASSERT_FALSE(channel);
  EXPECT_NE(channel.error().message.find("x.yaml: grammar a: there is no channel 'weekly'"), std::string::npos) << channel.error().message;
}

}  // namespace
}  // namespace pawl::images
