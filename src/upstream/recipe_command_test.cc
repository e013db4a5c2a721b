#include "upstream/recipe_command.h"

#include <gtest/gtest.h>

namespace pawl::upstream {
namespace {

EngineProfile profile() {
  EngineProfile p;
  p.engine = "X";
  p.command_line.launch = {"x.launch_server", "x serve"};
  return p;
}

const GivenFlag* flag(const RecipeCommand& command, const std::string& name) {
  for (const GivenFlag& f : command.flags) {
    if (f.flag == name) return &f;
  }
  return nullptr;
}

TEST(RecipeCommand, ALaunchScriptGivesItsFlagsInOrder) {
  const auto c = read_script(
      "#!/bin/bash\nexport X_LOG=debug\nPORT=${PORT:-8888}  # comment --no-flag\nset -x\n"
      "PYTHONNOUSERSITE=1 X_MODE=fast python3 -m x.launch_server --model-path=$MODEL --host=0.0.0.0 \\\n"
      "--quiet \\\n--max 16384 --names a b 'c d' \\\n"
      "--interval $( [[ $CONC -gt 4 ]] && echo 30 || echo 10 ) \\\n"
      "--offset -1 --last \"$A/x\" > $LOG 2>&1 &\nPID=$!\nother --not-ours 1\n",
      profile(), "s.sh");
  ASSERT_TRUE(c) << c.error().message;
  ASSERT_EQ(c->flags.size(), 8u);
  EXPECT_EQ(c->flags[0].flag, "--model-path");
  EXPECT_FALSE(c->flags[0].literal);
  EXPECT_EQ(flag(*c, "--host")->values, std::vector<std::string>{"0.0.0.0"});
  EXPECT_TRUE(flag(*c, "--quiet")->values.empty());
  EXPECT_EQ(flag(*c, "--names")->values, (std::vector<std::string>{"a", "b", "c d"}));
  EXPECT_FALSE(flag(*c, "--interval")->literal);
  EXPECT_EQ(flag(*c, "--interval")->values.size(), 1u);
  EXPECT_EQ(flag(*c, "--offset")->values, std::vector<std::string>{"-1"});
  EXPECT_EQ(flag(*c, "--last")->values, std::vector<std::string>{"$A/x"});
  ASSERT_EQ(c->environment.size(), 3u);
  EXPECT_EQ(c->environment[0].name, "X_LOG");
  EXPECT_EQ(c->environment[2].value, "fast");
}

TEST(RecipeCommand, ArraysAndVariablesOfFlagsAreOpened) {
  const auto c = read_script("ARGS=(--a 1 --b)\nif [ \"$EP\" = 1 ]; then\n  ARGS+=(--c 2)\nfi\nEXTRA=\"--d 3 --e\"\nx serve m \"${ARGS[@]}\" $EXTRA --f\n",
                             profile(), "s.sh");
  ASSERT_TRUE(c) << c.error().message;
  ASSERT_EQ(c->flags.size(), 6u);
  EXPECT_FALSE(flag(*c, "--a")->conditional);
  EXPECT_TRUE(flag(*c, "--c")->conditional);
  EXPECT_EQ(flag(*c, "--d")->values, std::vector<std::string>{"3"});
}

TEST(RecipeCommand, AScriptWithoutALaunchIsAnErrorAndHostileOnesEnd) {
  EXPECT_FALSE(read_script("echo hello\n", profile(), "s.sh"));
  for (const char* text :
       {"x serve --a \"unclosed", "x serve --a $(((((", "x serve 'a", "A=(", "`", "x serve --a `", "\\", "x serve )))( --b ;;; && || <<< >>>"})
    (void)read_script(text, profile(), "s.sh");
}

TEST(RecipeCommand, AnEnginesOwnLogGivesEveryField) {
  const auto c =
      read_argument_log("[2026] server_args=ServerArgs(model_path='/m', tp_size=8, ratio=0.5, on=True, none=None, names=['a'])\nrest\n", profile(), "log");
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->resolved.at("tp_size"), codec::Json(8));
  EXPECT_EQ(c->resolved.at("on"), codec::Json(true));
  EXPECT_EQ(c->resolved.at("none"), codec::Json(nullptr));
  const auto d = read_argument_log("INFO non-default args: {'model': 'm', 'max_model_len': 2048}\n", profile(), "log");
  ASSERT_TRUE(d) << d.error().message;
  EXPECT_EQ(d->resolved.at("max_model_len"), codec::Json(2048));
  const auto e = read_argument_log("-m model.gguf --no-mmap -c 8192\n", profile(), "flags");
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_EQ(e->flags.size(), 3u);
  EXPECT_FALSE(read_argument_log("nothing here\n", profile(), "log"));
}

}  // namespace
}  // namespace pawl::upstream
