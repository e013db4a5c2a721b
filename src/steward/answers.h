#pragma once

#include <string>
#include <utility>

#include "steward/performer.h"

/// Short forms of the answers that commands give.
namespace pawl::steward {

inline constexpr const char* kAuthor = "pawl";
inline constexpr const char* kCommitAuthor = "pawl <pawl@localhost>";

[[nodiscard]] inline Answer done() { return {}; }
[[nodiscard]] inline Answer happened(control::EventKind kind) { return {control::Event{.kind = kind}}; }
[[nodiscard]] inline Answer refused(control::EventKind kind, model::Outcome outcome, std::string reason, std::string detail) {
  return {control::Event{.kind = kind, .reason = std::move(reason), .detail = std::move(detail), .outcome = outcome}};
}

}  // namespace pawl::steward
