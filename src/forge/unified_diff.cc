#include "forge/unified_diff.h"

#include "forge/git_handle.h"

namespace pawl::forge {

Result<std::string> unified_diff(const std::string& path, std::optional<std::string_view> before, std::optional<std::string_view> after) {
  use_git();
  if (before == after) return std::string();
  // libgit2 takes an absent buffer for an absent file, and an empty view may have no address.
  const auto bytes = [](const std::optional<std::string_view>& side) -> const char* { return !side ? nullptr : side->empty() ? "" : side->data(); };
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  GitPatch patch;
  int rc = git_patch_from_buffers(patch.out(), bytes(before), before ? before->size() : 0, path.c_str(), bytes(after), after ? after->size() : 0, path.c_str(),
                                  &options);
  if (rc < 0) return git_trouble(rc, "comparing two texts of " + path);
  GitText text;
  rc = git_patch_to_buf(text.out(), patch.get());
  if (rc < 0) return git_trouble(rc, "writing the difference of " + path);
  return std::string(text.view());
}

}  // namespace pawl::forge
