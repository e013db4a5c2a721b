#pragma once

#include <string>

#include "io/domain/capacity_source.h"
#include "runner/local_sweep_runner.h"
#include "workbench.h"

namespace pawl::app {

/// Ways in which `pawl demo --break` lets an upgrade meet trouble. All of them are staged, and said to be.
enum class Breakage {
  kNone,
  kFlag,      ///< the recipe passes a launch flag that the new image does not know
  kCapacity,  ///< the cluster is full when the final sweep is due
  kAccuracy   ///< the new image answers wrongly
};
BOOST_DESCRIBE_ENUM(Breakage, kNone, kFlag, kCapacity, kAccuracy)

/// The catalogue with the staged launch flag in the recipe's script. Errors: the recipe has no script to put it in.
[[nodiscard]] Result<CatalogueFolder> with_old_flag(CatalogueFolder catalogue, const std::string& recipe);

/// Room until a smoke run has succeeded, none afterwards. Decided from the runs in the database, so that a resumed demo
/// meets the same.
class FullAfterSmoke final : public io::CapacitySource {
 public:
  explicit FullAfterSmoke(store::Database& database) : database_(database) {}
  Result<io::Capacity> check(const std::string& runner, std::int64_t below_percent) override;

 private:
  store::Database& database_;
};

/// Engines of `base`, but those of `image` answer wrongly.
[[nodiscard]] runner::EngineSource inaccurate_engines(runner::EngineSource base, std::string image);

}  // namespace pawl::app
