#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "plan/catalogue.h"

namespace pawl::plan::testing {

/// The data and cases that lie beside the project; tests skip when they are absent.
inline const std::filesystem::path kShared = std::filesystem::path(PAWL_SOURCE_DIR) / ".." / "shared";

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::string unzip(const std::filesystem::path& path) {
  std::string text;
  FILE* pipe = ::popen(("gzip -dc '" + path.string() + "'").c_str(), "r");
  char buffer[1 << 16];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  ::pclose(pipe);
  return text;
}

/// data/catalog of the project.
inline std::shared_ptr<const Format> format() {
  static const auto loaded = [] {
    const auto folder = std::filesystem::path(PAWL_SOURCE_DIR) / "data" / "catalog";
    auto read = Format::read(slurp(folder / "layouts.yaml"), slurp(folder / "schema.yaml"));
    EXPECT_TRUE(read) << read.error().message << (read.error().place ? ":" + std::to_string(read.error().place->line) : "");
    return std::move(*read);
  }();
  return loaded;
}

/// Files one by one, read as this generation.
inline Layout layout_of(std::vector<std::string> masters, const std::string& runners = "r.yaml", const std::string& generation = "2026-08") {
  return {.name = "test", .masters = std::move(masters), .runners = runners, .changelog = "perf-changelog.yaml", .generation = generation, .format = format()};
}

/// The catalogue under `folder`: these masters in this order, and the runners file.
inline Catalogue load(const std::filesystem::path& folder, const std::vector<std::string>& masters, const std::string& runners) {
  const Layout layout = layout_of(masters, runners);
  std::map<std::string, std::string> texts;
  for (const std::string& master : masters) texts[master] = slurp(folder / master);
  texts[runners] = slurp(folder / runners);
  auto catalogue = Catalogue::read(layout, texts);
  EXPECT_TRUE(catalogue) << catalogue.error().message;
  return std::move(*catalogue);
}

/// A catalogue of one master text, and of one runners text when there is any.
inline Catalogue of_text(const std::string& yaml, const std::string& runners = {}) {
  std::map<std::string, std::string> texts{{"m.yaml", yaml}};
  if (!runners.empty()) texts["r.yaml"] = runners;
  auto catalogue = Catalogue::read(layout_of({"m.yaml"}), texts);
  EXPECT_TRUE(catalogue) << catalogue.error().message;
  return std::move(*catalogue);
}

}  // namespace pawl::plan::testing
