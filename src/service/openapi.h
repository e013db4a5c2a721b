#pragma once

#include <string>

#include "results/model_names.h"

namespace pawl::service {

/// The OpenAPI 3.1 document of the API, made from the route table (`results::ResultsApi::routes`). It names the models that
/// the table of names knows.
[[nodiscard]] std::string openapi_document(const std::string& version, const results::ModelNames& names);

}  // namespace pawl::service
