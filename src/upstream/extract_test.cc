#include "upstream/extract.h"

#include <gtest/gtest.h>

namespace pawl::upstream {
namespace {

EngineProfile profile_of_fields() {
  EngineProfile p;
  p.engine = "X";
  ArgumentRule fields;
  fields.kind = "fields";
  fields.files = {"*args.py", "*groups/*.py"};
  fields.classes = {"*Args"};
  fields.metadata = {"Arg"};
  ArgumentRule calls;
  calls.kind = "calls";
  calls.files = {"*args.py"};
  calls.functions = {"add_argument"};
  p.arguments = {fields, calls};
  p.deprecated_actions = {"Deprecated*"};
  p.default_of = {{"Field", "default|0|default_factory"}, {"get_field", ""}};
  p.environment.prefixes = {"X_"};
  p.environment.files = {"*envs.py"};
  p.environment.deprecated = {"Old"};
  p.resolutions.push_back({{"*args.py"}, {"self"}, {}, {}});
  p.endpoints = {{"*server.py"}, {"get", "post"}};
  return p;
}

Schema schema_of(const SourceTree& tree, const EngineProfile& profile) {
  Program program(tree, profile.default_of);
  return extract_schema(tree, profile, program);
}

SourceTree tree_of(std::map<std::string, std::string> files) {
  SourceTree tree;
  tree.files = std::move(files);
  return tree;
}

TEST(Extract, AnnotatedFieldsGiveFlagsAliasesChoicesAndDefaults) {
  const auto profile = profile_of_fields();
  const Schema s = schema_of(tree_of({{"p/args.py",
                                       "from p.lists import COLOURS\nSIZES = ['s'] + ['m']\n"
                                       "class XArgs:\n"
                                       "    tp_size: A[int, Arg(help='how many', aliases=['--tp'], cli_name='--tensor-parallel-size')] = 1 << 3\n"
                                       "    colour: A[Optional[str], Arg(help='c', choices=COLOURS)] = None\n"
                                       "    size: A[str, Arg(choices=SIZES)] = 's'\n"
                                       "    mode: A[Literal['a', 'b'], 'bare help'] = 'a'\n"
                                       "    quick: A[bool, 'q'] = False\n"
                                       "    hidden: A[int, Arg(no_cli=True)] = 1\n"
                                       "    plain: int = 2\n"},
                                      {"p/lists.py", "COLOURS = ['red', 'blue']\n"}}),
                             profile);
  ASSERT_EQ(s.arguments.size(), 5u);
  const Argument* tp = s.find("--tp");
  ASSERT_NE(tp, nullptr);
  EXPECT_EQ(tp->names[0], "--tensor-parallel-size");
  EXPECT_EQ(tp->dest, "tp_size");
  EXPECT_EQ(*tp->fallback, codec::Json(8));
  EXPECT_EQ(tp->place.line, 4);
  EXPECT_EQ(*s.find("--colour")->choices, (std::vector<std::string>{"red", "blue"}));
  EXPECT_EQ(*s.find("--size")->choices, (std::vector<std::string>{"s", "m"}));
  EXPECT_EQ(*s.find("--mode")->choices, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(s.find("--quick")->takes_value);
  EXPECT_EQ(s.find("--hidden"), nullptr);
  EXPECT_EQ(s.find("--plain"), nullptr);
}

TEST(Extract, DeprecatedActionsCarryTheirSuccessor) {
  const Schema s =
      schema_of(tree_of({{"args.py",
                          "class XArgs:\n    a_b: A[int, 'n'] = 1\n    old_way: A[bool, 'o'] = False\n"
                          "    def cli(parser):\n"
                          "        parser.add_argument('--ab', type=int, action=DeprecatedAliasStoreAction, new_flag='--a-b', dest='a_b', help='h')\n"
                          "        parser.add_argument('--gone', action=DeprecatedAction, help='Removed. Use --a-b.')\n"
                          "    def post(self):\n        if self.old_way:\n"
                          "            logger.warning('--old-way is deprecated, use --new-way fast instead.')\n"}}),
                profile_of_fields());
  EXPECT_TRUE(s.find("--ab")->deprecated);
  EXPECT_EQ(s.find("--ab")->successor, "--a-b");
  EXPECT_EQ(s.find("--ab")->dest, "a_b");
  EXPECT_TRUE(s.find("--gone")->ignored);
  EXPECT_EQ(s.find("--gone")->successor, "--a-b");
  EXPECT_TRUE(s.find("--old-way")->deprecated);
  EXPECT_EQ(s.find("--old-way")->successor, "--new-way=fast");
}

TEST(Extract, KeywordsBehindAFunctionComeFromTheClass) {
  EngineProfile p = profile_of_fields();
  ArgumentRule calls;
  calls.kind = "calls";
  calls.files = {"*utils.py"};
  calls.functions = {"add_argument"};
  calls.kwargs_of = {"get_kwargs"};
  calls.negation = "--no-";
  p.arguments = {calls};
  const Schema s = schema_of(
      tree_of({{"v/utils.py",
                "from v.config import Model\n"
                "class E:\n    def add(parser):\n        kw = get_kwargs(Model)\n"
                "        g.add_argument('--dtype', '-d', **kw['dtype'])\n        g.add_argument('--eager', **kw['eager'])\n"},
               {"v/config/__init__.py", "from .model import Model\n"},
               {"v/config/model.py",
                "D = Literal['auto', 'half']\nclass Model:\n    dtype: D | None = Field(default='auto')\n    \"\"\"Type.\"\"\"\n    eager: bool = False\n"}}),
      p);
  ASSERT_EQ(s.arguments.size(), 2u);
  const Argument* dtype = s.find("-d");
  ASSERT_NE(dtype, nullptr);
  EXPECT_EQ(*dtype->choices, (std::vector<std::string>{"auto", "half"}));
  EXPECT_EQ(*dtype->fallback, codec::Json("auto"));
  EXPECT_EQ(dtype->help, "Type.");
  EXPECT_NE(s.find("--no-eager"), nullptr);
}

TEST(Extract, EnvironmentNamesAreDeclaredReadOrSuperseded) {
  const Schema s = schema_of(tree_of({{"p/envs.py",
                                       "class E:\n    X_PORT = EnvInt(3)\nT = {\n  'X_LOG': Old(replacement='X_TRACE'),\n  'X_GRPC': Old(note=\"Please use "
                                       "'--grpc-port' instead.\"),\n}\n"},
                                      {"p/run.py", "a = os.environ['X_SECRET_KNOB']\nb = 'X_'\n"}}),
                             profile_of_fields());
  ASSERT_NE(s.environment_of("X_PORT"), nullptr);
  EXPECT_EQ(s.environment_of("X_PORT")->fallback_text, "3");
  EXPECT_EQ(s.environment_of("X_LOG")->successor, "X_TRACE");
  EXPECT_EQ(s.environment_of("X_GRPC")->successor, "--grpc-port");
  ASSERT_NE(s.environment_of("X_SECRET_KNOB"), nullptr);
  EXPECT_FALSE(s.environment_of("X_SECRET_KNOB")->declared);
}

TEST(Extract, EndpointsComeFromDecorators) {
  const Schema s =
      schema_of(tree_of({{"server.py", "@app.get('/health')\nasync def h():\n    pass\n@app.post('/generate')\ndef g():\n    pass\n"}}), profile_of_fields());
  ASSERT_EQ(s.endpoints.size(), 2u);
  EXPECT_EQ(s.endpoints[1].path, "/generate");
}

TEST(Extract, WhatAnExpressionIsWorthIsSaidOnlyWhenItIsKnown) {
  const Schema s = schema_of(tree_of({{"args.py",
                                       "class XArgs:\n    a: A[int, 'h'] = compute()\n    b: A[str, Arg(choices=list(T.keys()))] = Mode.FAST.value\n    c: "
                                       "A[str, 'h'] = LIST[0]\nLIST = ['first', 'second']\nT = {'u': "
                                       "f, 'v': g}\nclass Mode(Enum):\n    FAST = 'fast'\n"}}),
                             profile_of_fields());
  EXPECT_FALSE(s.find("--a")->fallback);
  EXPECT_EQ(s.find("--a")->fallback_text, "compute()");
  EXPECT_EQ(*s.find("--b")->fallback, codec::Json("fast"));
  EXPECT_EQ(*s.find("--c")->fallback, codec::Json("first"));
  EXPECT_EQ(*s.find("--b")->choices, (std::vector<std::string>{"u", "v"}));
}

TEST(Extract, BrokenSyntaxIsSaid) {
  const Schema s = schema_of(tree_of({{"args.py", "class XArgs:\n    a: A[int, 'h'] = 1\n    b: A[int, 'h'] = (((\n"}}), profile_of_fields());
  EXPECT_FALSE(s.problems.empty());
}

TEST(HelpText, LlamaFormGivesNamesValuesDefaultsAndEnvironment) {
  const auto all = arguments_of_help(
      "----- common params -----\n\n"
      "-h,    --help, --usage                  print usage and exit\n"
      "-t,    --threads N                      number of threads to use (default: -1)\n"
      "                                        (env: L_THREADS)\n"
      "-ctk,  --cache-type-k TYPE              KV type\n"
      "                                        allowed values: f32, f16, q8_0\n"
      "                                        (default: f16)\n"
      "--mmap, --no-mmap                       whether to map (default: enabled)\n"
      "--draft, --draft-n N                    the argument has been removed. use --spec-draft-n-max\n"
      "-to,   --timeout N                      server timeout in seconds (default: 600)\n",
      "help.txt");
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[1].names, (std::vector<std::string>{"--threads", "-t"}));
  EXPECT_TRUE(all[1].takes_value);
  EXPECT_EQ(*all[1].fallback, codec::Json(-1));
  EXPECT_EQ(all[1].environment, "L_THREADS");
  EXPECT_EQ(all[2].choices->size(), 3u);
  EXPECT_EQ(all[3].names.size(), 2u);
  EXPECT_FALSE(all[3].takes_value);
  EXPECT_TRUE(all[4].ignored);
  EXPECT_EQ(all[4].successor, "--spec-draft-n-max");
  EXPECT_EQ(*all[5].fallback, codec::Json(600));
}

TEST(Clap, FieldsWithALongNameAreOptions) {
  const auto all = arguments_of_clap(
      "struct Cli {\n  /// Where to listen.\n  #[arg(long, default_value = \"0.0.0.0\", env = \"SMG_HOST\")]\n  host: String,\n"
      "  #[arg(\n    long = \"max-tries\",\n    default_value_t = 5\n  )]\n  pub tries: u32,\n  #[arg(short, long)]\n  verbose: bool,\n  plain: u8,\n}\n",
      "main.rs");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].names[0], "--host");
  EXPECT_EQ(all[0].environment, "SMG_HOST");
  EXPECT_EQ(all[0].help, "Where to listen.");
  EXPECT_EQ(all[1].names[0], "--max-tries");
  EXPECT_EQ(*all[1].fallback, codec::Json(5));
  EXPECT_FALSE(all[2].takes_value);
}

TEST(Notice, NamesTheFlagAndWhatToUse) {
  EXPECT_EQ(read_notice("--enable-x is deprecated. Please use --x-backend=auto instead.").successor, "--x-backend=auto");
  EXPECT_EQ(read_notice("--enable-x is deprecated. Please use --x-backend=auto instead.").flag, "--enable-x");
  EXPECT_EQ(read_notice("'--a' is deprecated and will be removed. Use --b for one, or --c for two.").successor, "--b");
  EXPECT_EQ(read_notice("Use --g-{d,p}=off instead; --h is deprecated").successor, "--g-{d,p}=off");
  EXPECT_TRUE(read_notice("nothing here is deprecated").flag.empty());
}

}  // namespace
}  // namespace pawl::upstream
