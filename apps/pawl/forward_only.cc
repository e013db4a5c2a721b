#include "forward_only.h"

#include <fmt/format.h>

#include "images/image_choice.h"
#include "model/image.h"
#include "registry/image_sources.h"

namespace pawl::app {

Status forward_only(const io::Assets& assets, const std::string& image_old, const std::string& image_new) {
  const auto before = registry::parse_image_name(image_old), after = registry::parse_image_name(image_new);
  if (!before || !after || !model::same_image(before->name, after->name)) return {};
  PAWL_ASSIGN(const std::string text, assets.read("images/grammars.yaml"));
  PAWL_ASSIGN(const auto grammars, images::TagGrammars::parse(text, "images/grammars.yaml"));
  if (!images::is_backward(grammars, before->tag, after->tag)) return {};
  return bad_input(fmt::format("{} is older than the pinned {}: pins move forward and never backward", image_new, image_old),
                   "choose a newer one (pawl images latest, pawl images explain); to go back, a person edits the recipe");
}

}  // namespace pawl::app
