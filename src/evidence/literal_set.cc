#include "evidence/literal_set.h"

#include <algorithm>
#include <queue>

#include "base/assert.h"

namespace pawl::evidence {

int LiteralSet::add(const std::string& literal) {
  const auto known = std::ranges::find(literals_, literal);
  if (known != literals_.end()) return static_cast<int>(known - literals_.begin());
  const int number = static_cast<int>(literals_.size());
  literals_.push_back(literal);
  std::uint16_t state = 0;
  for (const char c : literal) {
    std::uint16_t& to = next_[state][static_cast<unsigned char>(c)];
    if (to == 0) {
      PAWL_ASSERT(next_.size() < 0xffff);
      const auto fresh = static_cast<std::uint16_t>(next_.size());
      to = fresh;  // before the table grows and moves
      next_.emplace_back(Row{});
      ends_.emplace_back();
      state = fresh;
    } else {
      state = to;
    }
  }
  ends_[state].push_back(number);
  return number;
}

void LiteralSet::build() {
  std::vector<std::uint16_t> back(next_.size(), 0);
  std::queue<std::uint16_t> todo;
  for (const std::uint16_t first : next_[0]) {
    if (first != 0) todo.push(first);
  }
  while (!todo.empty()) {
    const std::uint16_t state = todo.front();
    todo.pop();
    const std::vector<int>& shorter = ends_[back[state]];
    ends_[state].insert(ends_[state].end(), shorter.begin(), shorter.end());
    for (std::size_t c = 0; c < 256; ++c) {
      std::uint16_t& to = next_[state][c];
      const std::uint16_t otherwise = next_[back[state]][c];
      if (to == 0) {
        to = otherwise;
      } else {
        back[to] = otherwise;
        todo.push(to);
      }
    }
  }
}

void LiteralSet::find(std::string_view line, std::vector<int>& found) const {
  found.clear();
  std::uint16_t state = 0;
  for (const char c : line) {
    state = next_[state][static_cast<unsigned char>(c)];
    if (ends_[state].empty()) continue;
    for (const int number : ends_[state]) {
      if (std::ranges::find(found, number) == found.end()) found.push_back(number);
    }
  }
}

}  // namespace pawl::evidence
