#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::changelog {

/// A broken rule of the ledger. `rule` is an id of the contract ("C-20"); it stands at the front of the message, so that
/// people can look it up and programs can tell rules apart. The exit status is that of a refused gate.
[[nodiscard]] Error broken(std::string_view rule, std::string_view what);
/// The same, at the line of `bytes` that holds the byte `at`. `name` is the file as people know it.
[[nodiscard]] Error broken_at(std::string_view rule, std::string_view what, const std::string& name, std::string_view bytes, std::size_t at);

/// The rule that an error of this module names, empty when it names none.
[[nodiscard]] std::string rule_of(const Error& error);

/// The place of the byte `at`: its line, column 1 and the line as it is shown.
[[nodiscard]] SourcePlace line_place(const std::string& name, std::string_view bytes, std::size_t at);

}  // namespace pawl::changelog
