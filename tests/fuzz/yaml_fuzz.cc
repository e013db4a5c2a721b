// The YAML reader: events to tree, places of nodes, values. Any bytes are either refused with a place, or give a tree whose places are true.
#include <string>

#include "codec/internal/yaml_scan.h"
#include "codec/internal/yaml_usual.h"
#include "codec/yaml.h"
#include "fuzz_target.h"

namespace pawl::fuzz {

const std::size_t kInputMax = 256;

namespace {

using codec::YamlNode;

struct Walk {
  const codec::YamlDocument& document;
  std::string_view bytes;
  std::size_t nodes = 0;

  void node(const YamlNode& n, int depth) {
    if (++nodes > 20'000) return;  // aliases multiply
    PAWL_FUZZ_CHECK(depth <= 400);
    PAWL_FUZZ_CHECK(n.begin <= n.end && n.end <= bytes.size());
    PAWL_FUZZ_CHECK(n.line >= 1 && n.column >= 1);
    const auto at = codec::internal::locate(bytes, n.begin);
    // An empty node has the place of what follows it, which may lie behind a line break that libyaml has not read yet.
    PAWL_FUZZ_CHECK(n.begin == n.end || (at.line == n.line && at.column == n.column));
    switch (n.kind) {
      case YamlNode::Kind::kScalar: {
        PAWL_FUZZ_CHECK(n.items.empty() && n.entries.empty());
        const std::string_view written = bytes.substr(n.begin, n.end - n.begin);
        const std::string_view text = n.text;
        const bool bare = !written.empty() && written[0] != '&' && written[0] != '!' && written[0] != '*';
        if (n.plain && *n.tag == 0 && bare && written.find_first_of("\r\n\xC2\xE2") == std::string_view::npos) PAWL_FUZZ_CHECK(written == text);
        (void)codec::yaml_integer_digits(n);
        (void)n.type();
        break;
      }
      case YamlNode::Kind::kSequence:
        for (const YamlNode& item : n.items) node(item, depth + 1);
        break;
      case YamlNode::Kind::kMapping:
        for (const codec::YamlEntry& entry : n.entries) {
          PAWL_FUZZ_CHECK(entry.key.kind == YamlNode::Kind::kScalar);
          node(entry.key, depth + 1);
          node(entry.value, depth + 1);
        }
        break;
    }
  }
};

}  // namespace

bool one_input(std::string_view input) {
  const auto document = codec::parse_yaml(std::string(input), "f");
  // The reader of the usual form is either silent or of libyaml's opinion.
  codec::internal::YamlStorage storage{std::string(input)};
  if (const auto usual = codec::internal::read_usual_form(storage, {})) {
    const auto by_events = codec::internal::parse_by_events(std::string(input), "f");
    PAWL_FUZZ_CHECK(by_events && codec::internal::yaml_identical(*usual, by_events->root));
  }
  if (!document) {
    PAWL_FUZZ_CHECK(document.error().place.has_value());
    PAWL_FUZZ_CHECK(document.error().place->line >= 1 && document.error().place->column >= 0);
    PAWL_FUZZ_CHECK(!document.error().message.empty() && !document.error().remedy.empty());
    return true;
  }
  Walk walk{*document, input};
  walk.node(document->root, 0);
  if (walk.nodes <= 20'000) (void)codec::yaml_value(*document, document->root);
  // What we write as a scalar reads back as itself.
  if (document->root.is_text()) {
    const auto again = codec::parse_yaml("k: " + codec::yaml_scalar(document->root.text) + "\n", "g");
    PAWL_FUZZ_CHECK(again);
    const YamlNode* value = again->root.find("k");
    PAWL_FUZZ_CHECK(value != nullptr && value->is_text() && value->text == document->root.text);
  }
  return true;
}

}  // namespace pawl::fuzz
