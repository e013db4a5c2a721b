#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "codec/internal/yaml_storage.h"
#include "codec/yaml.h"

namespace pawl::codec::internal {

/// Reads a document in the form in which nearly every catalogue is written, several times as fast as over libyaml's events:
/// block mappings and lists, plain and quoted scalars on one line without escapes, flow collections on one line, comments.
/// Whatever is not surely of this form (an anchor, a tag, a directive, text over several lines, a tab, something wrong) gives
/// nothing, and libyaml decides. What is given is the tree that libyaml's events lead to, places included: the fuzzer and
/// the tests compare the two.
[[nodiscard]] std::optional<YamlNode> read_usual_form(YamlStorage& storage, const YamlLimits& limits);

/// `parse_yaml` over libyaml's events alone.
[[nodiscard]] Result<YamlDocument> parse_by_events(std::string bytes, std::string name, const YamlLimits& limits = {});

/// Equal in everything that a node says, places and tags included, at every depth.
[[nodiscard]] bool yaml_identical(const YamlNode& a, const YamlNode& b);

}  // namespace pawl::codec::internal
