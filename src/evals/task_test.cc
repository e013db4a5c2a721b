#include "evals/task.h"

#include <gtest/gtest.h>

#include "posix/embedded_assets.h"

namespace pawl::evals {
namespace {

class OneFile final : public io::Assets {
 public:
  explicit OneFile(std::string text) : text_(std::move(text)) {}
  Result<std::string> read(std::string_view name) const override {
    if (name != "evals/t.yaml") return not_found("no data file " + std::string(name));
    return text_;
  }
  std::vector<std::string> list(std::string_view) const override { return {"evals/t.yaml"}; }

 private:
  std::string text_;
};

constexpr const char* kGood = R"YAML(task: t
prompt: "Q: {question} A:"
until: ["</s>"]
max_tokens: 8
threshold: 0.5
filters:
  strict: {pattern: "#### ([0-9]+)", group_select: -1}
  flexible: {pattern: "[0-9]+"}
questions:
  - {question: "1+1", answer: 2}
)YAML";

std::string with(std::string from, const std::string& to) {
  std::string text = kGood;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(EvalTask, IsReadWithItsPromptFiltersAndQuestions) {
  const auto task = load_task(OneFile(kGood), "t");
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->max_tokens, 8);
  EXPECT_EQ(task->threshold, 0.5);
  EXPECT_EQ(task->until, std::vector<std::string>{"</s>"});
  EXPECT_EQ(task->strict.group_select, -1);
  ASSERT_TRUE(task->flexible);
  EXPECT_EQ(task->flexible->group_select, 0) << "the first match when it does not say";
  EXPECT_EQ(task->definition.size(), 64u);
  ASSERT_EQ(task->questions.size(), 1u);
  EXPECT_EQ(task->questions[0].answer, "2");
  EXPECT_EQ(task->prompt_of(task->questions[0]), "Q: 1+1 A:");
}

TEST(EvalTask, TheOneThatShipsIsGood) {
  const auto task = load_task(posix::EmbeddedAssets(), "arith24");
  ASSERT_TRUE(task) << task.error().message << "\n" << task.error().remedy;
  EXPECT_EQ(task->questions.size(), 24u);
}

constexpr const char* kRow = "{\"question\": \"How many?\", \"answer\": \"first 1, then\\n#### 1,2\"}\n";

TEST(EvalTask, Gsm8kReadsItsQuestionsFromADataSet) {
  for (const char* name : {"gsm8k", "gsm8k-inferencex"}) {
    SCOPED_TRACE(name);
    const auto missing = load_task(posix::EmbeddedAssets(), name);
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().remedy.find("--data-set"), std::string::npos) << missing.error().remedy;
    const auto task = load_task(posix::EmbeddedAssets(), name, "some.jsonl", [](const std::string& wanted) -> Result<std::string> {
      EXPECT_EQ(wanted, "some.jsonl");
      return std::string(kRow) + "\n" + kRow;
    });
    ASSERT_TRUE(task) << task.error().message << "\n" << task.error().remedy;
    ASSERT_EQ(task->questions.size(), 2u);
    EXPECT_EQ(task->questions[0].answer, "1,2");
    EXPECT_EQ(task->reported_name(), "gsm8k");
    EXPECT_EQ(task->name, name);
    EXPECT_EQ(task->threshold_for("glm5"), 0.94);
    EXPECT_EQ(task->threshold_for("unknown"), 0.9);
    EXPECT_EQ(task->strict.group_select, std::string(name) == "gsm8k" ? 0 : -1);
    const std::string prompt = task->prompt_of(task->questions[0]);
    EXPECT_TRUE(prompt.ends_with("Answer:")) << prompt;
    std::size_t shots = 0;
    for (std::size_t at = prompt.find("\n#### "); at != std::string::npos; at = prompt.find("\n#### ", at + 1)) ++shots;
    EXPECT_EQ(shots, 5u);
  }
}

