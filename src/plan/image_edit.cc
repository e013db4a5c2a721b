#include "plan/image_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "model/image.h"

namespace pawl::plan {

using codec::YamlNode;

namespace {

/// Compares the tree before with the tree after: equal as values at every depth, but for one node.
class OneChange {
 public:
  OneChange(const YamlNode& changed, std::string_view image) : changed_(&changed), image_(image) {}
  /// True when that node became the image, and is met once: an alias of what it lies in would change with it.
  bool only(const YamlNode& before, const YamlNode& after) {
    met_ = 0;
    return same(before, after) && met_ == 1;
  }

 private:
  bool same(const YamlNode& a, const YamlNode& b) {
    if (&a == changed_) return ++met_ == 1 && b.is_text() && b.text == image_;
    if (a.kind != b.kind || a.items.size() != b.items.size() || a.entries.size() != b.entries.size()) return false;
    if (a.kind == YamlNode::Kind::kScalar) return a.type() == b.type() && a.text == b.text;
    for (std::size_t i = 0; i < a.items.size(); ++i) {
      if (!same(a.items[i], b.items[i])) return false;
    }
    for (std::size_t i = 0; i < a.entries.size(); ++i) {
      if (!same(a.entries[i].key, b.entries[i].key) || !same(a.entries[i].value, b.entries[i].value)) return false;
    }
    return true;
  }

  const YamlNode* changed_;
  std::string_view image_;
  int met_ = 0;
};

/// Where the text of a scalar begins inside what is written: behind its anchor and tag.
std::size_t content_at(std::string_view written) {
  std::size_t at = 0;
  while (at < written.size() && (written[at] == '&' || written[at] == '!')) {
    at = std::min(written.find_first_of(" \t\r\n", at), written.size());
    at = std::min(written.find_first_not_of(" \t\r\n", at), written.size());
  }
  return at;
}

/// The ways to write the new image in the place of the old one, the one that changes least first.
std::vector<std::string> spellings(const YamlNode& node, std::string_view written, const std::string& image) {
  std::vector<std::string> all;
  const std::size_t content = content_at(written);
  const std::string_view front = written.substr(0, content), rest = written.substr(content);
  if (rest.starts_with('*')) return all;  // an alias: the text stands elsewhere
  if (const auto at = node.text.empty() ? std::string_view::npos : rest.find(node.text);
      at != std::string_view::npos && rest.find(node.text, at + 1) == std::string_view::npos) {
    all.push_back(std::string(front).append(rest.substr(0, at)).append(image).append(rest.substr(at + node.text.size())));
  }
  const bool quoted = rest.size() >= 2 && (rest[0] == '"' || rest[0] == '\'') && rest.back() == rest[0];
  if (quoted) all.push_back(std::string(front) + rest[0] + image + rest[0]);
  if (node.plain) all.push_back(std::string(front) + '"' + image + '"');
  return all;
}

}  // namespace

Result<std::string> edit_image(const Catalogue& catalogue, const Recipe& recipe, const std::string& image) {
  PAWL_ASSIGN(const model::ImageRef wanted, model::parse_image(image));
  const bool folder = wanted.name.starts_with("dir:");  // it is what it holds
  if (!folder && wanted.tag.empty() && wanted.digest.empty()) {
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
  const std::string_view written = document.bytes.substr(node->begin, node->end - node->begin);
  const std::vector<std::string> choices = spellings(*node, written, image);
  if (choices.empty()) {
    return bad_input(fmt::format("the image of {} is written in a form that cannot be replaced on its own: {}", recipe.key, written),
                     "write it as a plain or quoted text on one line")
        .at(document.place(*node));
  }
  for (const std::string& choice : choices) {
    std::string bytes(document.bytes);
    bytes.replace(node->begin, node->end - node->begin, choice);
    const auto after = codec::parse_yaml(bytes, recipe.file, {.bytes = std::numeric_limits<std::size_t>::max()});
    if (after && OneChange(*node, image).only(document.root, after->root)) return bytes;
  }
  return bad_input(fmt::format("replacing the image of {} would change more than this one value (is it shared through an anchor?)", recipe.key))
      .at(document.place(*node));
}

}  // namespace pawl::plan
