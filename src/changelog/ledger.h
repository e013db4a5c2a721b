#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::changelog {

/// One entry of the append-only ledger, as pawl writes them.
struct Entry {
  std::vector<std::string> config_keys;
  std::vector<std::string> description;
  std::string pr_link;  ///< "XXX" while there is no request yet
};
BOOST_DESCRIBE_STRUCT(Entry, (), (config_keys, description, pr_link))

/// What an entry may say beyond its keys: which part of the work it asks for (recipes-matrix-changelog 11.2).
struct EntryModifiers {
  bool evals_only = false, all_evals = false, append_only = false;
  bool no_evals = false;  ///< generations from 2026-09a on
  std::optional<std::int64_t> eval_min_prefill_ep;
  std::vector<std::string> scenario_type;  ///< empty: both
};

/// The entry's text: block style, `- config-keys:` at column 0, one line end at its end, no blank line around it.
[[nodiscard]] std::string write_entry(const Entry& entry, const EntryModifiers& modifiers = {});

/// `base` plus the entry: every byte of base is a prefix, exactly one blank line stands between, exactly one line end
/// at the end; the old entries say what they said. Errors: base does not end in a line end, is not a list, or ends in a way that an
/// addition would change (kept line ends of block text, a list in brackets, an end marker); modifiers that exclude each other (C-04).
[[nodiscard]] Result<std::string> append(const std::string& base, const Entry& entry, const std::string& file, const EntryModifiers& modifiers = {});

/// The gate for an appended entry: `head` must be `base` plus one entry in the form above that names exactly
/// `config_key` and carries no eval or scenario modifier. Errors (kInvalid) say which rule and where.
[[nodiscard]] Status check_appended(const std::string& base, const std::string& head, const std::string& config_key, const std::string& file);

/// One sentence for an image bump, at most 120 characters: the long form names both images, the short one the new.
[[nodiscard]] std::string bump_description(std::string_view engine, std::string_view from, std::string_view to);

}  // namespace pawl::changelog
