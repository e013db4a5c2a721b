#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/assets.h"
#include "io/clock.h"
#include "twin/answers.h"
#include "twin/engine_log.h"
#include "twin/faults.h"

namespace pawl::twin {

/// How to start a simulated engine.
struct TwinOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;       ///< 0: a free one
  std::string profile;          ///< name
  std::string engine;           ///< whose log, error texts and metrics; empty: that of the profile
  std::int64_t tp = 1, ep = 1;  ///< GPUs of the engine that is imitated
  std::int64_t dp = 1;          ///< data-parallel ranks, each of `tp` GPUs
  std::string served_model_name;
  std::string image;                       ///< shown only
  std::int64_t max_running_requests = 0;   ///< 0: that of the profile
  std::uint64_t seed = 1;                  ///< of words and jitter
  std::vector<std::string> engine_flags;   ///< as the engine's launcher would get them
  std::string pawl_version;                ///< shown only
  std::vector<Fault> faults;               ///< what goes wrong
  bool stamp = false;                      ///< every token event carries its sequence number and send stamp
  std::string truth_file;                  ///< file of stamps, written at the end; empty: none
  std::optional<double> accuracy;          ///< share of known questions answered right, instead of the profile's
  std::vector<Examiner::Known> questions;  ///< known besides those of data/evals
};

/// A simulated serving engine: HTTP and server-sent events as from an engine, times by the law of its profile, no model.
class Twin {
 public:
  /// Listening when it returns; healthy after the load time of the profile. Errors: profile unknown or wrong (kInvalid,
  /// kNotFound), a flag that the engine does not have (exit 2, the message is that of the engine's launcher), the port
  /// (exit 4). `assets` is used only here; `clock` and what `log` needs must outlive the twin.
  static Result<std::unique_ptr<Twin>> start(const TwinOptions& options, const io::Assets& assets, const io::Clock& clock, LogSink log);
  /// Ends at once; answers in progress are cut off.
  virtual ~Twin() = default;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// Returns when `stop` fires (0) or when a fault ended the engine: the exit status that an engine has then.
  [[nodiscard]] virtual int wait(std::stop_token stop) = 0;
};

}  // namespace pawl::twin
