#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "http/client.h"
#include "io/clock.h"
#include "io/files.h"
#include "registry/credentials.h"

namespace pawl::registry {

/// How a request reaches the network; `http::fetch`, or a script in tests.
using Fetch = std::function<Result<http::Response>(const http::ClientRequest&, std::stop_token)>;

struct RetryPolicy {
  int tries = 6;                   ///< of one request, the first included
  Nanos first_wait = Seconds{1};   ///< doubled each time; `Retry-After` of the answer wins
  Nanos wait_max = Seconds{60};    ///< of one wait
  Nanos total_max = Seconds{300};  ///< of all waits of one request
};

/// Requests to registries and package indexes: waits and tries again after 429, 5xx and broken transfers, signs in where asked
/// (anonymous and authenticated bearer tokens, basic), follows redirects without taking the account along to another host,
/// and asks with ETags. Thread-safe.
class WebSession {
 public:
  /// `clock` must outlive it. `cache`: folder for answers that carry an ETag, and its `files`; both may be absent.
  WebSession(Fetch fetch, const io::Clock& clock, Credentials credentials, RetryPolicy retry = {}, const io::Files* files = nullptr,
             std::filesystem::path cache = {});

  struct Ask {
    std::string method = "GET";
    std::string url;
    std::string host;   ///< as images are written: whose account is used
    std::string scope;  ///< "repository:NAME:pull"; empty: no token is asked for
    std::string accept;
    std::optional<std::string> user;  ///< fixed user name that goes with the secret
    bool anonymous = false;           ///< the account is not used
    bool cacheable = false;           ///< ask with the ETag of the last answer
    std::size_t answer_max = 16u << 20;
    Nanos timeout = Seconds{60};
    std::function<bool(std::string_view)> sink = {};  ///< see http::ClientRequest; called with nothing before a transfer begins anew
    std::function<void()> restart = {};               ///< called before every try when `sink` is set
  };
  struct Answer {
    http::Response response;
    bool unchanged = false;  ///< the registry said that our copy is still right (304); `response.body` is that copy
  };

  /// Any status but 429, 5xx and those that signing in resolves is an answer. Errors: kTransient when the tries are used up,
  /// kInvalid when the account is refused, kCancelled.
  Result<Answer> send(const Ask& ask, std::stop_token stop);

  [[nodiscard]] std::int64_t requests() const { return requests_; }

 private:
  struct Token {
    std::string value;
    MonoTime until;
  };

  Result<http::Response> follow(const Ask& ask, const http::Fields& fields, const std::string& authorization, std::stop_token stop);
  Result<http::Response> with_retries(const Ask& ask, const http::Fields& fields, const std::string& authorization, std::stop_token stop);
  Result<std::string> sign_in(const Ask& ask, const std::string& challenge, std::stop_token stop);
  [[nodiscard]] std::optional<Credential> account(const Ask& ask) const;

  Fetch fetch_;
  const io::Clock& clock_;
  Credentials credentials_;
  RetryPolicy retry_;
  const io::Files* files_;
  std::filesystem::path cache_;
  std::mutex mutex_;  ///< guards the token and answer tables
  std::map<std::string, Token> tokens_;
  struct Kept {
    std::string etag, link, body;
  };
  std::map<std::string, Kept> kept_;
  std::atomic<std::int64_t> requests_ = 0;
};

/// Seconds that a `Retry-After` field asks for: a number, or an HTTP date against `now`. Nothing when it is neither.
[[nodiscard]] std::optional<Nanos> retry_after(std::string_view field, WallTime now);

/// `target` as a link of a page at `base` names it: absolute, host-relative ("/v2/…") or query only ("?n=…"). The scheme, host and port are always
/// those of `base`: links that drop the port or name another host's copy are common, and no link may lead elsewhere.
/// Nothing when it names another host.
[[nodiscard]] std::optional<std::string> resolve_link(const std::string& base, const std::string& target);

}  // namespace pawl::registry
