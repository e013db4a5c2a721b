#include "forge/git_handle.h"

#include <fmt/format.h>

namespace pawl::forge {

void use_git() {
  static const bool once = [] {
    git_libgit2_init();
    git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
    return true;
  }();
  static_cast<void>(once);
}

Error git_trouble(int code, std::string_view doing) {
  const git_error* last = git_error_last();
  const std::string message = fmt::format("git: {}: {}", doing, last != nullptr && last->message != nullptr ? last->message : "unknown trouble");
  switch (code) {
    case GIT_ENOTFOUND:
      return not_found(message);
    case GIT_EEXISTS:
    case GIT_EMODIFIED:
    case GIT_ELOCKED:
      return {ErrorClass::kConflict, ExitStatus::kPeer, message, "somebody else writes to this repository; run the command again"};
    case GIT_EINVALIDSPEC:
    case GIT_EAMBIGUOUS:
      return bad_input(message);
    case GIT_EOWNER:
      return machine_error(message, "the repository must belong to the user that runs pawl");
    default:
      break;
  }
  if (last != nullptr && last->klass == GIT_ERROR_OS) return machine_error(message, "look at free disk space and the permissions of the workspace");
  return run_failed(message);
}

}  // namespace pawl::forge
