#pragma once

#include <boost/describe.hpp>
#include <string>
#include <vector>

#include "upstream/argument_schema.h"
#include "upstream/engine_profile.h"
#include "upstream/source_tree.h"

namespace pawl::upstream {

/// One component that a source pins or asks for.
struct Dependency {
  std::string name;         ///< normalised: lower case, runs of - _ . as one dash
  std::string requirement;  ///< "==2.11.0", ">=4.56.0", "13.0.1-devel-ubuntu24.04"
  std::string marker;       ///< condition of the requirement, empty when there is none
  Place place;
};
BOOST_DESCRIBE_STRUCT(Dependency, (), (name, requirement, marker, place))

/// Package names compare by this form.
[[nodiscard]] std::string normal_package(std::string_view name);

/// "name[extra]<op>version; marker" taken apart; an empty name when the text is no requirement.
[[nodiscard]] Dependency read_requirement(std::string_view text);

/// All of them: METADATA, pyproject.toml (lists of requirements), requirements*.txt, and of a Dockerfile the base image
/// and its ARG and ENV versions under the names of the profile. METADATA first: where it is there, it is what an
/// installation obeys.
[[nodiscard]] std::vector<Dependency> read_dependencies(const SourceTree& tree, const DependencyRule& rule);

}  // namespace pawl::upstream
