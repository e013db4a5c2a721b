#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "tokenizer/tokenizer.h"
#include "workload/workload.h"

namespace pawl::workload {

using tokenizer::TokenizerPtr;

/// What an assistant's part of the history is (BC-9.12).
enum class History {
  kLive,      ///< what the server answered
  kRecorded,  ///< what the file has
};
BOOST_DESCRIBE_ENUM(History, kLive, kRecorded)

/// Options of data sets whose rows are texts.
struct TextRowOptions {
  Form form = Form::kText;
  TokenizerPtr tokenizer;
  std::string path;                 ///< of the file, for errors and the description
  std::int64_t requests = 0;        ///< prompts (sessions: of those) to take; 0: all that are usable
  bool repeat = false;              ///< use rows again when there are fewer (BC-10.11)
  bool keep_order = false;          ///< no shuffle
  bool limits = true;               ///< the length rules of BC-10.9 (ShareGPT only)
  std::optional<std::int64_t> osl;  ///< instead of the recorded answer's length
  History history = History::kLive;
  Nanos think_time{0};
  std::int64_t max_turns = 0;  ///< of a session; 0: all
  std::int64_t seed = 0;
  std::uint64_t salt = 0;
};

/// ShareGPT-shaped files, one request a conversation (BC-10.8..11). Needs a tokenizer: its rules are about tokens.
/// Drop reasons: `malformed`, `no_pair`, `prompt_short`, `prompt_long`, `output_short`, `total_long`. Memory: the kept
/// prompts. Errors: kInvalid for a file that is neither shape, without a tokenizer, for fewer usable rows than asked for.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_sharegpt_workload(const TextRowOptions& options, std::string_view file);

/// The same files as whole conversations (BC-9.12): a session a row, a turn for each human message that an assistant
/// message follows directly; a system text goes before the first. Needs messages as form.
/// Drop reasons: `malformed`, `no_pair`.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_session_workload(const TextRowOptions& options, std::string_view file);

/// Own prompts, one JSON object a line: `prompt` (text or token ids) or `messages`; optional `output_tokens` (or
/// `max_tokens`) and `timestamp_ms`. Drop reasons: `malformed`, `empty`, `no_output_length` (neither the row nor the
/// options have one). When every kept row has a time the workload has arrivals; rows then go by time.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_jsonl_workload(const TextRowOptions& options, std::string_view file);

/// Sessions of random content: `turns` turns; the first of `first_isl` tokens, each further one of `turn_isl`.
struct SyntheticSessionOptions {
  TokenizerPtr tokenizer;  ///< may be empty: lengths are words then
  std::int64_t turns = 4, first_isl = 1024, turn_isl = 128, osl = 128;
  Nanos think_time{0};
  std::int64_t seed = 0;
  std::uint64_t salt = 0;
};
/// Error: kInvalid for a count or length below 1.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_synthetic_sessions(const SyntheticSessionOptions& options);

}  // namespace pawl::workload
