#include "plan/image_edit.h"

#include <fmt/format.h>

#include "model/image.h"

namespace pawl::plan {

using codec::Json;
using codec::YamlNode;

Result<std::string> edit_image(const Catalogue& catalogue, const Recipe& recipe, const std::string& image) {
  PAWL_ASSIGN(const model::ImageRef wanted, model::parse_image(image));
  if (wanted.tag.empty() && wanted.digest.empty()) {
    return bad_input(fmt::format("'{}' names no version", image), "write a tag or a digest: a floating image is no update");
  }
  const codec::YamlDocument& document = catalogue.document(recipe.file);
  const YamlNode* node = recipe.node->find("image");
  if (node == nullptr || !node->is_text()) {
    return bad_input(fmt::format("{} has no image to replace", recipe.key)).at(document.place(node != nullptr ? *node : *recipe.node));
  }
  if (model::same_image(node->text, image)) {
    return Error{ErrorClass::kConflict, ExitStatus::kDone, fmt::format("{} is on {} already", recipe.key, image), {}};
  }
  const std::string written = document.bytes.substr(node->begin, node->end - node->begin);
  std::string replacement;
  if (written == node->text) {
    replacement = image;
  } else if (written == '"' + node->text + '"' || written == '\'' + node->text + '\'') {
    replacement = written.front() + image + written.back();
  } else {
    return bad_input(fmt::format("the image of {} is written in a form that cannot be replaced on its own: {}", recipe.key, written),
                     "write it as a plain or quoted text on one line")
        .at(document.place(*node));
  }
  std::string bytes = document.bytes;
  bytes.replace(node->begin, node->end - node->begin, replacement);

  PAWL_ASSIGN(const codec::YamlDocument after, codec::parse_yaml(bytes, recipe.file));
  PAWL_ASSIGN(Json was, codec::yaml_value(document, document.root));
  PAWL_ASSIGN(const Json is, codec::yaml_value(after, after.root));
  was[recipe.key]["image"] = image;
  if (was != is) {
    return bad_input(fmt::format("replacing the image of {} would change more than this one value (is it shared through an anchor?)", recipe.key))
        .at(document.place(*node));
  }
  return bytes;
}

}  // namespace pawl::plan
