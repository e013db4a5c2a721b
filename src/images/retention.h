#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "images/image_choice.h"

namespace pawl::images {

/// How long tags of one repository and grammar live: so many of the newest, or so many days.
struct RetentionRule {
  std::string repository, grammar;
  std::optional<std::int64_t> keep_newest, keep_days;
  std::string source;
};
BOOST_DESCRIBE_STRUCT(RetentionRule, (), (repository, grammar, keep_newest, keep_days, source))

/// How long one tag is still safe.
struct Lifetime {
  std::string rule;                 ///< in words, with its source; empty when no rule is known
  std::optional<double> days_left;  ///< from `now`; 0 when it may vanish at any moment; absent: no limit known, or not computable
  std::string basis;                ///< how the days were found, or why they could not be
};
BOOST_DESCRIBE_STRUCT(Lifetime, (), (rule, days_left, basis))

[[nodiscard]] Result<std::vector<RetentionRule>> parse_retention(const std::string& text, const std::string& name);

/// The expected remaining life of `tag` in this repository, from its rank among the listed tags of its grammar and variant and
/// from their rhythm (keep_newest), or from its age (keep_days). Pure.
[[nodiscard]] Lifetime lifetime_of(const std::vector<RetentionRule>& rules, const TagGrammars& grammars, const std::string& repository, const std::string& tag,
                                   const std::vector<ListedTag>& tags, WallTime now);

}  // namespace pawl::images
