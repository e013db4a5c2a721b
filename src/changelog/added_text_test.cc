#include "changelog/added_text.h"

#include <gtest/gtest.h>

#include "changelog/rule.h"

namespace pawl::changelog {
namespace {

/// The diff as text: "-old" and "+new", unchanged lines left out.
std::string diff(const std::string& before, const std::string& after) {
  const auto a = lines_of(before), b = lines_of(after);
  std::string text;
  for (const LineChange& c : line_changes(a, b)) {
    for (std::size_t i = c.old_begin; i < c.old_end; ++i) text += "-" + std::string(a[i]);
    for (std::size_t i = c.new_begin; i < c.new_end; ++i) text += "+" + std::string(b[i]);
  }
  return text;
}

TEST(LineDiff, IsShortestAndTurnsBeforeIntoAfter) {
  EXPECT_EQ(diff("", ""), "");
  EXPECT_EQ(diff("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(diff("a\nb\nc\n", "a\nc\n"), "-b\n");
  EXPECT_EQ(diff("a\nb", "a\nb\n"), "-b+b\n");
  EXPECT_EQ(diff("- a\n  x\n", "- b\n  x\n\n- a\n  x\n"), "+- b\n+  x\n+\n");
  // Every pair of short texts over two lines: applying the changes gives `after`, and no common line is wasted.
  std::vector<std::string> texts{""};
  for (std::size_t i = 0; i < texts.size() && texts[i].size() < 12; ++i) {
    texts.push_back(texts[i] + "a\n");
    texts.push_back(texts[i] + "- \n");
  }
  for (const std::string& before : texts) {
    for (const std::string& after : texts) {
      const auto a = lines_of(before), b = lines_of(after);
      std::string made;
      std::size_t i = 0, cost = 0;
      for (const LineChange& c : line_changes(a, b)) {
        for (; i < c.old_begin; ++i) made += a[i];
        for (std::size_t j = c.new_begin; j < c.new_end; ++j) made += b[j];
        cost += c.old_end - c.old_begin + c.new_end - c.new_begin;
        i = c.old_end;
      }
      for (; i < a.size(); ++i) made += a[i];
      ASSERT_EQ(made, after);
      std::vector<std::size_t> common(b.size() + 1, 0);
      for (const auto& line : a) {
        std::size_t diagonal = 0;
        for (std::size_t j = 0; j < b.size(); ++j) {
          const std::size_t up = common[j + 1];
          common[j + 1] = line == b[j] ? diagonal + 1 : std::max(up, common[j]);
          diagonal = up;
        }
      }
      ASSERT_EQ(cost, a.size() + b.size() - 2 * common[b.size()]) << before << "|" << after;
    }
  }
}

TEST(LineDiff, ManyDifferencesEndInReasonableTime) {
  std::string before, after;
  for (int i = 0; i < 20000; ++i) {
    before += "old " + std::to_string(i) + "\n";
    after += "new " + std::to_string(i) + "\n";
  }
  const auto a = lines_of(before), b = lines_of(after);
  EXPECT_EQ(line_changes(a, b), (std::vector<LineChange>{{0, 20000, 0, 20000}}));
}

TEST(AddedText, TheReferenceLosesLinesThatLookLikeHeaders) {
  const std::string base = "a\n--x\nb\n", head = "a\n++y\nb\nc\n";
  const auto reference = added_text(base, head, "f", DiffReading::kReference);
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->text, "c");
  EXPECT_EQ(reference->head_lines, std::vector<int>{4});
  EXPECT_EQ(rule_of(added_text(base, head, "f", DiffReading::kBytes).error()), "C-50");
  EXPECT_EQ(added_text("a\n", "a\n++y\n", "f", DiffReading::kBytes)->text, "++y");
  EXPECT_EQ(rule_of(added_text("a\n", "a\n++y\n", "f", DiffReading::kReference).error()), "C-51");
  EXPECT_EQ(added_text("a\n", "a\nb\r\nc\n", "f", DiffReading::kReference)->text, "b\nc");
}

TEST(AddedText, NulAndBadUtf8AreSeenWhereGitSeesThem) {
  const std::string nul("a\nb\0\n", 5), far = std::string(9000, 'x') + "\n";
  EXPECT_EQ(rule_of(added_text("a\n", nul, "f", DiffReading::kReference).error()), "C-51");
  EXPECT_TRUE(added_text(far, far + nul, "f", DiffReading::kReference));
  std::string lines = "\xff\n";
  for (int i = 0; i < 10; ++i) lines += "x\n";
  EXPECT_TRUE(added_text(lines, lines + "y\n", "f", DiffReading::kReference));
  EXPECT_EQ(rule_of(added_text("\xff\n", "\xff\ny\n", "f", DiffReading::kReference).error()), "C-24");
}

TEST(AddedText, TheRemedySaysThatTheBaseLacksItsNewline) {
  const auto text = added_text("a\nb", "a\nb\nc\n", "f", DiffReading::kBytes);
  ASSERT_FALSE(text);
  EXPECT_EQ(rule_of(text.error()), "C-50");
  EXPECT_NE(text.error().remedy.find("lacks its final newline"), std::string::npos);
  EXPECT_EQ(text.error().place->line, 2);
}

}  // namespace
}  // namespace pawl::changelog
