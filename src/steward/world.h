#pragma once

#include <functional>
#include <string>
#include <vector>

#include "control/decide.h"
#include "io/assets.h"
#include "io/clock.h"
#include "io/domain/capacity_source.h"
#include "io/domain/forge.h"
#include "io/domain/planner.h"
#include "io/domain/results_source.h"
#include "io/domain/sweep_runner.h"
#include "io/progress.h"
#include "store/database.h"

namespace pawl::steward {

class CatalogueCache;

/// Something that was taken in: told to `StewardWorld::observer` after it is durable.
struct Taken {
  const control::Candidate& before;
  const control::Event& event;
  const control::Decision& decision;
};

/// What the steward works with. References and pointers outlive it.
struct StewardWorld {
  store::Database& database;
  const io::Clock& clock;
  const io::Assets& assets;
  io::Forge& forge;
  io::SweepRunner& runner;
  io::ResultsSource& results;
  io::CapacitySource& capacity;
  io::Planner* planner = nullptr;  ///< null: nothing is repaired
  io::Progress& progress;
  /// Asked from another thread while a run is awaited: has somebody closed this request? May be empty.
  std::function<bool(std::int64_t request)> closed_by_person = {};
  /// Whether the registry still has an image; asked before every dispatch. Empty: not asked.
  std::function<Result<bool>(const std::string& image)> image_there = {};
  std::string holder = "pawl";  ///< names this process and no other
  /// Nobody else can be at work on this database (the workspace is locked): leases of other holders are dead ones.
  bool alone = true;
  CatalogueCache* catalogues = nullptr;                            ///< shared between stewards of one thread; null: its own
  const std::vector<control::Transition>* table = nullptr;         ///< tests only; null: the shipped machine
  std::function<void(const Taken&)> observer = {};                 ///< tests only
  std::function<Status(const control::Command&)> defect = {};      ///< tests only: fails a command before it does anything
  std::int64_t capacity_fresh_s = control::kCapacityFreshSeconds;  ///< tests only
};

}  // namespace pawl::steward
