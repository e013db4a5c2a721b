#include "upstream/image_facts.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/hash.h"
#include "codec/json.h"
#include "posix/real_files.h"

namespace pawl::upstream {
namespace {

namespace fs = std::filesystem;

std::string tar_gz(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out(4 << 20, '\0');
  std::size_t used = 0;
  archive* a = archive_write_new();
  archive_write_set_format_pax_restricted(a);
  archive_write_add_filter_gzip(a);
  archive_write_open_memory(a, out.data(), out.size(), &used);
  for (const auto& [path, text] : entries) {
    archive_entry* e = archive_entry_new();
    archive_entry_set_pathname(e, path.c_str());
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, static_cast<la_int64_t>(text.size()));
    archive_write_header(a, e);
    archive_write_data(a, text.data(), text.size());
    archive_entry_free(e);
  }
  archive_write_close(a);
  archive_write_free(a);
  out.resize(used);
  return out;
}

class ImageFactsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "pawl-image-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string put(const std::string& bytes) {
    const std::string digest = sha256_hex(bytes);
    EXPECT_TRUE(files_.write_atomic(folder_ / "blobs/sha256" / digest, bytes));
    return "sha256:" + digest;
  }
  /// An image of these layers with two commit labels.
  void image(const std::vector<std::string>& layers, const std::string& commit, const std::string& other) {
    codec::Json list = codec::Json::array();
    for (const std::string& layer : layers)
      list.push_back({{"mediaType", "application/vnd.oci.image.layer.v1.tar+gzip"}, {"digest", put(layer)}, {"size", layer.size()}});
    const codec::Json config{
        {"os", "linux"},
        {"architecture", "amd64"},
        {"created", "2026-09-04T00:00:00Z"},
        {"config",
         {{"Labels", {{"org.opencontainers.image.revision", commit}, {"ai.x.build.commit", other}}}, {"Env", {"NVIDIA_REQUIRE_CUDA=cuda>=13.0", "A=b=c"}}}}};
    const codec::Json manifest{{"schemaVersion", 2}, {"config", {{"digest", put(config.dump())}}}, {"layers", list}};
    const codec::Json index{{"schemaVersion", 2},
                            {"manifests", {{{"digest", put(manifest.dump())}, {"annotations", {{"org.opencontainers.image.ref.name", "v1"}}}}}}};
    ASSERT_TRUE(files_.write_atomic(folder_ / "index.json", index.dump()));
  }
  posix::RealFiles files_;
  fs::path folder_;
};

std::string metadata(const std::string& name, const std::string& version) {
  return "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n\nVersion: 9 in the text\n";
}

TEST_F(ImageFactsTest, PackagesAreReadFromTheLayersAndWhiteoutsAreObeyed) {
  const std::string site = "usr/lib/python3/site-packages/";
  image({tar_gz({{site + "torch-2.11.0.dist-info/METADATA", metadata("torch", "2.11.0")},
                 {site + "Kernel_X-1.dist-info/METADATA", metadata("Kernel_X", "1")},
                 {"opt/old/y-1.dist-info/METADATA", metadata("y", "1")}}),
         tar_gz({{site + ".wh.torch-2.11.0.dist-info", ""},
                 {site + "torch-2.13.0.dist-info/METADATA", metadata("torch", "2.13.0")},
                 {"opt/old/.wh..wh..opq", ""},
                 {"usr/local/cuda/version.json", R"({"cuda":{"version":"13.0.3"}})"},
                 {"var/lib/dpkg/status", "Package: libnccl2\nStatus: install ok installed\nVersion: 2.27\n\n"}})},
        std::string(40, 'a'), std::string(40, 'a'));
  const auto facts = read_oci_layout(files_, folder_, "v1", "linux/amd64");
  ASSERT_TRUE(facts) << facts.error().message;
  std::map<std::string, std::string> versions;
  for (const PackageFact& p : facts->packages) versions[p.kind + ":" + p.name] = p.version;
  EXPECT_EQ(versions,
            (std::map<std::string, std::string>{{"cuda:cuda", "13.0.3"}, {"debian:libnccl2", "2.27"}, {"python:kernel-x", "1"}, {"python:torch", "2.13.0"}}));
  EXPECT_EQ(facts->environment.at("A"), "b=c");
  EXPECT_EQ(facts->platform, "linux/amd64");
  const auto commit = source_commit(*facts);
  ASSERT_TRUE(commit);
  EXPECT_EQ(commit->label, "org.opencontainers.image.revision");
  EXPECT_TRUE(commit->agree);
}

TEST_F(ImageFactsTest, LabelsThatDisagreeAreSaid) {
  image({tar_gz({{"x", "y"}})}, std::string(40, 'a'), std::string(40, 'b'));
  const auto facts = read_oci_layout(files_, folder_, "", "");
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_FALSE(source_commit(*facts)->agree);
}

TEST_F(ImageFactsTest, DamageAndAbsenceAreErrors) {
  image({tar_gz({{"x", "y"}})}, "abcdef1", "abcdef1");
  EXPECT_FALSE(read_oci_layout(files_, folder_, "v2", ""));
  EXPECT_FALSE(read_oci_layout(files_, folder_, "v1", "linux/arm64")) << "the index has no platform, but the config has";
  for (const auto& entry : fs::directory_iterator(folder_ / "blobs/sha256")) {
    if (entry.file_size() < 2000) {
      ASSERT_TRUE(files_.write_atomic(entry.path(), "{}"));
    }
  }
  EXPECT_FALSE(read_oci_layout(files_, folder_, "v1", ""));
  EXPECT_FALSE(read_oci_layout(files_, folder_ / "nowhere", "", ""));
}

TEST_F(ImageFactsTest, AnUnpackedRootGivesTheSame) {
  ASSERT_TRUE(files_.write_atomic(folder_ / "r/a/torch-1.dist-info/METADATA", metadata("torch", "1")));
  ImageFacts before, after;
  ASSERT_TRUE(add_unpacked(files_, folder_ / "r", before));
  after = before;
  after.packages[0].version = "2";
  EXPECT_EQ(identity_lines(before, after, {"torch", "none"}), std::vector<std::string>{"torch 1 → 2 (a/torch-1.dist-info/METADATA)"});
}

}  // namespace
}  // namespace pawl::upstream
