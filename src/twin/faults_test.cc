#include "twin/faults.h"

#include <gtest/gtest.h>

namespace pawl::twin {
namespace {

TEST(Faults, AreReadWithTheirKeys) {
  const auto faults = read_faults("faults:\n  - {kind: cut-stream, after_tokens: 5, share: 0.1}\n  - {kind: log-line, at: ready, text: \"a\\nb\"}\n", "f.yaml");
  ASSERT_TRUE(faults) << faults.error().message;
  ASSERT_EQ(faults->size(), 2u);
  EXPECT_EQ(faults->at(0).kind, FaultKind::kCutStream);
  EXPECT_EQ(faults->at(0).after_tokens, 5);
  EXPECT_EQ(faults->at(0).share, 0.1);
  EXPECT_EQ(faults->at(1).share, 1) << "absent: all";
  EXPECT_EQ(faults->at(1).text, "a\nb");
  EXPECT_TRUE(read_faults("faults: []\n", "f.yaml")->empty());
}

TEST(Faults, WhatAFaultLacksIsNamedWithItsPlace) {
  const std::pair<const char*, const char*> wrong[] = {
      {"kind: late-start, seconds: -1", "seconds"},
      {"kind: out-of-memory, at: noon", "at: load or graph-capture"},
      {"kind: reject-flag", "flag is needed"},
      {"kind: ambiguous-flag, flag: --a, could_match: [--a1]", "could_match with two"},
      {"kind: hang", "after_requests is needed"},
      {"kind: overload, status: 200", "status must be 400 to 599"},
      {"kind: overload, after_requests: -1", "after_requests must not be negative"},
      {"kind: cut-stream", "after_tokens is needed"},
      {"kind: malformed-chunk, after_tokens: 1, at: sea", "at must be json or framing"},
      {"kind: degrade, per_minute: 0", "per_minute"},
      {"kind: leak", "tokens_per_request is needed"},
      {"kind: restart, after_requests: 1, seconds: -2", "seconds (0 to 3600)"},
      {"kind: slow-rank, rank: 0, factor: 0.5", "factor (1 to 1000)"},
      {"kind: slow-rank, factor: 2", "rank is needed"},
      {"kind: log-line, at: ready", "text"},
      {"kind: log-line, text: x", "at (start or ready) or after_requests"},
      {"kind: overload, share: 1.5", "share must be 0 to 1"},
  };
  for (const auto& [text, message] : wrong) {
    const auto read = read_faults(std::string("faults:\n  - {kind: no-instances}\n  - {") + text + "}\n", "f.yaml");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().message.find("f.yaml: faults[1] ("), 0u) << read.error().message;
    EXPECT_NE(read.error().message.find(message), std::string::npos) << read.error().message;
  }
  EXPECT_FALSE(read_faults("faults:\n  - {kind: earthquake}\n", "f.yaml"));
  EXPECT_FALSE(read_faults("faults:\n  - {kind: hang, after_requests: 1, color: red}\n", "f.yaml"));
}

}  // namespace
}  // namespace pawl::twin
