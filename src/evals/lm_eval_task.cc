#include "evals/lm_eval_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/hash.h"
#include "base/text.h"
#include "evals/data_set.h"
#include "evals/node_reader.h"

namespace pawl::evals {
namespace {

using codec::YamlNode;

const std::vector<std::string> kKeys = {"task",
                                        "tag",
                                        "group",
                                        "dataset_path",
                                        "dataset_name",
                                        "dataset_kwargs",
                                        "output_type",
                                        "training_split",
                                        "validation_split",
                                        "test_split",
                                        "fewshot_split",
                                        "doc_to_text",
                                        "doc_to_target",
                                        "doc_to_choice",
                                        "num_fewshot",
                                        "fewshot_config",
                                        "fewshot_delimiter",
                                        "target_delimiter",
                                        "description",
                                        "generation_kwargs",
                                        "filter_list",
                                        "metric_list",
                                        "metadata",
                                        "repeats",
                                        "should_decontaminate",
                                        "doc_to_decontamination_query"};

std::string text_or(const YamlNode& root, NodeReader& reader, const std::string& key, std::string otherwise) {
  const YamlNode* node = root.find(key);
  return node == nullptr ? std::move(otherwise) : reader.text(node, key, true);
}

/// A template of lm-eval: a name without braces is a field.
std::string as_template(const std::string& text) {
  const bool name =
      !text.empty() && std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
  return name ? "{{" + text + "}}" : text;
}

void read_filters(NodeReader& reader, const YamlNode* list, Task& task) {
  if (list == nullptr || !reader.is_list(*list, "filter_list")) return;
  bool strict = false;
  for (const YamlNode& item : list->items) {
    if (!reader.is_mapping(item, "a filter", {"name", "filter"})) continue;
    const std::string name = reader.text(reader.need(item, "name"), "name");
    const YamlNode* steps = reader.need(item, "filter");
    if (steps == nullptr || !reader.is_list(*steps, "filter")) continue;
    Filter filter;
    for (const YamlNode& step : steps->items) {
      if (!reader.is_mapping(step, "a step", {"function", "regex_pattern", "group_select"})) continue;
      const YamlNode* function = reader.need(step, "function");
      const std::string what = reader.text(function, "function");
      if (what == "take_first") continue;
      if (what != "regex") {
        reader.wrong(*function, fmt::format("the filter function {} is not understood", what), "understood: regex, take_first");
        continue;
      }
      const YamlNode* pattern = step.find("regex_pattern");
      filter.pattern = pattern == nullptr ? R"(#### (\-?[0-9\.\,]+))" : reader.text(pattern, "regex_pattern");
      if (const YamlNode* select = step.find("group_select")) filter.group_select = reader.whole(select, "group_select", INT32_MIN);
      if (const auto compiled = Extractor::compile(filter); !compiled) reader.wrong(step, "regex_pattern: " + compiled.error().message);
    }
    // By its name, as the collector of the reference tells them apart.
    const bool flexible = name.find("flex") != std::string::npos || (strict && name.find("strict") == std::string::npos);
    if (filter.pattern.empty()) filter.pattern = "(?s).*";
    if (flexible) {
      task.flexible = filter;
    } else {
      task.strict = filter;
      strict = true;
    }
  }
  if (!strict && task.flexible) task.strict = *task.flexible;
}

void read_metrics(NodeReader& reader, const YamlNode* list, Task& task) {
  if (list == nullptr || !reader.is_list(*list, "metric_list")) return;
  for (const YamlNode& item : list->items) {
    if (!reader.is_mapping(item, "a metric", {"metric", "aggregation", "higher_is_better", "ignore_case", "ignore_punctuation", "regexes_to_ignore"})) continue;
    const YamlNode* metric = reader.need(item, "metric");
    const std::string name = reader.text(metric, "metric");
    if (name != "exact_match" && name != "acc" && name != "acc_norm") {
      reader.wrong(*metric, fmt::format("the metric {} is not understood", name), "understood: exact_match, acc");
    }
    if (const YamlNode* mean = item.find("aggregation"); mean != nullptr && reader.text(mean, "aggregation") != "mean")
      reader.wrong(*mean, "aggregation must be mean");
    if (name != "exact_match") continue;
    task.match = {{}, false, false};
    if (const YamlNode* node = item.find("ignore_case")) task.match.ignore_case = reader.truth(node, "ignore_case");
    if (const YamlNode* node = item.find("ignore_punctuation")) task.match.ignore_punctuation = reader.truth(node, "ignore_punctuation");
    if (const YamlNode* node = item.find("regexes_to_ignore")) {
      if (!reader.is_list(*node, "regexes_to_ignore")) continue;
      for (const YamlNode& one : node->items) task.match.ignored.push_back(reader.text(&one, "a pattern"));
      if (const auto compiled = Matcher::compile(task.match); !compiled) reader.wrong(*node, "regexes_to_ignore: " + compiled.error().message);
    }
  }
}

void read_generation(NodeReader& reader, const YamlNode* node, Task& task, const std::string& shot_delimiter) {
  task.until = {shot_delimiter};
  task.max_tokens = 256;
  if (node == nullptr || !reader.is_mapping(*node, "generation_kwargs", {"until", "do_sample", "temperature", "max_gen_toks", "top_p"})) return;
  if (const YamlNode* until = node->find("until")) {
    task.until.clear();
    if (until->kind == YamlNode::Kind::kScalar) {
      task.until.push_back(reader.text(until, "until"));
    } else {
      for (const YamlNode& one : until->items) task.until.push_back(reader.text(&one, "a stop string"));
    }
  }
  if (const YamlNode* limit = node->find("max_gen_toks")) task.max_tokens = reader.whole(limit, "max_gen_toks", 1);
  if (const YamlNode* sample = node->find("do_sample"); sample != nullptr && reader.truth(sample, "do_sample")) {
    reader.wrong(*sample, "answers are asked for at temperature 0: do_sample must be false");
  }
  if (const YamlNode* heat = node->find("temperature"); heat != nullptr && parse_double(heat->text).value_or(1) != 0) {
    reader.wrong(*heat, "answers are asked for at temperature 0");
  }
}

/// The file of a split.
std::string split_file(NodeReader& reader, const YamlNode& root, const std::string& split) {
  const YamlNode* arguments = root.find("dataset_kwargs");
  if (arguments == nullptr || !reader.is_mapping(*arguments, "dataset_kwargs", {"data_files"})) return {};
  const YamlNode* files = reader.need(*arguments, "data_files");
  if (files == nullptr) return {};
  if (files->kind == YamlNode::Kind::kScalar) return reader.text(files, "data_files");
  const YamlNode* file = files->find(split);
  return file == nullptr ? std::string() : reader.text(file, "data_files." + split);
}

struct Templates {
  FieldTemplate text, target;
  std::vector<FieldTemplate> choices;
};

Result<Question> question_of(const codec::Json& row, const Templates& templates) {
  Question out;
  PAWL_ASSIGN(out.question, templates.text.fill(row));
  PAWL_ASSIGN(out.answer, templates.target.fill(row));
  for (const FieldTemplate& one : templates.choices) {
    PAWL_ASSIGN(std::string choice, one.fill(row));
    out.choices.push_back(std::move(choice));
  }
  if (templates.choices.empty()) return out;
  // The target is the number of the choice, or the choice itself.
  if (const auto number = parse_int(out.answer); number && *number >= 0 && *number < static_cast<std::int64_t>(out.choices.size())) {
    out.answer = out.choices[static_cast<std::size_t>(*number)];
  } else if (std::ranges::find(out.choices, out.answer) == out.choices.end()) {
    return bad_input(fmt::format("the target {} is none of the choices", out.answer));
  }
  return out;
}

}  // namespace

bool is_lm_eval_task(const YamlNode& root) {
  return root.kind == YamlNode::Kind::kMapping &&
         (root.find("doc_to_text") != nullptr || root.find("dataset_path") != nullptr || root.find("output_type") != nullptr);
}

Result<Task> read_lm_eval_task(const codec::YamlDocument& document, Task task, const std::string& data_set, const DataReader& data) {
  NodeReader reader(document);
  const YamlNode& root = document.root;
  reader.is_mapping(root, "a task of lm-eval", kKeys);
  const std::string said = reader.text(reader.need(root, "task"), "task");
  if (!said.empty()) task.name = said;
  const std::string output = text_or(root, reader, "output_type", "generate_until");
  if (output != "generate_until" && output != "multiple_choice") {
    reader.wrong(*root.find("output_type"), fmt::format("output_type {} is not understood", output), "understood: generate_until, multiple_choice");
  }
  task.kind = output == "multiple_choice" ? TaskKind::kChoices : TaskKind::kGenerate;
  const std::string shot_delimiter = text_or(root, reader, "fewshot_delimiter", "\n\n");
  task.delimiter = text_or(root, reader, "target_delimiter", " ");
  task.prompt = "{question}";
  task.threshold = std::numeric_limits<double>::quiet_NaN();  // such a file has none
  task.match = {{}, false, false};
  task.strict = {"(?s).*", 0};
  if (task.kind == TaskKind::kGenerate) read_generation(reader, root.find("generation_kwargs"), task, shot_delimiter);
  read_filters(reader, root.find("filter_list"), task);
  read_metrics(reader, root.find("metric_list"), task);
  const YamlNode* path = root.find("dataset_path");
  if (data_set.empty() && path != nullptr && reader.text(path, "dataset_path") != "json") {
    reader.wrong(*path, "questions come from JSON files: dataset_path must be json", "or name a file with --data-set");
  }
  if (const YamlNode* repeats = root.find("repeats"); repeats != nullptr && reader.whole(repeats, "repeats", 1) != 1)
    reader.wrong(*repeats, "repeats must be 1");
  const std::string test_split =
      text_or(root, reader, "test_split", root.find("validation_split") != nullptr ? text_or(root, reader, "validation_split", "") : "test");
  const std::string test_file = data_set.empty() ? split_file(reader, root, test_split) : data_set;
  if (test_file.empty() && reader.good()) reader.wrong(root, fmt::format("dataset_kwargs.data_files has no file of the split {}", test_split));
  std::int64_t shots = 0;
  if (const YamlNode* node = root.find("num_fewshot")) shots = reader.whole(node, "num_fewshot", 0);
  std::string shot_file;
  if (shots > 0) {
    const YamlNode* config = root.find("fewshot_config");
    if (config == nullptr) {
      reader.wrong(*root.find("num_fewshot"), "examples drawn at random cannot be drawn again here", "fewshot_config: {sampler: first_n} takes the first ones");
    } else if (reader.is_mapping(*config, "fewshot_config", {"sampler", "split"})) {
      const YamlNode* sampler = reader.need(*config, "sampler");
      if (sampler != nullptr && reader.text(sampler, "fewshot_config.sampler") != "first_n") reader.wrong(*sampler, "fewshot_config.sampler must be first_n");
    }
    shot_file = split_file(reader, root, text_or(root, reader, "fewshot_split", text_or(root, reader, "training_split", "train")));
    if (shot_file.empty() && reader.good()) reader.wrong(root, "dataset_kwargs.data_files has no file of the split that examples come from");
  }
  const std::string text = as_template(reader.text(reader.need(root, "doc_to_text"), "doc_to_text"));
  const std::string target = as_template(reader.text(reader.need(root, "doc_to_target"), "doc_to_target"));
  std::vector<std::string> choices;
  if (task.kind == TaskKind::kChoices) {
    const YamlNode* list = reader.need(root, "doc_to_choice");
    if (list != nullptr && reader.is_list(*list, "doc_to_choice")) {
      for (const YamlNode& one : list->items) choices.push_back(reader.text(&one, "a choice"));
    }
  }
  const std::string description = text_or(root, reader, "description", "");
  PAWL_TRY(std::move(reader).outcome());

  PAWL_ASSIGN(FieldTemplate text_template, FieldTemplate::parse(text));
  PAWL_ASSIGN(FieldTemplate target_template, FieldTemplate::parse(target));
  Templates templates{std::move(text_template), std::move(target_template), {}};
  for (const std::string& one : choices) {
    PAWL_ASSIGN(FieldTemplate choice, FieldTemplate::parse(one));
    templates.choices.push_back(std::move(choice));
  }
  std::string hashes = task.definition;
  const auto rows_of = [&](const std::string& name) -> Result<std::vector<codec::Json>> {
    auto bytes = data ? data(name) : Result<std::string>(not_found("no data set " + name));
    if (!bytes) return std::move(bytes).error().within(fmt::format("the questions of the task {} come from {}", task.name, name));
    hashes += "\n" + sha256_hex(*bytes);
    return read_rows(std::move(*bytes), name);
  };
  PAWL_ASSIGN(const std::vector<codec::Json> rows, rows_of(test_file));
  for (const codec::Json& row : rows) {
    auto question = question_of(row, templates);
    if (!question) return std::move(question).error().within(fmt::format("{}: row {}", test_file, task.questions.size() + 1));
    task.questions.push_back(std::move(*question));
  }
  task.shots = description;
  if (shots > 0) {
    PAWL_ASSIGN(const std::vector<codec::Json> examples, rows_of(shot_file));
    if (static_cast<std::int64_t>(examples.size()) < shots)
      return bad_input(fmt::format("{} has {} rows, and {} examples are wanted", shot_file, examples.size(), shots));
    for (std::size_t i = 0; i < static_cast<std::size_t>(shots); ++i) {
      auto example = question_of(examples[i], templates);
      if (!example) return std::move(example).error().within(fmt::format("{}: row {}", shot_file, i + 1));
      task.shots += example->question + task.delimiter + example->answer + shot_delimiter;
    }
  }
  task.definition = sha256_hex(hashes);
  return task;
}

}  // namespace pawl::evals
