// The ledger: reader, gate, strict check, append, merge. Input: base, the byte 0xFF, head. Whatever is accepted keeps every byte of history.
#include <string>

#include "changelog/added_text.h"
#include "changelog/gate.h"
#include "changelog/ledger.h"
#include "changelog/merge.h"
#include "changelog/rule.h"
#include "changelog/strict.h"
#include "codec/yaml.h"
#include "fuzz_target.h"

namespace pawl::fuzz {

const std::size_t kInputMax = 384;

namespace {

using namespace changelog;

const Entry kEntry{{"a-b"}, {"Update"}, "XXX"};

/// Appending keeps every byte, adds one entry, and leaves what the old entries say alone.
void append_is_safe(const std::string& base) {
  const auto after = append(base, kEntry, "f");
  if (!after) return;
  PAWL_FUZZ_CHECK(after->starts_with(base) && after->size() > base.size());
  const auto before_document = codec::parse_yaml(base, "f"), document = codec::parse_yaml(*after, "f");
  PAWL_FUZZ_CHECK(before_document && document);
  const auto before_values = codec::yaml_value(*before_document, before_document->root), values = codec::yaml_value(*document, document->root);
  const std::size_t old = before_document->root.items.size();
  PAWL_FUZZ_CHECK(document->root.items.size() == old + 1);
  if (!before_values || !values) return;
  for (std::size_t i = 0; i < old; ++i) PAWL_FUZZ_CHECK((*values)[i] == (*before_values)[i]);
  PAWL_FUZZ_CHECK((*values)[old]["config-keys"][0] == "a-b");
  PAWL_FUZZ_CHECK(check_appended(base, *after, "a-b", "f"));
}

void strict_is_safe(const std::string& base, const std::string& head) {
  const auto changes = check_strict(base, head, 7);
  if (!changes) {
    PAWL_FUZZ_CHECK(!rule_of(changes.error()).empty());
    return;
  }
  if (changes->additions > 0) PAWL_FUZZ_CHECK(head.starts_with(base));
  if (changes->additions == 0 && changes->corrections.empty()) PAWL_FUZZ_CHECK(head == base);
  const MergeTarget target{7};
  if (const auto prepared = canonicalize(base, head, target)) {
    PAWL_FUZZ_CHECK(changes->additions == 0 ? *prepared == head : prepared->starts_with(base));
    PAWL_FUZZ_CHECK(check_strict(base, *prepared, 7));
  }
  if (const auto merged = resolve_conflict(base, head, base, target)) {
    if (changes->additions > 0) PAWL_FUZZ_CHECK(merged->starts_with(base));
    PAWL_FUZZ_CHECK(check_strict(base, *merged, 7));
  }
}

void gate_is_safe(const std::string& base, const std::string& head) {
  for (const bool compat : {false, true}) {
    const auto added = gate_additions({base, head, {}, "f", compat});
    if (!added) {
      PAWL_FUZZ_CHECK(!added.error().message.empty());
      continue;
    }
    PAWL_FUZZ_CHECK(!added->empty() && base != head && head.ends_with('\n'));
    for (const LedgerEntry& entry : *added) {
      PAWL_FUZZ_CHECK(!entry.config_keys.empty() && !entry.description.empty());
      PAWL_FUZZ_CHECK(entry.place.line >= 1);
      (void)entry_json(entry);
    }
  }
}

}  // namespace

bool one_input(std::string_view input) {
  const auto cut = input.find('\xFF');
  const std::string base(input.substr(0, cut));
  std::string head(cut == std::string_view::npos ? std::string_view() : input.substr(cut + 1));
  if (head.starts_with('+')) head = base + head.substr(1);  // what most heads are
  append_is_safe(base);
  strict_is_safe(base, head);
  gate_is_safe(base, head);
  return true;
}

}  // namespace pawl::fuzz
