#pragma once

#include <functional>
#include <map>
#include <string>

#include "results/result_store.h"

namespace pawl::results {

/// The store as the tables of the public app's dump (api-dashboard 2.8): "configs.json" → its bytes, and so on. What
/// `import_folder` reads.
[[nodiscard]] Result<std::map<std::string, std::string>> dump_tables(ResultStore& store);

/// Every benchmark row as CSV (LF line ends): run, attempt, date, the 17 columns of its deployment, what was asked, image,
/// fingerprint, then every metric that any row has.
[[nodiscard]] Result<std::string> rows_as_csv(ResultStore& store);

}  // namespace pawl::results
