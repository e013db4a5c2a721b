#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::http {

/// Header fields in order; names compare without case.
using Fields = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] std::optional<std::string> find_field(const Fields& fields, std::string_view name);

struct Request {
  std::string method;                                      ///< upper case
  std::string path;                                        ///< decoded, starts with '/'
  std::vector<std::pair<std::string, std::string>> query;  ///< decoded, in order, repeated names kept
  Fields fields;
  std::string body;

  /// The first value of a query parameter.
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
};

struct Response {
  int status = 200;
  Fields fields;
  std::string body;
};

}  // namespace pawl::http
