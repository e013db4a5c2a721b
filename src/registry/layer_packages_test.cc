#include "registry/layer_packages.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace pawl::registry {
namespace {

namespace fs = std::filesystem;

class LayerPackagesTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  /// A layer packed with gzip, as builders make it.
  fs::path layer(const std::string& name, const std::vector<std::pair<std::string, std::string>>& files) {
    const fs::path path = folder_ / name;
    archive* a = archive_write_new();
    archive_write_add_filter_gzip(a);
    archive_write_set_format_pax_restricted(a);
    archive_write_open_filename(a, path.c_str());
    for (const auto& [file, text] : files) {
      archive_entry* entry = archive_entry_new();
      archive_entry_set_pathname(entry, file.c_str());
      archive_entry_set_size(entry, static_cast<la_int64_t>(text.size()));
      archive_entry_set_filetype(entry, AE_IFREG);
      archive_entry_set_perm(entry, 0644);
      archive_write_header(a, entry);
      archive_write_data(a, text.data(), text.size());
      archive_entry_free(entry);
    }
    archive_write_close(a);
    archive_write_free(a);
    return path;
  }

  fs::path folder_ = fs::temp_directory_path() / ("pawl-layers-test-" + std::to_string(::getpid()));
};

std::string metadata(const std::string& name, const std::string& version) {
  return "Metadata-Version: 2.4\nName: " + name + "\nVersion: " + version + "\n\nName: not this one\n";
}

std::string text_of(const std::vector<BundledPackage>& packages) {
  std::string text;
  for (const auto& p : packages) text += p.kind + " " + p.name + " " + p.version + "; ";
  return text;
}

constexpr const char* kSite = "usr/lib/python3/dist-packages/";

TEST_F(LayerPackagesTest, LaterLayersReplaceAndRemove) {
  LayerPackages reader;
  const std::string site = kSite;
  ASSERT_TRUE(reader.add_layer(layer("1", {{"./" + site + "torch-2.9.1.dist-info/METADATA", metadata("torch", "2.9.1")},
                                           {site + "sglang-0.5.14.dist-info/METADATA", metadata("sglang", "0.5.14")},
                                           {site + "old/gone-1.0.dist-info/METADATA", metadata("gone", "1.0")},
                                           {"var/lib/dpkg/status",
                                            "Package: cuda-cudart\nStatus: install ok installed\nVersion: 13.0\n\nPackage: removed\nStatus: deinstall ok "
                                            "config-files\nVersion: 1\n"}}),
                               {}));
  ASSERT_TRUE(reader.add_layer(layer("2", {{site + ".wh.sglang-0.5.14.dist-info", ""},
                                           {site + "sglang-0.5.19.dist-info/METADATA", metadata("sglang", "0.5.19")},
                                           {site + "old/.wh..wh..opq", ""},
                                           {site + "old/new-2.0.dist-info/METADATA", metadata("new", "2.0")}}),
                               {}));
  EXPECT_EQ(text_of(reader.packages()), "debian cuda-cudart 13.0; python new 2.0; python sglang 0.5.19; python torch 2.9.1; ");
  EXPECT_EQ(reader.packages()[2].read_from, "layer 2: " + site + "sglang-0.5.19.dist-info/METADATA");
}

TEST_F(LayerPackagesTest, PathsThatLeadOutAreNotFollowed) {
  LayerPackages reader;
  ASSERT_TRUE(reader.add_layer(layer("1", {{"../../" + std::string(kSite) + "evil-1.dist-info/METADATA", metadata("evil", "1")}}), {}));
  EXPECT_TRUE(reader.packages().empty());
}

TEST_F(LayerPackagesTest, BombsAndBrokenArchivesAreRefused) {
  const auto bomb = layer("bomb", {{"zeros", std::string(8u << 20, '\0')}});
  EXPECT_LT(fs::file_size(bomb), 100'000U);
  const auto over = LayerPackages({.bytes_max = 1u << 20}).add_layer(bomb, {});
  ASSERT_FALSE(over);
  EXPECT_NE(over.error().message.find("more than 1048576 bytes unpacked"), std::string::npos) << over.error().message;
  const auto many = LayerPackages({.entries_max = 2}).add_layer(layer("many", {{"a", ""}, {"b", ""}, {"c", ""}}), {});
  EXPECT_FALSE(many);
  const auto big = LayerPackages({.file_max = 10}).add_layer(layer("big", {{"var/lib/dpkg/status", std::string(100, 'x')}}), {});
  EXPECT_FALSE(big);
  const auto whole = layer("cut", {{"a", std::string(100'000, 'q')}, {"b", "x"}});
  fs::resize_file(whole, fs::file_size(whole) / 2);
  EXPECT_FALSE(LayerPackages().add_layer(whole, {}));
  std::ofstream(folder_ / "text") << "this is no archive";
  EXPECT_FALSE(LayerPackages().add_layer(folder_ / "text", {}));
}

}  // namespace
}  // namespace pawl::registry
