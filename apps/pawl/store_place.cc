#include "store_place.h"

#include <fmt/format.h>

#include "results/result_store.h"
#include "store/workspace.h"

namespace pawl::app {

void StorePlace::add_to(CLI::App& app) {
  app.add_option("--store", place, "SQLite file or postgresql://… with the results (default: pawl.db of the workspace)")->envname("PAWL_STORE");
}

Result<std::string> StorePlace::resolve(World& world, const CommonFlags& common) const {
  if (!place.empty()) return place;
  PAWL_ASSIGN(const store::Workspace workspace, store::Workspace::open(world.files, common.workspace));
  return workspace.database().string();
}

Result<store::Database> StorePlace::open(World& world, const CommonFlags& common) const {
  PAWL_ASSIGN(const std::string where, resolve(world, common));
  return store::Database::open_place(where, {results::results_schema()});
}

std::string shown_place(const std::string& place) {
  const auto scheme = place.find("://");
  const auto at = place.find('@');
  if (scheme == std::string::npos || at == std::string::npos) return place;
  const auto colon = place.find(':', scheme + 3);
  return colon < at ? place.substr(0, colon) + place.substr(at) : place;
}

Result<AnswerPlace> open_answers(World& world, const CommonFlags& common, const StorePlace& store, const std::string& from) {
  AnswerPlace out;
  PAWL_ASSIGN(results::ModelNames names, results::ModelNames::load(*world.assets));
  out.names = std::make_unique<results::ModelNames>(std::move(names));
  if (from.starts_with("http://") || from.starts_with("https://")) {
    out.source = results::answers_of_server(from, world.clock, world.stop);
    return out;
  }
  std::error_code ignored;
  if (!from.empty() && std::filesystem::is_directory(from, ignored)) {
    results::IngestCounts counts;
    PAWL_ASSIGN(out.source, results::answers_of_folder(world.files, from, *out.names, counts));
    return out;
  }
  const StorePlace place = from.empty() ? store : StorePlace{from};
  PAWL_ASSIGN(const std::string where, place.resolve(world, common));
  // Reading must not make a store where a name is misspelt.
  if (where.find("://") == std::string::npos && !world.files.exists(where)) {
    return not_found(fmt::format("{} does not exist", where), "a server (http://…), a folder with a dump or saved answers, or a store is wanted");
  }
  PAWL_ASSIGN(store::Database database, store::Database::open_place(where, {results::results_schema()}));
  out.database = std::make_unique<store::Database>(std::move(database));
  out.source = results::answers_of_store(*out.database, *out.names, shown_place(where));
  return out;
}

}  // namespace pawl::app
