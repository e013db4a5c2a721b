#include <algorithm>

#include "changelog/added_text.h"

namespace pawl::changelog {
namespace {

constexpr int kDistanceMax = 2000;

/// Marks the lines that a shortest edit script deletes and inserts (Myers' greedy search). False when the two sides
/// differ in more than kDistanceMax lines.
bool mark_changes(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b, std::size_t skip, std::vector<bool>& deleted,
                  std::vector<bool>& inserted, std::size_t tail) {
  const auto n = static_cast<int>(a.size() - skip - tail), m = static_cast<int>(b.size() - skip - tail);
  const int limit = std::min(n + m, kDistanceMax);
  // furthest[k + limit + 1]: how far down side a the diagonal k was followed; one copy a step, to walk back.
  std::vector<int> furthest(static_cast<std::size_t>(2 * limit + 3), 0);
  std::vector<std::vector<int>> trace;
  const auto at = [limit](int k) { return static_cast<std::size_t>(k + limit + 1); };
  const auto same = [&](int x, int y) { return a[skip + static_cast<std::size_t>(x)] == b[skip + static_cast<std::size_t>(y)]; };
  for (int d = 0; d <= limit; ++d) {
    trace.emplace_back(furthest.begin() + static_cast<std::ptrdiff_t>(at(-d - 1)), furthest.begin() + static_cast<std::ptrdiff_t>(at(d + 1)) + 1);
    for (int k = -d; k <= d; k += 2) {
      int x = (k == -d || (k != d && furthest[at(k - 1)] < furthest[at(k + 1)])) ? furthest[at(k + 1)] : furthest[at(k - 1)] + 1;
      int y = x - k;
      while (x < n && y < m && y >= 0 && same(x, y)) ++x, ++y;
      furthest[at(k)] = x;
      if (x < n || y < m) continue;
      for (int step = d; step > 0; --step) {
        const std::vector<int>& was = trace[static_cast<std::size_t>(step)];
        const auto in = [&was, step](int diagonal) { return was[static_cast<std::size_t>(diagonal + step + 1)]; };
        const int diagonal = x - y;
        const bool down = diagonal == -step || (diagonal != step && in(diagonal - 1) < in(diagonal + 1));
        const int from_x = down ? in(diagonal + 1) : in(diagonal - 1), from_y = from_x - (down ? diagonal + 1 : diagonal - 1);
        if (down)
          inserted[skip + static_cast<std::size_t>(from_y)] = true;
        else
          deleted[skip + static_cast<std::size_t>(from_x)] = true;
        x = from_x;
        y = from_y;
      }
      return true;
    }
  }
  return false;
}

/// Puts every marked stretch of one side where a person would: of the places that it could lie in, the lowest one where
/// it begins with an item of a top-level list, or else the lowest.
void settle(const std::vector<std::string_view>& lines, std::vector<bool>& marked) {
  for (std::size_t begin = 0; begin < lines.size(); ++begin) {
    if (!marked[begin]) continue;
    std::size_t end = begin;
    while (end < lines.size() && marked[end]) ++end;
    while (end < lines.size() && lines[begin] == lines[end]) {
      marked[begin++] = false;
      marked[end++] = true;
      while (end < lines.size() && marked[end]) ++end;
    }
    std::size_t up = 0;  // how far the stretch goes up again
    while (up < begin && !marked[begin - 1 - up] && lines[begin - 1 - up] == lines[end - 1 - up] && !lines[begin - up].starts_with("- ")) ++up;
    if (up > 0 && lines[begin - up].starts_with("- ")) {
      for (std::size_t i = 0; i < up; ++i) {
        marked[end - 1 - i] = false;
        marked[begin - 1 - i] = true;
      }
    }
    begin = end - 1;
  }
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view bytes) {
  std::vector<std::string_view> lines;
  while (!bytes.empty()) {
    const auto nl = bytes.find('\n');
    lines.push_back(bytes.substr(0, nl == std::string_view::npos ? nl : nl + 1));
    bytes.remove_prefix(lines.back().size());
  }
  return lines;
}

std::vector<LineChange> line_changes(const std::vector<std::string_view>& before, const std::vector<std::string_view>& after) {
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t skip = 0, tail = 0;
  while (skip < shorter && before[skip] == after[skip]) ++skip;
  while (tail < shorter - skip && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) ++tail;
  std::vector<bool> deleted(before.size() + 1, false), inserted(after.size() + 1, false);
  if (mark_changes(before, after, skip, deleted, inserted, tail)) {
    settle(before, deleted);
    settle(after, inserted);
  } else {
    for (std::size_t i = skip; i < before.size() - tail; ++i) deleted[i] = true;
    for (std::size_t i = skip; i < after.size() - tail; ++i) inserted[i] = true;
  }
  std::vector<LineChange> changes;
  for (std::size_t i = 0, j = 0; i < before.size() || j < after.size();) {
    if (!deleted[i] && !inserted[j]) {
      ++i, ++j;
      continue;
    }
    LineChange change{i, i, j, j};
    while (deleted[change.old_end]) ++change.old_end;
    while (inserted[change.new_end]) ++change.new_end;
    i = change.old_end;
    j = change.new_end;
    changes.push_back(change);
  }
  return changes;
}

}  // namespace pawl::changelog
