#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "http/message.h"

namespace pawl::http {

struct ClientRequest {
  std::string method = "GET";
  std::string url;  ///< http or https
  Fields fields;
  std::string body;
  Nanos timeout = Seconds{30};
  std::size_t answer_max = 64u << 20;  ///< bytes; a larger answer is an error
  /// Takes the body of an answer of status 200 as it comes, instead of `Response::body`; false ends the transfer with an error.
  std::function<bool(std::string_view bytes)> sink = {};
};

/// Requests to other services, one at a time per call, through libcurl. No redirects, no proxy from the environment for
/// loopback, certificates checked. Any status is an answer; an Error means that there was none: kTransient (exit 5) for
/// connect, time-out and broken transfers, kCancelled when `stop` fired. Never logs fields or bodies. Thread-safe.
[[nodiscard]] Result<Response> fetch(const ClientRequest& request, std::stop_token stop);

}  // namespace pawl::http
