#include "upstream/python_syntax.h"

#include <gtest/gtest.h>

namespace pawl::upstream::py {
namespace {

Module parsed(std::string_view source) {
  auto module = parse(source, "t.py");
  EXPECT_TRUE(module) << module.error().message;
  return std::move(*module);
}

TEST(PythonSyntax, FieldsOfADataclassKeepNameAnnotationAndDefault) {
  const Module m = parsed("class S:\n    port: A[int, Arg(help='x' \"y\", aliases=['--p'])] = 30000\n    name: str\n");
  ASSERT_EQ(m.body.size(), 1u);
  const Stmt& cls = m.body[0];
  ASSERT_EQ(cls.body.size(), 2u);
  EXPECT_EQ(cls.body[0].target.text, "port");
  EXPECT_EQ(cls.body[0].value.text, "30000");
  EXPECT_EQ(cls.body[0].line, 2);
  const Expr& a = cls.body[0].annotation;
  ASSERT_EQ(a.kind, ExprKind::kSubscript);
  ASSERT_EQ(a.items.size(), 3u);
  EXPECT_EQ(a.items[2].called(), "Arg");
  EXPECT_EQ(a.items[2].keyword("help")->text, "xy");
  EXPECT_EQ(a.items[2].keyword("aliases")->items.at(0).text, "--p");
  EXPECT_TRUE(cls.body[1].value.text.empty());
}

TEST(PythonSyntax, BranchesKeepTheirConditionsInOrder) {
  const Module m =
      parsed("def f(self):\n    if a is not None and not b:\n        self.x = 1\n    elif c < 4 * 2:\n        pass\n    else:\n        return {'y': -2}\n");
  const Stmt& branch = m.body.at(0).body.at(0);
  ASSERT_EQ(branch.branches.size(), 3u);
  EXPECT_EQ(write(branch.branches[0].condition), "(a is not None and not (b))");
  EXPECT_EQ(branch.branches[0].body.at(0).target.dotted(), "self.x");
  EXPECT_EQ(write(branch.branches[1].condition), "c < 4 * 2");
  EXPECT_EQ(branch.branches[2].condition.kind, ExprKind::kTrue);
  EXPECT_EQ(write(branch.branches[2].body.at(0).value), "{\"y\": -2}");
}

TEST(PythonSyntax, BodiesOfLoopsAndTriesAreThere) {
  const Module m = parsed("for i in x:\n    a = 1\ntry:\n    b = 2\nexcept E:\n    c = 3\nwith y as z:\n    d = 4\n");
  ASSERT_EQ(m.body.size(), 3u);
  EXPECT_EQ(m.body[1].kind, StmtKind::kBlock);
  EXPECT_EQ(m.body[1].body.size(), 2u);
}

TEST(PythonSyntax, ImportsNameWhereFromAndUnderWhichName) {
  const Module m = parsed("from .a.b import C as D, E\nfrom x import *\nimport y.z\n");
  EXPECT_EQ(m.body[0].name, ".a.b");
  EXPECT_EQ(m.body[0].imports.at(0), (std::pair<std::string, std::string>("C", "D")));
  EXPECT_EQ(m.body[1].imports.at(0).first, "*");
  EXPECT_EQ(m.body[2].name, "");
}

TEST(PythonSyntax, EqualSourcesInOtherLayoutAreWrittenTheSame) {
  const Module a = parsed("x = f(1,\n   b = ['q'])\n"), b = parsed("x = f( 1, b=[\"q\"] )\n");
  EXPECT_EQ(write(a.body[0].value), write(b.body[0].value));
}

TEST(PythonSyntax, WhatTheGrammarDoesNotKnowIsNotedAndTheRestRead) {
  const Module m = parsed("a = 1\nx = t$$ ?? 3 (((\nclass S:\n    port: int = 3\n");
  EXPECT_FALSE(m.errors.empty());
  const Module newer = parsed("type X[T] = list[T]\ndef g[T](x: T) -> T:\n    return x\nmatch a:\n    case 1:\n        b = 2\nc = 3\n");
  EXPECT_EQ(newer.body.back().target.text, "c");
}

TEST(PythonSyntax, DeepNestingEndsWithoutHarm) {
  std::string deep = "x = " + std::string(20000, '(') + "1" + std::string(20000, ')') + "\n";
  const Module m = parsed(deep);
  EXPECT_TRUE(m.cut_short || !m.errors.empty());
  std::string ifs;
  for (int i = 0; i < 300; ++i) ifs += std::string(static_cast<std::size_t>(i), ' ') + "if a:\n";
  ifs += std::string(300, ' ') + "b = 1\n";
  const Module nested = parsed(ifs);
  EXPECT_TRUE(nested.cut_short || !nested.errors.empty());
}

TEST(PythonSyntax, AHugeFileIsRefused) { EXPECT_FALSE(parse(std::string(kMaxSource + 1, ' '), "big.py")); }

}  // namespace
}  // namespace pawl::upstream::py
