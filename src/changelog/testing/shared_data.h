#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "changelog/process.h"
#include "codec/json.h"
#include "plan/catalogue.h"

// Reference data beside the project: golden outputs and cases. Absent in a checkout of the project alone.

namespace pawl::changelog::testing {

inline std::string shared(const std::string& path) { return std::string(PAWL_SOURCE_DIR) + "/../shared/" + path; }
inline std::string golden(const std::string& path) { return shared("data/inferencex/golden/" + path); }
inline bool have_shared() { return std::ifstream(golden("mini/changelog-verdicts.json")).good(); }

#define PAWL_NEEDS_SHARED_DATA() \
  if (!::pawl::changelog::testing::have_shared()) GTEST_SKIP() << "the reference data (shared/data/inferencex) is not here"

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string gunzip(const std::string& path) {
  std::FILE* pipe = ::popen(("gzip -dc '" + path + "'").c_str(), "r");
  std::string out;
  char buffer[65536];
  for (std::size_t n = 0; pipe != nullptr && (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  EXPECT_EQ(pipe == nullptr ? -1 : ::pclose(pipe), 0) << path;
  return out;
}

inline codec::Json json_file(const std::string& path) {
  auto json = codec::parse_json(read_file(path), path);
  EXPECT_TRUE(json) << path;
  return json ? *json : codec::Json();
}

/// A catalogue of three files; `amd` may be another version of its file.
inline Result<plan::Catalogue> catalogue_of(const std::string& amd, const std::string& nvidia, const std::string& runners) {
  auto format = plan::Format::read(read_file(std::string(PAWL_SOURCE_DIR) + "/data/catalog/layouts.yaml"),
                                   read_file(std::string(PAWL_SOURCE_DIR) + "/data/catalog/schema.yaml"));
  if (!format) return std::move(format).error();
  PAWL_ASSIGN(const plan::Layout layout, plan::Format::layout(*format, "root"));
  return plan::Catalogue::read(
      layout, {{layout.masters[0], read_file(amd)}, {layout.masters[1], read_file(nvidia)}, {layout.runners, read_file(runners)}, {layout.changelog, "[]\n"}});
}
inline Result<plan::Catalogue> mini_catalogue(const std::string& amd = "amd-master.yaml") {
  return catalogue_of(golden("mini/" + amd), golden("mini/nvidia-master.yaml"), golden("mini/runners.yaml"));
}
inline Result<plan::Catalogue> real_catalogue() {
  const std::string configs = shared("data/inferencex/configs/");
  return catalogue_of(configs + "amd-master.yaml", configs + "nvidia-master.yaml", configs + "runners.yaml");
}

inline std::string base64(const std::string& text) {
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned value = 0, bits = 0;
  for (const char c : text) {
    const auto digit = alphabet.find(c);
    if (digit == std::string::npos) continue;
    value = (value << 6) | static_cast<unsigned>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>((value >> bits) & 0xFF);
  }
  return out;
}

}  // namespace pawl::changelog::testing