TEST(EvalTask, TheDefinitionHoldsTheQuestions) {
  const auto with_rows = [](const std::string& rows) {
    return load_task(posix::EmbeddedAssets(), "gsm8k", "x", [&](const std::string&) -> Result<std::string> { return rows; });
  };
  const auto a = with_rows(kRow), b = with_rows(std::string(kRow) + kRow);
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->definition, b->definition);
  const auto broken = with_rows("{\"question\": \"x\", \"answer\": \"no marker\"}\n");
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message.find("row 1"), std::string::npos) << broken.error().message;
  EXPECT_FALSE(with_rows("{\"question\": 1,"));
  EXPECT_FALSE(with_rows("[1]"));
}

TEST(EvalTask, ChoicesHoldTheAnswer) {
  const std::string good = "task: t\nkind: choices\nprompt: \"{question}\"\nthreshold: 0.5\nquestions:\n  - {question: a, answer: b, choices: [b, c]}\n";
  const auto task = load_task(OneFile(good), "t");
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->kind, TaskKind::kChoices);
  EXPECT_FALSE(
      load_task(OneFile("task: t\nkind: choices\nprompt: \"{question}\"\nthreshold: 0.5\nquestions:\n  - {question: a, answer: d, choices: [b, c]}\n"), "t"));
  const auto shipped = load_task(posix::EmbeddedAssets(), "choices8");
  ASSERT_TRUE(shipped) << shipped.error().message;
  EXPECT_EQ(shipped->questions.size(), 8u);
}

TEST(EvalTask, AnotherFileIsAnotherDefinition) {
  const auto a = load_task(OneFile(kGood), "t");
  const auto b = load_task(OneFile(with("max_tokens: 8", "max_tokens: 9")), "t");
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->definition, b->definition);
}

TEST(EvalTask, AnErrorSaysWhereAndWhat) {
  struct Wrong {
    std::string from, to, message;
    int line;
  };
  for (const Wrong& w : std::vector<Wrong>{
           {"task: t", "task: u", "task must be t", 1},
           {"{question} A:", "A:", "must hold {question}", 2},
           {"max_tokens: 8", "max_tokens: 0", "max_tokens must be a whole number of at least 1", 4},
           {"max_tokens: 8", "max_token: 8", "max_tokens is missing", 1},
           {"threshold: 0.5", "threshold: 1.5", "threshold must be a number from 0 to 1", 5},
           {"threshold: 0.5", "threshold: .nan", "threshold must be a number from 0 to 1", 5},
           {"#### ([0-9]+)", "#### ([0-9]+", "filters.strict.pattern", 7},
           {"group_select: -1", "group_select: last", "filters.strict.group_select", 7},
           {"  flexible: {pattern: \"[0-9]+\"}\n", "", "flexible is missing", 7},
           {"answer: 2", "answr: 2", "unknown key answr", 10},
           {"answer: 2", "answer: ''", "answer must be a text", 10},
       }) {
    SCOPED_TRACE(w.to);
    const auto task = load_task(OneFile(with(w.from, w.to)), "t");
    ASSERT_FALSE(task);
    ASSERT_TRUE(task.error().place) << task.error().message;
    const std::string all = task.error().message + "\n" + task.error().remedy;
    EXPECT_NE(all.find(w.message), std::string::npos) << all;
    EXPECT_EQ(task.error().place->file, "data/evals/t.yaml");
    if (task.error().message.find(w.message) != std::string::npos) {
      EXPECT_EQ(task.error().place->line, w.line);
    }
  }
}

TEST(EvalTask, AllViolationsAreNamedAtOnce) {
  const auto task = load_task(OneFile("task: t\nprompt: x\nmax_tokens: 0\nthreshold: 2\nfilters: 3\nquestions: []\n"), "t");
  ASSERT_FALSE(task);
  const std::string all = task.error().message + "\n" + task.error().remedy;
  for (const char* part : {"prompt must hold", "max_tokens must be", "threshold must be", "filters must be a mapping", "questions must be a list"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << " in\n" << all;
  }
  EXPECT_NE(all.find("also data/evals/t.yaml:3:"), std::string::npos) << all;
}

TEST(EvalTask, ANameWithoutAFileIsNotFound) {
  const auto task = load_task(OneFile(kGood), "other");
  ASSERT_FALSE(task);
  EXPECT_EQ(task.error().cls, ErrorClass::kNotFound);
}

}  // namespace
}  // namespace pawl::evals
