#pragma once

#include <expected>
#include <optional>
#include <string>
#include <utility>

#include "base/exit_status.h"

namespace pawl {

/// What a caller may do about an error. A new value needs a caller that branches on it.
enum class ErrorClass {
  kInvalid,         ///< the input is wrong; the same call fails again
  kNotFound,        ///< the thing named does not exist
  kConflict,        ///< exists already, or somebody else holds it
  kTransient,       ///< may pass: retry with back-off
  kExhausted,       ///< a limit of this machine or a budget is used up
  kCancelled,       ///< the stop token fired; passed on, never retried, never swallowed
  kInternal,        ///< a defect of ours, or an unexpected state
  kUnknownOutcome,  ///< the effect may or may not have happened: reconcile by key before anything else
};

/// A place in a text that a person wrote. Lines and columns count from 1; columns count characters, not bytes.
struct SourcePlace {
  std::string file;
  int line = 0;
  int column = 0;
  std::string text;  ///< the line itself, without its line end
};

/// An expected failure. `message` names the input; `remedy` says what to do about it and may be empty.
/// Neither holds a secret.
struct Error {
  ErrorClass cls = ErrorClass::kInternal;
  ExitStatus exit = ExitStatus::kRunFailed;
  std::string message;
  std::string remedy = {};
  std::optional<SourcePlace> place = {};

  /// The same error seen from one step further up: "reading the catalogue: …".
  [[nodiscard]] Error within(const std::string& doing) && {
    message = doing + ": " + message;
    return std::move(*this);
  }
  [[nodiscard]] Error advise(std::string text) && {
    remedy = std::move(text);
    return std::move(*this);
  }
  [[nodiscard]] Error at(SourcePlace where) && {
    place = std::move(where);
    return std::move(*this);
  }
};

[[nodiscard]] inline Error bad_input(std::string message, std::string remedy = {}) {
  return {ErrorClass::kInvalid, ExitStatus::kBadInput, std::move(message), std::move(remedy)};
}
[[nodiscard]] inline Error usage_error(std::string message, std::string remedy = {}) {
  return {ErrorClass::kInvalid, ExitStatus::kUsage, std::move(message), std::move(remedy)};
}
[[nodiscard]] inline Error not_found(std::string message, std::string remedy = {}) {
  return {ErrorClass::kNotFound, ExitStatus::kBadInput, std::move(message), std::move(remedy)};
}
[[nodiscard]] inline Error machine_error(std::string message, std::string remedy = {}) {
  return {ErrorClass::kExhausted, ExitStatus::kMachine, std::move(message), std::move(remedy)};
}
[[nodiscard]] inline Error conflict(std::string message, std::string remedy = {}) {
  return {ErrorClass::kConflict, ExitStatus::kMachine, std::move(message), std::move(remedy)};
}
[[nodiscard]] inline Error peer_error(std::string message, std::string remedy = {}) {
  return {ErrorClass::kTransient, ExitStatus::kPeer, std::move(message), std::move(remedy)};
}
[[nodiscard]] inline Error run_failed(std::string message, std::string remedy = {}) {
  return {ErrorClass::kInternal, ExitStatus::kRunFailed, std::move(message), std::move(remedy)};
}
[[nodiscard]] inline Error internal_error(std::string message) {
  return {ErrorClass::kInternal, ExitStatus::kRunFailed, std::move(message), "this is a defect of pawl: please report it with the command that you ran"};
}
[[nodiscard]] inline Error cancelled() { return {ErrorClass::kCancelled, ExitStatus::kInterrupted, "stopped", {}}; }

/// A value or an Error. Ignoring one is a compile error.
template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using Base = std::expected<T, Error>;
  using Base::Base;
  Result(Error error) : Base(std::unexpected(std::move(error))) {}  // NOLINT: implicit on purpose
  Result() : Base() {}
};

using Status = Result<void>;

}  // namespace pawl

#define PAWL_CONCAT_(a, b) a##b
#define PAWL_CONCAT(a, b) PAWL_CONCAT_(a, b)

/// Returns the error of `expr` from the enclosing function, if it is one. (The counter keeps names apart where one
/// macro stands inside a lambda that is an argument of another.)
#define PAWL_TRY(expr) PAWL_TRY_(PAWL_CONCAT(pawl_try_, __COUNTER__), expr)
#define PAWL_TRY_(tmp, expr)                                    \
  do {                                                          \
    if (auto tmp = (expr); !tmp) return std::move(tmp).error(); \
  } while (false)

/// `PAWL_ASSIGN(auto x, f())`: binds the value of `f()`, or returns its error from the enclosing function.
#define PAWL_ASSIGN(lhs, expr) PAWL_ASSIGN_(PAWL_CONCAT(pawl_assign_, __COUNTER__), lhs, expr)
#define PAWL_ASSIGN_(tmp, lhs, expr)       \
  auto tmp = (expr);                       \
  if (!tmp) return std::move(tmp).error(); \
  lhs = std::move(*tmp)
