#include "twin/faults.h"

#include <fmt/format.h>

#include <cmath>

#include "codec/describe.h"
#include "codec/yaml.h"

namespace pawl::twin {
namespace {

struct File {
  std::vector<Fault> faults;
};
BOOST_DESCRIBE_STRUCT(File, (), (faults))

Status check(Fault& f, const std::string& where) {
  const auto wrong = [&](const std::string& what) -> Status { return bad_input(fmt::format("{} ({}): {}", where, codec::enum_text(f.kind), what)); };
  if (std::isnan(f.share)) f.share = 1;
  if (!(f.share >= 0 && f.share <= 1)) return wrong("share must be 0 to 1");
  const auto needs = [&](bool there, const char* what) -> Status { return there ? Status{} : wrong(fmt::format("{} is needed", what)); };
  switch (f.kind) {
    case FaultKind::kLateStart:
    case FaultKind::kSlowFirstRequest:
      return needs(f.seconds >= 0 && f.seconds <= 86400, "seconds (0 to 86400)");
    case FaultKind::kOutOfMemory:
      return needs(f.at == "load" || f.at == "graph-capture", "at: load or graph-capture");
    case FaultKind::kRejectFlag:
      return needs(f.flag.has_value(), "flag");
    case FaultKind::kAmbiguousFlag:
      return needs(f.flag && f.could_match && f.could_match->size() > 1, "flag, and could_match with two names or more,");
    case FaultKind::kHang:
      return needs(f.after_requests.value_or(-1) >= 0, "after_requests");
    case FaultKind::kOverload:
      if (f.status && (*f.status < 400 || *f.status > 599)) return wrong("status must be 400 to 599");
      if (f.after_requests && *f.after_requests < 0) return wrong("after_requests must not be negative");
      return {};
    case FaultKind::kMalformedChunk:
      if (f.at && *f.at != "json" && *f.at != "framing") return wrong("at must be json or framing");
      [[fallthrough]];
    case FaultKind::kCutStream:
      return needs(f.after_tokens.value_or(-1) >= 0, "after_tokens");
    case FaultKind::kDegrade:
      return needs(f.per_minute > 0 && f.per_minute <= 1e6, "per_minute (above 0)");
    case FaultKind::kLeak:
      return needs(f.tokens_per_request.value_or(0) > 0, "tokens_per_request");
    case FaultKind::kRestart:
      if (!(f.seconds >= 0 && f.seconds <= 3600)) return wrong("seconds (0 to 3600) is needed");
      return needs(f.after_requests.value_or(-1) >= 0, "after_requests");
    case FaultKind::kSlowRank:
      if (f.rank.value_or(-1) < 0) return wrong("rank is needed");
      return needs(f.factor >= 1 && f.factor <= 1000, "factor (1 to 1000)");
    case FaultKind::kLogLine:
      if (!f.text || f.text->empty() || f.text->size() > 10000) return wrong("text (up to 10000 bytes) is needed");
      if (f.after_requests && *f.after_requests < 0) return wrong("after_requests must not be negative");
      return needs(f.after_requests || f.at == "start" || f.at == "ready", "at (start or ready) or after_requests");
    case FaultKind::kWrongAnswers:
    case FaultKind::kNoInstances:
      return {};
  }
  return {};
}

}  // namespace

Result<std::vector<Fault>> read_faults(std::string text, const std::string& file) {
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(std::move(text), file));
  PAWL_ASSIGN(const codec::Json value, codec::yaml_value(document, document.root));
  PAWL_ASSIGN(File read, codec::from_json<File>(value, file));
  for (std::size_t i = 0; i < read.faults.size(); ++i) PAWL_TRY(check(read.faults[i], fmt::format("{}: faults[{}]", file, i)));
  return std::move(read.faults);
}

}  // namespace pawl::twin
