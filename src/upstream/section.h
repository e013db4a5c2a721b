#pragma once

#include <string>

#include "upstream/audit.h"

namespace pawl::upstream {

enum class Language { kEnglish, kChinese };

/// How long the lists are that concern options the recipe does not use.
struct SectionLength {
  std::size_t options = 20;  ///< new options, other changes, dependencies that are not coupled: then a count
  std::size_t defaults = 40;
};

/// The upstream comparison of an attempt as Markdown: flags, defaults, dependencies, moves, new options, doubts, each with
/// file and line. Both languages have the same numbers and identifiers. Text from the sources is cut and on one line, `@` and
/// control characters removed.
[[nodiscard]] std::string section(const AuditReport& report, Language language, const SectionLength& length = {});

/// One line for people: "22 flags: 18 defined, 2 alias, 2 deprecated; nothing breaks".
[[nodiscard]] std::string headline(const AuditReport& report);

/// The report as JSON, `schema` first.
[[nodiscard]] codec::Json audit_json(const AuditReport& report);

}  // namespace pawl::upstream
