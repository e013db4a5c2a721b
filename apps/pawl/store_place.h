#pragma once

#include <memory>
#include <string>

#include "cli.h"
#include "results/answer_source.h"
#include "results/model_names.h"
#include "store/database.h"

namespace pawl::app {

/// Which store a command works on: that of the workspace unless --store (or PAWL_STORE) names another.
struct StorePlace {
  std::string place;
  void add_to(CLI::App& app);
  /// The file or URL. Errors: there is no workspace.
  [[nodiscard]] Result<std::string> resolve(World& world, const CommonFlags& common) const;
  /// Opened, with the results tables moved to their newest version.
  [[nodiscard]] Result<store::Database> open(World& world, const CommonFlags& common) const;
};

/// A place without the password that a URL may hold, for people.
[[nodiscard]] std::string shown_place(const std::string& place);

/// Where a command reads answers of the results API: a server (http…), a folder with a dump or saved answers, else a store.
/// Owns what the source reads from.
struct AnswerPlace {
  std::unique_ptr<results::ModelNames> names;
  std::unique_ptr<store::Database> database;  ///< of a store
  std::unique_ptr<results::AnswerSource> source;
};
/// `from` empty: the store.
[[nodiscard]] Result<AnswerPlace> open_answers(World& world, const CommonFlags& common, const StorePlace& store, const std::string& from);

}  // namespace pawl::app
