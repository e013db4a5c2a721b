#include "posix/embedded_assets.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "posix/internal/embedded_table.h"
#include "posix/real_files.h"

namespace pawl::posix {

Result<std::string> EmbeddedAssets::read(std::string_view name) const {
  if (!override_.empty()) {
    const std::filesystem::path path = override_ / name;
    const RealFiles files;
    if (files.exists(path)) return files.read(path);
  }
  for (std::size_t i = 0; i < kEmbeddedCount; ++i) {
    if (name == kEmbedded[i].name) return std::string(kEmbedded[i].begin, kEmbedded[i].end);
  }
  const auto slash = name.rfind('/');
  const auto near = list(name.substr(0, slash == std::string_view::npos ? 0 : slash + 1));
  return not_found(fmt::format("no data file {}", name), near.empty() ? "" : "there are: " + join(near, ", "));
}

std::vector<std::string> EmbeddedAssets::list(std::string_view prefix) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kEmbeddedCount; ++i) {
    if (std::string_view(kEmbedded[i].name).starts_with(prefix)) names.emplace_back(kEmbedded[i].name);
  }
  if (!override_.empty()) {
    if (auto more = RealFiles().list_tree(override_)) {
      for (std::string& name : *more) {
        if (name.starts_with(prefix)) names.push_back(std::move(name));
      }
    }
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

}  // namespace pawl::posix
