#include "evals/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "codec/yaml.h"
#include "evals/data_set.h"
#include "evals/lm_eval_task.h"
#include "evals/node_reader.h"

namespace pawl::evals {
namespace {

using codec::YamlDocument;
using codec::YamlNode;

const std::vector<std::string> kKeys = {"task",       "reported_as", "kind",       "prompt",  "delimiter", "few_shot",  "until",
                                        "max_tokens", "threshold",   "thresholds", "filters", "matching",  "questions", "data"};

Filter read_filter(NodeReader& reader, const YamlNode* node, const std::string& what) {
  Filter filter;
  if (node == nullptr || !reader.is_mapping(*node, what, {"pattern", "group_select"})) return filter;
  const YamlNode* pattern = reader.need(*node, "pattern");
  filter.pattern = reader.text(pattern, what + ".pattern");
  if (const YamlNode* select = node->find("group_select")) filter.group_select = reader.whole(select, what + ".group_select", INT32_MIN);
  if (const auto compiled = Extractor::compile(filter); !compiled) reader.wrong(*pattern, what + ".pattern: " + compiled.error().message);
  return filter;
}

void read_matching(NodeReader& reader, const YamlNode* node, MatchRules& rules) {
  if (node == nullptr || !reader.is_mapping(*node, "matching", {"ignore", "ignore_case", "ignore_punctuation"})) return;
  if (const YamlNode* ignored = node->find("ignore")) {
    rules.ignored.clear();
    if (ignored->kind != YamlNode::Kind::kSequence) reader.wrong(*ignored, "matching.ignore must be a list of patterns");
    for (const YamlNode& item : ignored->items) {
      rules.ignored.push_back(reader.text(&item, "a pattern"));
      if (const auto compiled = Matcher::compile({{rules.ignored.back()}}); !compiled) reader.wrong(item, "matching.ignore: " + compiled.error().message);
    }
  }
  if (const YamlNode* flag = node->find("ignore_case")) rules.ignore_case = reader.truth(flag, "matching.ignore_case");
  if (const YamlNode* flag = node->find("ignore_punctuation")) rules.ignore_punctuation = reader.truth(flag, "matching.ignore_punctuation");
}

void read_shots(NodeReader& reader, const YamlNode* node, Task& task) {
  if (node == nullptr || !reader.is_mapping(*node, "few_shot", {"separator", "examples"})) return;
  const YamlNode* separator = node->find("separator");
  const std::string between = separator == nullptr ? "\n\n" : reader.text(separator, "few_shot.separator");
  const YamlNode* examples = reader.need(*node, "examples");
  if (examples == nullptr || !reader.is_list(*examples, "few_shot.examples")) return;
  for (const YamlNode& item : examples->items) {
    if (!reader.is_mapping(item, "an example", {"question", "answer"})) continue;
    const std::string question = reader.text(reader.need(item, "question"), "question"), answer = reader.text(reader.need(item, "answer"), "answer");
    task.shots += replace_all(task.prompt, "{question}", question) + task.delimiter + answer + between;
  }
}

void read_questions(NodeReader& reader, const YamlNode& list, Task& task) {
  if (!reader.is_list(list, "questions")) return;
  for (const YamlNode& item : list.items) {
    if (!reader.is_mapping(item, "a question", {"question", "answer", "choices"})) continue;
    Question question;
    question.question = reader.text(reader.need(item, "question"), "question");
    const YamlNode* answer = reader.need(item, "answer");
    question.answer = reader.text(answer, "answer");
    if (const YamlNode* choices = item.find("choices")) {
      if (task.kind != TaskKind::kChoices) reader.wrong(*choices, "choices belong to a task with kind: choices");
      if (reader.is_list(*choices, "choices")) {
        for (const YamlNode& one : choices->items) question.choices.push_back(reader.text(&one, "a choice"));
      }
      if (answer != nullptr && std::ranges::find(question.choices, question.answer) == question.choices.end()) {
        reader.wrong(*answer, fmt::format("answer \"{}\" is none of the choices", question.answer));
      }
    } else if (task.kind == TaskKind::kChoices) {
      reader.wrong(item, "a question of a task with choices needs the key choices");
    }
    task.questions.push_back(std::move(question));
  }
}

struct DataKeys {
  std::string question = "{question}", answer = "{answer}";
  std::string answer_after;  ///< of an answer only what follows the last of these
};

/// The questions of a data set by the templates of the task.
Status fill_questions(const std::vector<codec::Json>& rows, const std::string& name, const DataKeys& keys, Task& task) {
  PAWL_ASSIGN(const FieldTemplate question, FieldTemplate::parse(keys.question));
  PAWL_ASSIGN(const FieldTemplate answer, FieldTemplate::parse(keys.answer));
  for (const codec::Json& row : rows) {
    const std::string where = fmt::format("{}: row {}", name, task.questions.size() + 1);
    Question one;
    auto asked = question.fill(row), told = answer.fill(row);
    if (!asked) return std::move(asked).error().within(where);
    if (!told) return std::move(told).error().within(where);
    one.question = std::move(*asked);
    one.answer = std::move(*told);
    if (!keys.answer_after.empty()) {
      const std::size_t at = one.answer.rfind(keys.answer_after);
      if (at == std::string::npos) return bad_input(fmt::format("{}: the answer has no \"{}\"", where, keys.answer_after));
      one.answer = std::string(trim(std::string_view(one.answer).substr(at + keys.answer_after.size())));
    }
    if (task.kind == TaskKind::kChoices) {
      const auto choices = row.find("choices");
      if (choices == row.end() || !choices->is_array() || choices->empty()) return bad_input(where + ": a task with choices needs a list choices");
      for (const codec::Json& each : *choices) {
        if (!each.is_string()) return bad_input(where + ": a choice is no text");
        one.choices.push_back(each.get<std::string>());
      }
      if (std::ranges::find(one.choices, one.answer) == one.choices.end())
        return bad_input(fmt::format("{}: the answer \"{}\" is none of the choices", where, one.answer));
    }
    task.questions.push_back(std::move(one));
  }
  return {};
}

}  // namespace

std::string Task::prompt_of(const Question& question) const { return shots + replace_all(prompt, "{question}", question.question); }

double Task::threshold_for(const std::string& model_prefix) const {
  const auto found = thresholds.find(model_prefix);
  return found == thresholds.end() ? threshold : found->second;
}

Result<Task> read_task(std::string text, const std::string& file, const std::string& name, const std::string& data_set, const DataReader& data) {
  Task task;
  task.name = name;
  task.definition = sha256_hex(text);
  task.delimiter = " ";
  PAWL_ASSIGN(const YamlDocument document, codec::parse_yaml(std::move(text), file));
  NodeReader reader(document);
  const YamlNode& root = document.root;
  if (is_lm_eval_task(root)) return read_lm_eval_task(document, std::move(task), data_set, data);
  if (!reader.is_mapping(root, "an eval task", kKeys)) PAWL_TRY(std::move(reader).outcome());
  if (const YamlNode* node = reader.need(root, "task"); node != nullptr) {
    const std::string said = reader.text(node, "task");
    if (!name.empty() && said != name) reader.wrong(*node, fmt::format("task must be {}, as the file is called", name));
    task.name = said;
  }
  if (const YamlNode* node = root.find("reported_as")) task.reported = reader.text(node, "reported_as");
  if (const YamlNode* node = root.find("kind")) {
    const std::string kind = reader.text(node, "kind");
    if (kind != "generate" && kind != "choices") reader.wrong(*node, "kind must be generate or choices");
    task.kind = kind == "choices" ? TaskKind::kChoices : TaskKind::kGenerate;
  }
  const YamlNode* prompt = reader.need(root, "prompt");
  task.prompt = reader.text(prompt, "prompt");
  if (!task.prompt.empty() && task.prompt.find("{question}") == std::string::npos) reader.wrong(*prompt, "prompt must hold {question}");
  if (const YamlNode* node = root.find("delimiter")) task.delimiter = reader.text(node, "delimiter", true);
  read_shots(reader, root.find("few_shot"), task);
  if (const YamlNode* until = root.find("until")) {
    if (until->kind != YamlNode::Kind::kSequence) reader.wrong(*until, "until must be a list of texts");
    for (const YamlNode& item : until->items) task.until.push_back(reader.text(&item, "a stop string"));
  }
  const bool writes = task.kind == TaskKind::kGenerate;
  if (const YamlNode* node = writes ? reader.need(root, "max_tokens") : root.find("max_tokens")) task.max_tokens = reader.whole(node, "max_tokens", 1);
  task.threshold = reader.share(reader.need(root, "threshold"), "threshold");
  if (const YamlNode* node = root.find("thresholds")) {
    if (node->kind != YamlNode::Kind::kMapping) reader.wrong(*node, "thresholds must be a mapping of model prefixes to numbers");
    for (const codec::YamlEntry& entry : node->entries)
      task.thresholds[entry.key.text] = reader.share(&entry.value, "thresholds." + std::string(entry.key.text));
  }
  if (const YamlNode* filters = writes ? reader.need(root, "filters") : root.find("filters"); filters != nullptr) {
    if (reader.is_mapping(*filters, "filters", {"strict", "flexible"})) {
      task.strict = read_filter(reader, reader.need(*filters, "strict"), "filters.strict");
      task.flexible = read_filter(reader, reader.need(*filters, "flexible"), "filters.flexible");
    }
  }
  read_matching(reader, root.find("matching"), task.match);
  DataKeys keys;
  if (const YamlNode* node = root.find("data"); node != nullptr && reader.is_mapping(*node, "data", {"file", "question", "answer", "answer_after"})) {
    task.data_file = reader.text(reader.need(*node, "file"), "data.file");
    if (const YamlNode* one = node->find("question")) keys.question = reader.text(one, "data.question");
    if (const YamlNode* one = node->find("answer")) keys.answer = reader.text(one, "data.answer");
    if (const YamlNode* one = node->find("answer_after")) keys.answer_after = reader.text(one, "data.answer_after");
    if (root.find("questions") != nullptr) reader.wrong(*node, "a task has either questions or data");
  } else if (const YamlNode* questions = node == nullptr ? reader.need(root, "questions") : nullptr) {
    read_questions(reader, *questions, task);
  }
  PAWL_TRY(std::move(reader).outcome());
  if (task.data_file.empty() && data_set.empty()) return task;
  if (task.data_file.empty()) return bad_input(fmt::format("{} holds its questions itself: a data set has no place in it", file));
  const std::string from = data_set.empty() ? task.data_file : data_set;
  auto bytes = data ? data(from) : Result<std::string>(not_found("no data set " + from));
  if (!bytes) {
    Error error = std::move(bytes).error().within(fmt::format("the questions of the task {} come from the data set {}", task.name, from));
    if (data_set.empty()) error.remedy = fmt::format("name a copy of it with --data-set, or put it as evals/{} into the folder of --data", task.data_file);
    return error;
  }
  task.definition = sha256_hex(task.definition + "\n" + sha256_hex(*bytes));
  PAWL_ASSIGN(const std::vector<codec::Json> rows, read_rows(std::move(*bytes), from));
  PAWL_TRY(fill_questions(rows, from, keys, task));
  if (task.questions.empty()) return bad_input(from + " holds no question");
  return task;
}

Result<Task> load_task(const io::Assets& assets, const std::string& name, const std::string& data_set, const DataReader& data) {
  const std::string file = "evals/" + name + ".yaml";
  auto bytes = assets.read(file);
  if (!bytes) return std::move(bytes).error().within(fmt::format("eval task {}", name));
  const DataReader from_assets = [&](const std::string& wanted) { return assets.read("evals/" + wanted); };
  return read_task(std::move(*bytes), "data/" + file, name, data_set, data_set.empty() ? from_assets : data);
}

}  // namespace pawl::evals
