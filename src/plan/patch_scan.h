#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::plan {

/// A place where the engine of an image is changed when it starts.
struct PatchFinding {
  enum class Kind {
    kPackageEdit,  ///< files of an installed package are edited, patched or written over
    kWheel,        ///< a wheel, a revision or a source tree is installed
    kOverlay       ///< files are laid over the image: PYTHONPATH, bind mounts
  };
  Kind kind = Kind::kPackageEdit;
  std::string file;
  int line = 0;      ///< from 1
  std::string text;  ///< the line, trimmed, at most 160 bytes
};

/// Finds them in a launch or setup script, or in a recipe file (by the name's ending). A heuristic on single lines:
/// it names what a person should look at, and proves nothing by silence.
[[nodiscard]] std::vector<PatchFinding> scan_patches(std::string_view text, const std::string& file);

/// "package edit", "wheel", "overlay"
[[nodiscard]] std::string_view name_of(PatchFinding::Kind kind);

}  // namespace pawl::plan
