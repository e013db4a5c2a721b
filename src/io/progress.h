#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace pawl::io {

/// One thing that long work tells whoever watches it.
struct ProgressLine {
  std::string stage;    ///< stable word for programs: "baseline", "smoke", "job", "cr"…
  std::string message;  ///< for people, one line
  std::optional<std::int64_t> done = {};
  std::optional<std::int64_t> total = {};
  std::map<std::string, double> numbers = {};  ///< what else programs may want to know, units in the names
};

/// Where progress goes: a terminal, lines of JSON, nowhere. Thread-safe; must not fail the work.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void report(const ProgressLine& line) = 0;
};

/// For callers that do not watch.
class NoProgress final : public Progress {
 public:
  void report(const ProgressLine&) override {}
};

}  // namespace pawl::io
