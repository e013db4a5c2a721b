#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace pawl::loadgen {

enum class Protocol { kCompletions, kChat };

/// How a request ended. Every request has exactly one outcome.
enum class Outcome { kOk, kFailed, kTimeout };

/// One event that delivered output tokens.
struct TokenEvent {
  MonoTime at;
  std::optional<std::int64_t> tokens;  ///< as the server counts them; nothing when it does not say
  bool coalesced = false;              ///< not the first token event of its read: the time is that of the read
};

/// What is known of one request when it is over. Moments that were not reached are absent.
struct RequestRecord {
  std::int64_t asked_input = 0, asked_output = 0;  ///< tokens
  bool input_exact = false;                        ///< the prompt was sent as token ids: asked_input is exact
  bool ignores_eos = false;

  MonoTime ready;                ///< the slot was free and the request might start
  std::optional<MonoTime> send;  ///< just before its first byte went to the kernel
  std::optional<MonoTime> sent;  ///< its last byte was taken
  std::optional<MonoTime> head;  ///< status line and fields complete
  std::optional<MonoTime> first_event;
  std::optional<MonoTime> end;   ///< body complete or failure seen
  std::optional<Nanos> connect;  ///< only when it opened its own connection
  std::vector<TokenEvent> tokens;

  std::optional<std::int64_t> usage_input, usage_output, usage_cached;  ///< as the server reports them
  bool usage_final = false;                                             ///< the report came at the end, not in the middle of a stream

  Outcome outcome = Outcome::kFailed;
  std::string failure;  ///< class (BC-3.4); empty while all is well
  std::string detail;   ///< for people; of failures, the first 4 KiB of the body
  int status = 0;       ///< HTTP status, 0 without one
  int error_number = 0;
  std::int64_t bytes = 0;                     ///< received
  std::map<std::string, std::int64_t> flags;  ///< counted oddities: no_done, stale_conn, keepalive_data…

  /// Keeps the first failure; later ones are consequences.
  void fail(std::string cls, std::string what = {}) {
    if (!failure.empty()) return;
    failure = std::move(cls);
    if (!what.empty()) detail = std::move(what);
  }
};

}  // namespace pawl::loadgen
