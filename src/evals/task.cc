#include "evals/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "codec/yaml.h"
#include "evals/scorer.h"

namespace pawl::evals {
namespace {

using codec::YamlDocument;
using codec::YamlNode;

/// Reads nodes and collects what is wrong with them, so that one look at the error shows all of it.
class Reader {
 public:
  explicit Reader(const YamlDocument& document) : document_(document) {}

  void wrong(const YamlNode& node, std::string message, std::string remedy = {}) {
    found_.push_back(bad_input(std::move(message), std::move(remedy)).at(document_.place(node)));
  }

  /// The value of a key that must be there; null, with the violation noted, when it is not.
  const YamlNode* need(const YamlNode& mapping, const std::string& key) {
    const YamlNode* node = mapping.find(key);
    if (node == nullptr) wrong(mapping, fmt::format("{} is missing", key));
    return node;
  }

  bool is_mapping(const YamlNode& node, const std::string& what, const std::vector<std::string>& keys) {
    if (node.kind != YamlNode::Kind::kMapping) {
      wrong(node, fmt::format("{} must be a mapping with the keys {}", what, join(keys, ", ")));
      return false;
    }
    for (std::size_t i = 0; i < node.entries.size(); ++i) {
      const YamlNode& key = node.entries[i].key;
      if (std::ranges::find(keys, key.text) == keys.end()) {
        const auto near = nearest(key.text, keys);
        wrong(key, fmt::format("{}: unknown key {}", what, key.text), near ? fmt::format("did you mean {}?", *near) : "known keys: " + join(keys, ", "));
      }
      for (std::size_t j = 0; j < i; ++j) {
        if (node.entries[j].key.text == key.text) wrong(key, fmt::format("{}: {} stands here twice", what, key.text));
      }
    }
    return true;
  }

  std::string text(const YamlNode* node, const std::string& what) {
    if (node == nullptr) return {};
    if (node->kind != YamlNode::Kind::kScalar || node->text.empty()) {
      wrong(*node, fmt::format("{} must be a text that is not empty", what));
      return {};
    }
    return node->text;
  }

  std::int64_t whole(const YamlNode* node, const std::string& what, std::int64_t least) {
    if (node == nullptr) return least;
    const auto value = node->kind == YamlNode::Kind::kScalar ? parse_int(node->text) : std::nullopt;
    if (!value || *value < least) {
      wrong(*node, fmt::format("{} must be a whole number of at least {}", what, least));
      return least;
    }
    return *value;
  }

  double share(const YamlNode* node, const std::string& what) {
    if (node == nullptr) return 0;
    const auto value = node->kind == YamlNode::Kind::kScalar ? parse_double(node->text) : std::nullopt;
    if (!value || *value < 0 || *value > 1) {
      wrong(*node, fmt::format("{} must be a number from 0 to 1", what));
      return 0;
    }
    return *value;
  }

  /// All violations as one error: the first with its place, the others below it.
  [[nodiscard]] Status outcome() && {
    if (found_.empty()) return {};
    Error first = std::move(found_.front());
    for (std::size_t i = 1; i < found_.size(); ++i) {
      const SourcePlace& where = *found_[i].place;
      if (!first.remedy.empty()) first.remedy += "\n  ";
      first.remedy += fmt::format("also {}:{}:{}: {}", where.file, where.line, where.column, found_[i].message);
    }
    return first;
  }

 private:
  const YamlDocument& document_;
  std::vector<Error> found_;
};

Filter read_filter(Reader& reader, const YamlNode* node, const std::string& what) {
  Filter filter;
  if (node == nullptr || !reader.is_mapping(*node, what, {"pattern", "group_select"})) return filter;
  const YamlNode* pattern = reader.need(*node, "pattern");
  filter.pattern = reader.text(pattern, what + ".pattern");
  if (const YamlNode* select = node->find("group_select")) filter.group_select = reader.whole(select, what + ".group_select", INT32_MIN);
  if (const auto compiled = Extractor::compile(filter); !compiled) reader.wrong(*pattern, what + ".pattern: " + compiled.error().message);
  return filter;
}

}  // namespace

std::string Task::prompt_of(const Question& question) const { return replace_all(prompt, "{question}", question.question); }

Result<Task> load_task(const io::Assets& assets, const std::string& name) {
  const std::string file = "evals/" + name + ".yaml";
  auto bytes = assets.read(file);
  if (!bytes) return std::move(bytes).error().within(fmt::format("eval task {}", name));
  Task task;
  task.name = name;
  task.definition = sha256_hex(*bytes);
  PAWL_ASSIGN(const YamlDocument document, codec::parse_yaml(std::move(*bytes), "data/" + file));
  Reader reader(document);
  const YamlNode& root = document.root;
  if (!reader.is_mapping(root, "an eval task", {"task", "prompt", "until", "max_tokens", "threshold", "filters", "questions"})) {
    PAWL_TRY(std::move(reader).outcome());
  }
  if (const YamlNode* node = reader.need(root, "task"); reader.text(node, "task") != name && node != nullptr) {
    reader.wrong(*node, fmt::format("task must be {}, as the file is called", name));
  }
  const YamlNode* prompt = reader.need(root, "prompt");
  task.prompt = reader.text(prompt, "prompt");
  if (!task.prompt.empty() && task.prompt.find("{question}") == std::string::npos) reader.wrong(*prompt, "prompt must hold {question}");
  if (const YamlNode* until = root.find("until")) {
    if (until->kind != YamlNode::Kind::kSequence) reader.wrong(*until, "until must be a list of texts");
    for (const YamlNode& item : until->items) task.until.push_back(reader.text(&item, "a stop string"));
  }
  task.max_tokens = reader.whole(reader.need(root, "max_tokens"), "max_tokens", 1);
  task.threshold = reader.share(reader.need(root, "threshold"), "threshold");
  if (const YamlNode* filters = reader.need(root, "filters"); filters != nullptr && reader.is_mapping(*filters, "filters", {"strict", "flexible"})) {
    task.strict = read_filter(reader, reader.need(*filters, "strict"), "filters.strict");
    task.flexible = read_filter(reader, reader.need(*filters, "flexible"), "filters.flexible");
  }
  if (const YamlNode* questions = reader.need(root, "questions")) {
    if (questions->kind != YamlNode::Kind::kSequence || questions->items.empty()) reader.wrong(*questions, "questions must be a list of at least one question");
    for (const YamlNode& item : questions->items) {
      if (!reader.is_mapping(item, "a question", {"question", "answer"})) continue;
      Question question;
      question.question = reader.text(reader.need(item, "question"), "question");
      question.answer = reader.text(reader.need(item, "answer"), "answer");
      task.questions.push_back(std::move(question));
    }
  }
  PAWL_TRY(std::move(reader).outcome());
  return task;
}

}  // namespace pawl::evals
