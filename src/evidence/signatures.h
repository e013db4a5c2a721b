#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "codec/pattern.h"
#include "evidence/literal_set.h"

namespace pawl::evidence {

/// What a line says. docs/evidence.md, "Signatures", has what becomes of each.
enum class SignatureKind { kStart, kReady, kShutdown, kRoutine, kHttp, kTraceback, kCrash, kDeprecation, kFact, kSettings, kSuspect };
BOOST_DESCRIBE_ENUM(SignatureKind, kStart, kReady, kShutdown, kRoutine, kHttp, kTraceback, kCrash, kDeprecation, kFact, kSettings, kSuspect)

/// One row of data/evidence. The literals are looked for in the whole line, the pattern in the message behind its prefixes.
struct Signature {
  SignatureKind kind = SignatureKind::kRoutine;
  int engine = 0;         ///< index into `SignatureBook::engines`; 0: all of them
  std::string name;       ///< of a fact or of a list of settings
  bool count = false;     ///< fact: the value is a list; its length counts
  bool progress = false;  ///< fact: from a progress bar; the last one counts
  std::optional<codec::Pattern> pattern;
  /// Numbers of the groups, 0 (the whole match) when the pattern has none of that name.
  std::size_t value = 0, list = 0, was = 0, now = 0, method = 0, path = 0, status = 0;
};

struct Prefix {
  int engine = 0;
  codec::Pattern pattern;
  std::size_t time = 0, level = 0, process = 0, pid = 0;  ///< numbers of groups; 0: none
};

/// The signatures of all engines, from data/evidence/*.yaml. Immutable; cheap to share by reference.
class SignatureBook {
 public:
  /// `files`: names and texts, "common" first by its own key. Errors carry the file and what is wrong.
  [[nodiscard]] static Result<SignatureBook> parse(const std::vector<std::pair<std::string, std::string>>& files);

  std::vector<std::string> engines;  ///< [0] is "common"
  std::vector<Signature> signatures;
  std::vector<Prefix> prefixes;
  LiteralSet literals;
  std::vector<std::vector<int>> signatures_of;  ///< by literal
  std::vector<std::vector<int>> engines_of;     ///< by literal: engines that it gives away
};

}  // namespace pawl::evidence
