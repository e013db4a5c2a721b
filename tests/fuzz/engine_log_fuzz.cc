// Logs of engines. Input: a log. However it is cut, and also when the reading is saved and gone on with, the evidence is the same; and it stays within its
// limits.
#include <string>

#include "codec/describe.h"
#include "evidence/difference.h"
#include "evidence/extraction.h"
#include "fuzz_target.h"
#include "posix/embedded_assets.h"

namespace pawl::fuzz {

const std::size_t kInputMax = 2048;

namespace {

const evidence::SignatureBook& book() {
  static const evidence::SignatureBook kBook = [] {
    const posix::EmbeddedAssets assets;
    std::vector<std::pair<std::string, std::string>> files;
    for (const std::string& name : assets.list("evidence/")) files.emplace_back(name, *assets.read(name));
    auto parsed = evidence::SignatureBook::parse(files);
    PAWL_FUZZ_CHECK(parsed);
    return std::move(*parsed);
  }();
  return kBook;
}

evidence::Limits small() {
  evidence::Limits limits;
  limits.line_bytes = 300;
  limits.notices = 6;
  limits.facts = limits.deprecations = limits.marked = limits.http_errors = 4;
  limits.settings = 8;
  limits.tracebacks = 3;
  limits.traceback_lines = 5;
  return limits;
}

}  // namespace

bool one_input(std::string_view input) {
  evidence::Extractor whole(book(), small());
  whole.feed(input);
  const evidence::Evidence found = whole.evidence();
  PAWL_FUZZ_CHECK(found.bytes == static_cast<std::int64_t>(input.size()));
  PAWL_FUZZ_CHECK(found.notices.size() <= 6 && found.facts.size() <= 4 && found.deprecations.size() <= 4 && found.settings.size() <= 8);
  PAWL_FUZZ_CHECK(found.tracebacks.size() <= 3 && found.crashes.size() <= 4 && found.suspects.size() <= 4 && found.http_errors.size() <= 4);
  for (const evidence::Traceback& one : found.tracebacks) PAWL_FUZZ_CHECK(one.lines.size() <= 5 && one.count > 0);
  // Cut where the input itself says.
  const std::size_t cut = input.empty() ? 0 : static_cast<unsigned char>(input[input.size() / 2]) * input.size() / 256;
  evidence::Extractor first(book(), small());
  first.feed(input.substr(0, cut));
  evidence::Extractor second(book(), small(), first.so_far(), first.position());
  second.feed(input.substr(cut));
  const evidence::Evidence again = second.evidence();
  PAWL_FUZZ_CHECK(codec::to_json(again) == codec::to_json(found));
  const evidence::Difference none = evidence::difference(found, again);
  PAWL_FUZZ_CHECK(none.facts.empty() && none.notices_new.empty() && none.notices_gone.empty() && none.deprecations_new.empty());
  (void)evidence::findings(found, &again);
  return !found.facts.empty() || !found.tracebacks.empty() || !found.deprecations.empty();
}

}  // namespace pawl::fuzz
