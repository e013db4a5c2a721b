#include "plan/patch_scan.h"

#include <algorithm>
#include <initializer_list>

#include "base/text.h"

namespace pawl::plan {
namespace {

using Kind = PatchFinding::Kind;

bool has_any(std::string_view line, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return line.contains(part); });
}

/// The kind of a line of a shell script, or none.
const Kind* script_line(std::string_view line) {
  static constexpr Kind kEdit = Kind::kPackageEdit, kWheel = Kind::kWheel, kOverlay = Kind::kOverlay;
  const bool package = has_any(line, {"site-packages", "dist-packages", "/sgl-workspace/", "/vllm-workspace/", ".__file__", "importlib.util.find_spec"});
  if (has_any(line, {"git apply", "patch -p", "patch --strip"})) return &kEdit;
  if (package && has_any(line, {"sed -i", "sed --in-place", "cp ", "mv ", "tee ", ">", "ln -s", "write_text", "patch "})) return &kEdit;
  if (has_any(line, {"pip install", "pip3 install", "uv pip install", "python -m pip install"}) &&
      has_any(line, {".whl", "git+", "--force-reinstall", "-e ", "--no-deps", "=="}))
    return &kWheel;
  if (has_any(line, {"mount --bind", "overlayfs", "export PYTHONPATH=", "PYTHONPATH=/"})) return &kOverlay;
  return nullptr;
}

/// The kind of a line of a recipe file, or none.
const Kind* recipe_line(std::string_view line) {
  static constexpr Kind kEdit = Kind::kPackageEdit, kWheel = Kind::kWheel, kOverlay = Kind::kOverlay;
  const std::string_view key = trim(line);
  const auto starts = [&](std::initializer_list<std::string_view> keys) {
    return std::ranges::any_of(keys, [&](std::string_view k) { return key.starts_with(k) && key.size() > k.size(); });
  };
  if (starts({"setup_script:", "patches:", "cargo_patches:"})) return &kEdit;
  if (starts({"wheel:", "hash:", "rev:", "top_of_tree: true"})) return &kWheel;
  if (starts({"PYTHONPATH:"}) || (key.contains("site-packages") || key.contains("dist-packages"))) return &kOverlay;
  return nullptr;
}

}  // namespace

std::string_view name_of(PatchFinding::Kind kind) {
  switch (kind) {
    case Kind::kPackageEdit:
      return "package edit";
    case Kind::kWheel:
      return "wheel";
    case Kind::kOverlay:
      return "overlay";
  }
  return "";
}

std::vector<PatchFinding> scan_patches(std::string_view text, const std::string& file) {
  constexpr std::size_t kShownMax = 160;
  const bool recipe = file.ends_with(".yaml") || file.ends_with(".yml");
  std::vector<PatchFinding> found;
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const std::string_view bare = trim(line);
    if (bare.starts_with('#')) continue;
    const Kind* kind = recipe ? recipe_line(line) : script_line(line);
    if (kind != nullptr) found.push_back({*kind, file, number, std::string(bare.substr(0, kShownMax))});
  }
  return found;
}

}  // namespace pawl::plan
