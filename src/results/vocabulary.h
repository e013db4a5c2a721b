#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "io/assets.h"
#include "results/model_names.h"

namespace pawl::results {

/// A framework name as the store keeps it.
struct FrameworkName {
  std::string key;
  bool known = false;
  bool disagg = false;          ///< the name itself says disaggregated
  bool disagg_default = false;  ///< disaggregated when the row does not say
};

/// The tables of names (api-dashboard 2.4): data/models.yaml and data/vocabulary.yaml. Immutable, thread-safe.
class Vocabulary {
 public:
  /// Errors carry the place in the file.
  static Result<Vocabulary> parse(std::string yaml, const std::string& name, ModelNames models);
  static Result<Vocabulary> load(const io::Assets& assets);

  [[nodiscard]] const ModelNames& models() const { return models_; }
  /// "cluster:b300-nv" → "b300", "h200_3" → "h200". Nothing when the registry does not know what is left.
  [[nodiscard]] std::optional<std::string> hardware(const std::string& raw) const;
  [[nodiscard]] FrameworkName framework(const std::string& raw) const;
  /// The key, and whether it is a known one.
  [[nodiscard]] std::pair<std::string, bool> precision(const std::string& raw) const;
  /// Empty is "none".
  [[nodiscard]] std::pair<std::string, bool> spec_method(const std::string& raw) const;

 private:
  ModelNames models_;
  std::set<std::string> hardware_, spec_methods_;
  std::map<std::string, FrameworkName> frameworks_;
  std::map<std::string, std::string> precisions_;
};

/// A `hw` without cluster, pool and index; the registry is not asked.
[[nodiscard]] std::string hardware_word(std::string hw);

}  // namespace pawl::results
