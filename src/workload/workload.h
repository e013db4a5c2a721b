#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/bench_data_set.h"

namespace pawl::workload {

/// One message of a chat prompt. Content is plain text; typed parts are a matter of the back end.
struct Message {
  std::string role;  ///< "system", "user", "assistant"
  std::string content;
  bool operator==(const Message&) const = default;
};
BOOST_DESCRIBE_STRUCT(Message, (), (role, content))

/// What one request asks, before it is bytes. Exactly one of `ids`, `text` and `messages` is filled. Which one is what
/// `Form` asked for, except that a data set of conversations always gives messages.
struct Prompt {
  std::vector<std::int32_t> ids;  ///< the prompt as token ids
  std::string text;               ///< the prompt as text
  std::vector<Message> messages;  ///< the prompt as a conversation; with `continues`, only what follows the live reply

  std::int64_t asked_isl = 0;  ///< tokens that the workload wanted
  std::int64_t isl = 0;        ///< tokens of this prompt (BC-10.2: achieved); of a continued one, without what the replies add
  bool input_exact = false;    ///< `isl` is what the server counts too: token ids (BC-10.1). Text is counted by our tokenizer or, without one, in words
  std::int64_t osl = 0;        ///< output tokens to ask for, at least 1

  std::optional<Nanos> arrival;  ///< offset from the start; only data sets with times of their own

  std::int64_t session = 0;           ///< number of the session, from 0; without sessions: the index
  std::int64_t turn = 0;              ///< place within the session, from 0
  std::vector<std::int64_t> parents;  ///< indexes of the same session that must have ended first (BC-9.12, BC-9.13)
  Nanos think_time{0};                ///< from the last end of a parent to `ready`
  bool continues = false;             ///< the body is the messages of parents.front(), its live reply, then `messages`
};

/// In which form prompts of a data set that has a choice are made.
enum class Form { kIds, kText, kMessages };
BOOST_DESCRIBE_ENUM(Form, kIds, kText, kMessages)

/// A run of indexes that belong to one session: `first`, …, `first + count − 1`, in an order in which parents come
/// before their children.
struct SessionSpan {
  std::int64_t first = 0;
  std::int64_t count = 1;
};

using Description = model::BenchDataSet;

/// A source of prompts. What number `index` is depends on the options and on nothing else: not on timing, not on the
/// order of calls, not on the number of threads (BC-9.11). Const calls may come from several threads at once. Memory is
/// bounded by the data set's file and limits stated with each kind, never by the number of requests.
class Workload {
 public:
  virtual ~Workload() = default;

  /// A prompt of the measured phase; `index` from 0 and, where `size()` says so, below it.
  [[nodiscard]] virtual Prompt prompt(std::int64_t index) const = 0;

  /// A prompt of the warm-up; any index from 0. Shares no block-aligned prefix with a measured one (BC-9.9), except for
  /// the reference's data set, whose warm-ups are its first measured prompt.
  [[nodiscard]] virtual Prompt warmup(std::int64_t index) const = 0;

  /// How many requests there are; nothing: as many as wanted.
  [[nodiscard]] virtual std::optional<std::int64_t> size() const { return std::nullopt; }

  /// How many sessions there are; nothing: as many as wanted. Without dependent requests each request is a session.
  [[nodiscard]] virtual std::optional<std::int64_t> sessions() const { return size(); }

  /// The indexes of a session, `number` from 0.
  [[nodiscard]] virtual SessionSpan session(std::int64_t number) const { return {number, 1}; }

  /// Whether prompts carry `arrival`, so that the run can follow the data set's own times.
  [[nodiscard]] virtual bool has_arrivals() const { return false; }

  [[nodiscard]] virtual Description describe() const = 0;
};

}  // namespace pawl::workload
