#include "changelog/history.h"

#include <algorithm>

#include "base/text.h"

namespace pawl::changelog {
namespace {

bool siblings(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return a.size() < b.size() && b.starts_with(a) && b[a.size()] == '-';
}

}  // namespace

Touch touch_of(const LedgerEntry& entry, std::string_view glob, const std::vector<std::string>& known) {
  Touch touch = Touch::kNone;
  for (const std::string& key : entry.config_keys) {
    const bool wild = key.contains('*');
    // A wildcard's `?` is literal, but no key of the field has one.
    if (!wild && glob_match(glob, key)) return Touch::kKey;
    if (wild && known.empty() && glob_match(key, glob)) return Touch::kKey;
    for (const std::string& wanted : known) {
      if (!glob_match(glob, wanted)) continue;
      if (wild && glob_match(key, wanted)) return Touch::kKey;
      if (!wild && siblings(key, wanted)) touch = Touch::kSibling;
    }
    if (!wild && glob.find_first_of("*?") == std::string_view::npos && siblings(key, glob)) touch = Touch::kSibling;
  }
  return touch;
}

}  // namespace pawl::changelog
