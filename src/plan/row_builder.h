#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/catalogue.h"
#include "plan/typing.h"

namespace pawl::plan {

/// Builds the rows of one recipe's search-space entries in the layouts of section 8. Looks up kebab-case keys only, as
/// the reference does; a key that is missing there is an error with the entry's place.
class RowBuilder {
 public:
  /// `config`: the recipe's raw values; has to outlive the builder.
  RowBuilder(const Catalogue& catalogue, const Recipe& recipe, const codec::Json& config) : catalogue_(catalogue), recipe_(recipe), config_(config) {}

  /// A fixed-seq-len item under expansion.
  struct Lengths {
    codec::Json isl, osl, max_model_len;  ///< raw, raw, computed
    std::string exp_name;
  };
  [[nodiscard]] Result<Lengths> lengths(const codec::Json& item, const codec::YamlNode& node) const;

  [[nodiscard]] Result<codec::Json> single_fixed(const codec::Json& entry, const codec::YamlNode& node, const Lengths& lengths) const;
  [[nodiscard]] Result<codec::Json> multi_fixed(const codec::Json& entry, const codec::YamlNode& node, const Lengths& lengths) const;
  [[nodiscard]] Result<codec::Json> single_agentic(const codec::Json& item, const codec::Json& entry, const codec::YamlNode& node) const;
  [[nodiscard]] Result<codec::Json> multi_agentic(const codec::Json& item, const codec::Json& entry, const codec::YamlNode& node) const;

  /// The experiment name of an agentic row made by the two above, at this concurrency.
  [[nodiscard]] static std::string agentic_name(const codec::Json& row, const codec::Json& conc);

  /// An error about this recipe at this node.
  [[nodiscard]] Error wrong(const codec::YamlNode& node, std::string message, std::string remedy = {}) const;
  /// The raw value of a key that the generator cannot do without.
  [[nodiscard]] Result<const codec::Json*> need(const codec::Json& mapping, const char* key, const codec::YamlNode& node) const;

 private:
  [[nodiscard]] Result<codec::Json> head() const;
  [[nodiscard]] Result<codec::Json> worker(const codec::Json& entry, const char* role, const codec::YamlNode& node) const;
  [[nodiscard]] Result<std::int64_t> dram(const codec::Json& item, const codec::Json& entry, const codec::Json& row, const codec::YamlNode& node) const;
  [[nodiscard]] Status transfer(const codec::Json& entry, const codec::YamlNode& node, codec::Json& row) const;
  void component(const codec::Json& entry, const char* name, codec::Json& row) const;

  const Catalogue& catalogue_;
  const Recipe& recipe_;
  const codec::Json& config_;
};

}  // namespace pawl::plan
