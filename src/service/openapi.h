#pragma once

#include <string>

namespace pawl::service {

/// The OpenAPI 3.1 document of the API, made from the route table (`results::ResultsApi::routes`).
[[nodiscard]] std::string openapi_document(const std::string& version);

}  // namespace pawl::service
