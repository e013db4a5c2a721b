#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "tokenizer/tokenizer.h"
#include "workload/workload.h"

namespace pawl::workload {

using tokenizer::TokenizerPtr;

/// Options that all recorded traces share.
struct TraceOptions {
  Form form = Form::kIds;
  TokenizerPtr tokenizer;           ///< may be empty
  std::int64_t vocabulary = 30000;  ///< without a tokenizer
  std::string path;                 ///< of the file, for errors and the description
  std::int64_t requests = 0;        ///< the first so many rows (Weka: sessions); 0: all
  bool repeat = false;              ///< begin again when there are fewer (BC-10.11); times go on where they ended
  double speed = 1;                 ///< times divided by it (BC-9.2)
  std::int64_t max_input = 0;       ///< rows with more input tokens are dropped as `input_long`; 0: none
  std::int64_t seed = 0;
  std::uint64_t salt = 0;
  double idle_cap_s = 300;  ///< Weka: longer pauses between requests become this
};

/// Mooncake rows (BC-10.5): `timestamp` (ms), `input_length`, `output_length`, `hash_ids`, one for each block of 512
/// tokens. Content is made from the ids alone, so equal ids are equal blocks. Drop reasons: `malformed`, `empty` (no
/// input or no output), `blocks` (the number of ids does not fit the input length), `input_long`. Memory: 24 bytes a row
/// and 4 a block. Errors: kInvalid when no row is usable or fewer than asked for (both numbers and the drops named).
[[nodiscard]] Result<std::unique_ptr<Workload>> make_mooncake_workload(const TraceOptions& options, std::string_view file);

/// Azure LLM inference traces: CSV with TIMESTAMP, ContextTokens, GeneratedTokens. Content is random and shares nothing.
/// Drop reasons: `malformed`, `empty`, `input_long`. Errors as above.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_azure_workload(const TraceOptions& options, std::string_view file);

/// Weka rows (BC-10.6, BC-9.13): one conversation a row with `requests` of kind "n", "s" or "subagent"; `t` seconds,
/// `in`, `out`, `hash_ids` of 64-token blocks whose ids belong to the conversation unless `hash_id_scope` is "global".
/// A session is a tree: a request waits for the one before it in its conversation and for the sub-agents in between.
/// Drop reasons: `malformed`, `empty`, `input_long` (a session of which one request is too long). Errors as above.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_weka_workload(const TraceOptions& options, std::string_view file);

}  // namespace pawl::workload
