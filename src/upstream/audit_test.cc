#include "upstream/audit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "upstream/section.h"

namespace pawl::upstream {
namespace {

EngineProfile profile() {
  EngineProfile p;
  p.engine = "X";
  p.command_line.launch = {"x serve"};
  p.command_line.prefixes = true;
  ArgumentRule fields;
  fields.kind = "fields";
  fields.files = {"*args.py"};
  fields.classes = {"Args"};
  fields.metadata = {"Arg"};
  ArgumentRule calls;
  calls.kind = "calls";
  calls.files = {"*args.py"};
  calls.functions = {"add_argument"};
  p.arguments = {fields, calls};
  p.deprecated_actions = {"Deprecated*"};
  p.resolutions.push_back({{"*args.py", "*hooks/*.py"}, {"self", "args", "cfg"}, {"declare"}, {"*"}, {"register_for"}});
  p.hardware = {{"is_sm90", {"sm90"}}, {"is_sm100", {"sm100"}}};
  p.architecture = {"model_arch"};
  p.gates = {{"cache_*", "enable_cache"}};
  p.environment = {{"X_"}, {"*envs.py"}, {"Old"}};
  p.dependencies.coupled = {"torch", "kernels"};
  return p;
}

SourceTree tree(const std::string& revision, std::map<std::string, std::string> files) {
  SourceTree t;
  t.shown = "x " + revision;
  t.revision = revision;
  t.origin = "x-" + revision + ".whl";
  t.files = std::move(files);
  return t;
}

RecipeCommand recipe(const std::string& flags) {
  auto command = read_script("x serve " + flags + "\n", profile(), "s.sh");
  EXPECT_TRUE(command);
  return *command;
}

AuditReport audited(const SourceTree& before, const SourceTree& after, const RecipeCommand& command, const std::string& family = "sm90",
                    const std::string& architecture = "") {
  static const EngineProfile p = profile();
  return audit({before, after, p, command, nullptr, "h200", family, architecture});
}

const FlagFinding& finding(const AuditReport& report, const std::string& flag) {
  for (const FlagFinding& f : report.flags) {
    if (f.flag == flag) return f;
  }
  ADD_FAILURE() << "no finding for " << flag;
  static const FlagFinding kNone;
  return kNone;
}

std::string args(const std::string& fields, const std::string& rest = "") { return "class Args:\n" + fields + rest; }

TEST(Audit, EveryVerdictOfTheTable) {
  const SourceTree before =
      tree("1", {{"p/args.py", args("    keep: A[int, 'h'] = 1\n"
                                    "    tp_size: A[int, Arg(aliases=['--tp'])] = 1\n"
                                    "    colour: A[str, Arg(choices=['red', 'blue'])] = 'red'\n"
                                    "    retries: A[int, 'h'] = 0\n"
                                    "    graph: A[int, 'h'] = 0\n"
                                    "    gone: A[int, 'h'] = 0\n"
                                    "    swap: A[bool, 'h'] = False\n",
                                    "    def cli(p):\n"
                                    "        p.add_argument('--legacy', action=DeprecatedAliasStoreAction, new_flag='--modern', dest='modern')\n"
                                    "        p.add_argument('--all-off', action=DeprecatedStoreTrueAction, new_flag='--{a,b}-mode=off')\n")},
                 {"p/run.py", "if server.args.retries > 0:\n    limit(self.args.retries, 3)\n"}});
  const SourceTree after =
      tree("2", {{"p/args.py", args("    keep: A[int, 'h'] = 1\n"
                                    "    tp_size: A[int, Arg(aliases=['--tp'])] = 1\n"
                                    "    colour: A[str, Arg(choices=['red'])] = 'red'\n"
                                    "    attempts: A[int, 'h'] = 0\n"
                                    "    graph_decode: A[int, 'h'] = 0\n    graph_prefill: A[int, 'h'] = 0\n"
                                    "    modern: A[int, 'h'] = 0\n    a_mode: A[str, 'h'] = ''\n    b_mode: A[str, 'h'] = ''\n"
                                    "    swap: A[bool, 'h'] = False\n    new_swap: A[str, 'h'] = ''\n",
                                    "    def post(self):\n        if self.swap:\n            warn('--swap is deprecated, use --new-swap=on instead')\n")},
                 {"p/run.py", "if server.args.attempts > 0:\n    limit(self.args.attempts, 3)\n"}});
  const AuditReport r = audited(before, after, recipe("--keep 2 --tp 8 --colour blue --retries 3 --graph 4 --gone 1 --legacy 1 --all-off --swap --nothing 1"));
  EXPECT_EQ(finding(r, "--keep").verdict, Verdict::kDefined);
  EXPECT_EQ(finding(r, "--tp").verdict, Verdict::kAlias);
  EXPECT_EQ(finding(r, "--tp").successor, "--tp-size");
  EXPECT_EQ(finding(r, "--colour").verdict, Verdict::kValuesChanged);
  EXPECT_TRUE(finding(r, "--colour").breaks);
  EXPECT_EQ(finding(r, "--retries").verdict, Verdict::kRenamed);
  EXPECT_EQ(finding(r, "--retries").successor, "--attempts");
  EXPECT_NE(finding(r, "--retries").evidence.find("p/run.py:1"), std::string::npos);
  EXPECT_EQ(finding(r, "--graph").verdict, Verdict::kAmbiguous);
  EXPECT_EQ(finding(r, "--gone").verdict, Verdict::kRemoved);
  EXPECT_EQ(finding(r, "--legacy").verdict, Verdict::kRenamed);
  EXPECT_EQ(finding(r, "--legacy").successor, "--modern");
  EXPECT_EQ(finding(r, "--all-off").verdict, Verdict::kSplit);
  EXPECT_EQ(finding(r, "--swap").verdict, Verdict::kDeprecated);
  EXPECT_EQ(finding(r, "--swap").successor, "--new-swap=on");
  EXPECT_FALSE(finding(r, "--swap").breaks);
  EXPECT_EQ(finding(r, "--nothing").verdict, Verdict::kUndefined);
  EXPECT_EQ(r.breaking(), 7u);
}

TEST(Audit, ASimilarNameIsNoEvidence) {
  const SourceTree before = tree("1", {{"args.py", args("    disable_log: A[bool, 'h'] = False\n")}, {"run.py", "if not args.disable_log: log(request)\n"}});
  const SourceTree after = tree("2", {{"args.py", args("    enable_log: A[bool, 'h'] = False\n")}, {"run.py", "if args.enable_log: log(request)\n"}});
  const FlagFinding& f = finding(audited(before, after, recipe("--disable-log")), "--disable-log");
  EXPECT_EQ(f.verdict, Verdict::kRemoved);
  EXPECT_TRUE(f.successor.empty());
}

TEST(Audit, WhereTheParserMovedIsNoRemoval) {
  const SourceTree before =
      tree("1", {{"p/args.py", args("    a: A[int, 'h'] = None\n", "    def post(self):\n        if self.a is None:\n            self.a = 4\n")}});
  const SourceTree after =
      tree("2", {{"p/new_args.py", args("    a: A[int, 'h'] = None\n")},
                 {"p/hooks/x.py", "def h(args):\n    cfg = view(args)\n    if cfg.a is not None:\n        return\n    declare(args, 'h', a=4)\n"}});
  const AuditReport r = audited(before, after, recipe("--a 1"));
  EXPECT_EQ(finding(r, "--a").verdict, Verdict::kDefined);
  EXPECT_TRUE(finding(r, "--a").moved);
  EXPECT_EQ(r.moved.size(), 2u);
  EXPECT_TRUE(r.defaults.empty()) << r.defaults[0].dest;  // the same value under the same condition, written otherwise
}

TEST(Audit, ChangedDefaultsAreSortedByWhetherTheyMatter) {
  const SourceTree before = tree(
      "1",
      {{"args.py", args("    pinned: A[int, 'h'] = 1\n    free: A[int, 'h'] = 1\n    cache_ratio: A[float, 'h'] = 2.0\n    enable_cache: A[bool, 'h'] = False\n"
                        "    backend: A[str, 'h'] = None\n    size: A[int, 'h'] = None\n    fusion: A[bool, 'h'] = False\n    sp: A[str, 'h'] = None\n    "
                        "model_only: A[str, 'h'] = 'x'\n")}});
  const SourceTree after =
      tree("2", {{"args.py",
                  args("    pinned: A[int, 'h'] = 2\n    free: A[int, 'h'] = 2\n    cache_ratio: A[float, 'h'] = None\n    enable_cache: A[bool, 'h'] = False\n"
                       "    backend: A[str, 'h'] = None\n    size: A[int, 'h'] = None\n    fusion: A[bool, 'h'] = False\n    sp: A[str, 'h'] = None\n    "
                       "model_only: A[str, 'h'] = 'x'\n",
                       "    def post(self):\n"
                       "        if is_sm100() and self.fusion is False:\n            self.fusion = True\n"
                       "        if self.backend is None:\n            self.backend = 'fast'\n"
                       "        if self.size is None and is_sm90():\n            self.size = 1 << 4\n"
                       "        if self.enable_cache:\n            self.sp = 'on'\n")},
                 {"hooks/m.py", "@register_for('Other')\ndef f(args, cfg):\n    return {'model_only': 'y'}\n"}});
  const AuditReport r = audited(before, after, recipe("--pinned 1 --backend slow"), "sm90", "Mine");
  std::map<std::string, Effect> effects;
  for (const DefaultFinding& d : r.defaults) effects[d.dest] = d.effect;
  EXPECT_EQ(effects.at("pinned"), Effect::kPinned);
  EXPECT_EQ(effects.at("free"), Effect::kAffects);
  EXPECT_EQ(effects.at("cache_ratio"), Effect::kGated);
  EXPECT_EQ(effects.at("fusion"), Effect::kOtherHardware);
  EXPECT_EQ(effects.at("backend"), Effect::kPinned);
  EXPECT_EQ(effects.at("size"), Effect::kAffects);
  EXPECT_EQ(effects.at("sp"), Effect::kGated);
  EXPECT_EQ(effects.at("model_only"), Effect::kOtherModel);
  const auto free = std::ranges::find(r.effective, "free", &EffectiveValue::dest);
  ASSERT_NE(free, r.effective.end());
  EXPECT_EQ(free->before, "1");
  EXPECT_EQ(free->after, "2");
}

TEST(Audit, AnUnknownConditionMakesItMayAffect) {
  const SourceTree before = tree("1", {{"args.py", args("    a: A[int, 'h'] = None\n")}});
  const SourceTree after = tree(
      "2", {{"args.py", args("    a: A[int, 'h'] = None\n", "    def post(self):\n        if memory() > 3 and self.a is None:\n            self.a = 7\n")}});
  const AuditReport r = audited(before, after, recipe("--a $X"), "sm90");
  ASSERT_EQ(r.defaults.size(), 1u);
  EXPECT_EQ(r.defaults[0].effect, Effect::kPinned);  // set when the script runs, so never None
  const AuditReport open = audited(before, after, recipe(""), "sm90");
  ASSERT_EQ(open.defaults.size(), 1u);
  EXPECT_EQ(open.defaults[0].effect, Effect::kMayAffect);
}

TEST(Audit, DependenciesEnvironmentAndEndpointsAreCompared) {
  const std::string m = "Requires-Dist: torch==";
  const SourceTree before = tree("1", {{"x-1.dist-info/METADATA", m + "2.11.0\nRequires-Dist: Kernels_X>=1\nRequires-Dist: same\n"},
                                       {"args.py", args("")},
                                       {"envs.py", "class E:\n    X_A = I(1)\n    X_B = I(1)\n"}});
  const SourceTree after = tree("2", {{"x-2.dist-info/METADATA", m + "2.13.0; python_version > '3'\nRequires-Dist: same\n"},
                                      {"args.py", args("")},
                                      {"envs.py", "class E:\n    X_A = I(1)\nT = {'X_A': Old(replacement='X_C')}\n"}});
  RecipeCommand command = recipe("");
  command.environment = {{"X_A", "1", {}}, {"X_B", "1", {}}, {"PATH", "x", {}}};
  const AuditReport r = audited(before, after, command);
  ASSERT_EQ(r.dependencies.size(), 2u);
  EXPECT_EQ(r.dependencies[0].name, "torch");
  EXPECT_TRUE(r.dependencies[0].coupled);
  EXPECT_EQ(r.dependencies[0].direction, "up");
  EXPECT_EQ(r.dependencies[1].direction, "removed");
  ASSERT_EQ(r.environment.size(), 2u);
  EXPECT_EQ(r.environment[0].verdict, Verdict::kDeprecated);
  EXPECT_EQ(r.environment[0].successor, "X_C");
  EXPECT_TRUE(r.environment[1].breaks);
}

TEST(Audit, SectionsOfBothLanguagesHaveTheSameNumbersAndNoForeignMarks) {
  const SourceTree before = tree("1", {{"args.py", args("    a: A[int, 'h'] = 1\n    b: A[int, 'h'] = 1\n")}});
  const SourceTree after = tree("2", {{"args.py", args("    a: A[int, 'h'] = 2\n    c: A[int, '@someone | `x`'] = 1\n")}});
  const AuditReport r = audited(before, after, recipe("--b 1"));
  const std::string en = section(r, Language::kEnglish), zh = section(r, Language::kChinese);
  for (const std::string* text : {&en, &zh}) {
    EXPECT_NE(text->find("`--b 1`"), std::string::npos);
    EXPECT_NE(text->find("`1` → `2`"), std::string::npos);
    EXPECT_EQ(text->find('@'), std::string::npos);
  }
  EXPECT_EQ(std::ranges::count(en, '`'), std::ranges::count(zh, '`'));
  EXPECT_NE(zh.find("参数审计"), std::string::npos);
  EXPECT_EQ(audit_json(r)["schema"], "pawl.upstream-audit/1");
  EXPECT_EQ(audit_json(r)["flags"][0]["verdict"], "removed");
}

TEST(Dependencies, RequirementsAreTakenApart) {
  const Dependency d = read_requirement("flashinfer_python[cu13]==0.6.12 ; extra == 'a'");
  EXPECT_EQ(d.name, "flashinfer-python");
  EXPECT_EQ(d.requirement, "==0.6.12");
  EXPECT_EQ(d.marker, "extra == 'a'");
  EXPECT_EQ(read_requirement("kernels (<0.15,>=0.14.1)").requirement, "<0.15,>=0.14.1");
  EXPECT_TRUE(read_requirement("-r other.txt").name.empty());
  const auto all = read_dependencies(
      tree("1", {{"pyproject.toml",
                  "[project]\nname = \"x\"\ndependencies = [\n  \"torch==2.1\",  # why\n  'numpy',\n]\n[project.optional-dependencies]\ndev = [\"ruff>=1\"]\n"},
                 {"docker/Dockerfile", "ARG CUDA_VERSION=13.0.1\nFROM nvidia/cuda:13.0.1-devel-ubuntu24.04 AS base\n"}}),
      {{}, {}, {{"CUDA_VERSION", "cuda-base"}}});
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].name, "cuda-base");
}

}  // namespace
}  // namespace pawl::upstream
