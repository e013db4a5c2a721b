#include "evals/lm_eval_task.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace pawl::evals {
namespace {

constexpr const char* kLmEval = R"YAML(task: ours_like_gsm8k
dataset_path: json
dataset_kwargs:
  data_files: {train: shots.jsonl, test: asked.jsonl}
output_type: generate_until
training_split: train
fewshot_split: train
test_split: test
doc_to_text: "Question: {{question}}\nAnswer:"
doc_to_target: "{{answer}}"
num_fewshot: 2
fewshot_config: {sampler: first_n}
generation_kwargs: {until: ["Question:", "</s>"], do_sample: false, temperature: 0.0, max_gen_toks: 96}
filter_list:
  - {name: strict-match, filter: [{function: regex, regex_pattern: "#### (\\-?[0-9\\.\\,]+)"}, {function: take_first}]}
  - {name: flexible-extract, filter: [{function: regex, group_select: -1, regex_pattern: "(-?[$0-9.,]{2,})|(-?[0-9]+)"}, {function: take_first}]}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true, ignore_case: true, ignore_punctuation: false, regexes_to_ignore: [",", "\\$", "(?s).*#### ", "\\.$"]}
metadata: {version: 3.0}
)YAML";

const std::map<std::string, std::string> kFiles = {
    {"shots.jsonl",
     "{\"question\": \"A?\", \"answer\": \"so\\n#### 1\"}\n{\"question\": \"B?\", \"answer\": \"thus\\n#### 2\"}\n{\"question\": \"C?\", \"answer\": \"3\"}\n"},
    {"asked.jsonl", "{\"question\": \"D?\", \"answer\": \"hence\\n#### 4\"}\n{\"question\": \"E?\", \"answer\": \"#### 1,005\"}\n"}};

Result<std::string> from_files(const std::string& name) {
  const auto found = kFiles.find(name);
  if (found == kFiles.end()) return not_found("no " + name);
  return found->second;
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kLmEval;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Result<Task> read(const std::string& text) { return read_task(text, "t.yaml", "", "", from_files); }

TEST(LmEvalTask, IsReadAsLmEvalReadsIt) {
  const auto task = read(kLmEval);
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->name, "ours_like_gsm8k");
  ASSERT_EQ(task->questions.size(), 2u);
  EXPECT_EQ(task->prompt_of(task->questions[0]), "Question: A?\nAnswer: so\n#### 1\n\nQuestion: B?\nAnswer: thus\n#### 2\n\nQuestion: D?\nAnswer:");
  EXPECT_EQ(task->questions[0].answer, "hence\n#### 4") << "the whole target: the match rules find the number in it";
  EXPECT_EQ(task->until, (std::vector<std::string>{"Question:", "</s>"}));
  EXPECT_EQ(task->max_tokens, 96);
  EXPECT_EQ(task->strict.group_select, 0);
  ASSERT_TRUE(task->flexible);
  EXPECT_EQ(task->flexible->group_select, -1);
  EXPECT_TRUE(std::isnan(task->threshold)) << "such a file has none, so nothing passes without one";
  const auto matcher = Matcher::compile(task->match);
  ASSERT_TRUE(matcher);
  EXPECT_TRUE(matcher->equal("1005", task->questions[1].answer));
}

TEST(LmEvalTask, ItsDefinitionDependsOnTheQuestions) {
  const auto a = read(kLmEval);
  const auto b = read_task(kLmEval, "t.yaml", "", "", [](const std::string& name) -> Result<std::string> {
    if (name == "asked.jsonl") return std::string("{\"question\": \"F?\", \"answer\": \"6\"}\n");
    return from_files(name);
  });
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->definition, b->definition);
}

TEST(LmEvalTask, WhatItDoesNotUnderstandIsRefused) {
  struct Wrong {
    std::string from, to, message;
  };
  for (const Wrong& w : std::vector<Wrong>{
           {"fewshot_config: {sampler: first_n}\n", "", "drawn at random"},
           {"do_sample: false", "do_sample: true", "do_sample must be false"},
           {"temperature: 0.0", "temperature: 0.7", "temperature 0"},
           {"function: take_first", "function: majority_vote", "majority_vote is not understood"},
           {"metric: exact_match", "metric: bleu", "bleu is not understood"},
           {"metadata: {version: 3.0}", "process_results: !function x.y", "tag"},
           {"metadata: {version: 3.0}", "use_prompt: promptsource", "unknown key use_prompt"},
           {"dataset_path: json", "dataset_path: openai/gsm8k", "must be json"},
           {"test: asked.jsonl", "valid: asked.jsonl", "no file of the split test"},
           {"{{question}}", "{{question | upper}}", "not understood"},
           {"{{question}}", "{% if x %}", "not understood"},
           {"{{answer}}", "{{result}}", "no field result"},
           {"num_fewshot: 2", "num_fewshot: 4", "4 examples are wanted"},
       }) {
    SCOPED_TRACE(w.to);
    const auto task = read(with(w.from, w.to));
    ASSERT_FALSE(task);
    EXPECT_NE((task.error().message + task.error().remedy).find(w.message), std::string::npos) << task.error().message << "\n" << task.error().remedy;
  }
}

TEST(LmEvalTask, AMultipleChoiceTaskHasItsChoices) {
  const std::string text =
      "task: pick\ndataset_path: json\ndataset_kwargs: {data_files: {test: q.jsonl}}\noutput_type: multiple_choice\ndoc_to_text: \"{{q}}\"\n"
      "doc_to_target: label\ndoc_to_choice: [\"{{a}}\", \"{{b}}\"]\nmetric_list: [{metric: acc}]\n";
  const auto task = read_task(text, "t.yaml", "", "", [](const std::string&) -> Result<std::string> {
    return std::string("{\"q\": \"Which?\", \"a\": \"this\", \"b\": \"that\", \"label\": 1}\n");
  });
  ASSERT_TRUE(task) << task.error().message << task.error().remedy;
  EXPECT_EQ(task->kind, TaskKind::kChoices);
  EXPECT_EQ(task->questions[0].choices, (std::vector<std::string>{"this", "that"}));
  EXPECT_EQ(task->questions[0].answer, "that");
}

}  // namespace
}  // namespace pawl::evals
