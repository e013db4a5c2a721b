#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/assets.h"

namespace pawl::results {

/// One raw key and how it is shown (api-dashboard 2.4.1).
struct ModelName {
  std::string key, display, label;
  std::vector<std::string> aliases;  ///< other prefixes that mean this key
  std::vector<std::string> paths;    ///< values of a row's `model` that mean this key
};

/// The table of model names, data/models.yaml. Immutable, thread-safe.
class ModelNames {
 public:
  /// Errors carry the place in the file: unknown member, repeated key, no display name.
  static Result<ModelNames> parse(std::string yaml, const std::string& name);
  static Result<ModelNames> load(const io::Assets& assets);

  /// The raw key of a row with this prefix and model path; nothing when the table does not know it.
  [[nodiscard]] std::optional<std::string> resolve(const std::string& prefix, const std::string& path) const;
  /// The display name of a raw key; the key itself when the table does not know it.
  [[nodiscard]] std::string display(const std::string& key) const;
  /// Whether any key has this display name. Case matters.
  [[nodiscard]] bool knows_display(const std::string& display) const;
  [[nodiscard]] const std::vector<ModelName>& all() const { return names_; }

 private:
  std::vector<ModelName> names_;
};

}  // namespace pawl::results
