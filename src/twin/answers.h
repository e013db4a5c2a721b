#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "io/assets.h"

namespace pawl::twin {

/// What a simulated engine says: one piece a token. Made-up words, or the answer to a question that it knows.
class Reply {
 public:
  /// `length` made-up words, the same for the same seed.
  static Reply words(std::uint64_t seed, std::int64_t length);
  /// These pieces; cut to `limit`.
  static Reply fixed(std::vector<std::string> pieces, std::int64_t limit);

  [[nodiscard]] std::int64_t length() const { return length_; }
  /// Piece `index` as text, its leading blank or line end included.
  [[nodiscard]] std::string_view piece(std::int64_t index) const;
  [[nodiscard]] std::string whole() const;
  /// "length" when it was cut by the limit of the request, else "stop".
  [[nodiscard]] const char* finish_reason() const { return stopped_ ? "stop" : "length"; }
  /// Ends the reply before the first of `stops` that its text contains.
  void cut_at(const std::vector<std::string>& stops);

 private:
  std::uint64_t seed_ = 0;
  std::int64_t length_ = 0;
  bool stopped_ = false;
  std::vector<std::string> pieces_;  ///< instead of made-up words
};

/// The questions of data/evals/*.yaml, and how a profile answers them: right for a share of them, chosen by a hash of
/// question and profile, so that every run says the same. A wrong answer is the right one plus 1.
class Examiner {
 public:
  struct Known {
    std::string question, answer;
  };
  static Result<Examiner> load(const io::Assets& assets, std::string profile, double accuracy);
  /// More questions; of equal ones the last counts.
  void add(std::vector<Known> questions);
  /// Questions and answers as GSM8K has them: a JSON object a line with `question` and `answer`, the number behind `####`.
  static Result<std::vector<Known>> read_answers(const std::string& text, const std::string& file);
  /// The pieces of the answer to the last known question in `prompt`; none when it holds no known question. `wrong`:
  /// never the right one.
  [[nodiscard]] std::vector<std::string> answer(std::string_view prompt, bool wrong = false) const;
  [[nodiscard]] std::size_t known() const { return questions_.size(); }

 private:
  [[nodiscard]] const Known* find(std::string_view prompt) const;

  std::vector<Known> questions_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_start_;  ///< questions by their first kKey bytes
  std::string profile_;
  double accuracy_ = 1;
};

/// Tokens that a text would have: its words times 4/3, rounded up, at least 1.
[[nodiscard]] std::int64_t count_tokens(std::string_view text);

}  // namespace pawl::twin
