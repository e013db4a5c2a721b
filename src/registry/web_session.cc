#include "registry/web_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/hash.h"
#include "base/text.h"
#include "codec/json.h"
#include "registry/challenge.h"

namespace pawl::registry {
namespace {

using codec::Json;

constexpr int kRedirectsMax = 5;
constexpr std::size_t kKeptMax = 2000;  // answers with an ETag in memory

struct UrlParts {
  std::string scheme, authority, rest;  ///< rest: path and query
  [[nodiscard]] std::string host() const {
    const auto colon = authority.rfind(':');
    return colon == std::string::npos || authority.ends_with(']') ? authority : authority.substr(0, colon);
  }
};

std::optional<UrlParts> parts_of(const std::string& url) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return std::nullopt;
  const auto path = std::min(url.find_first_of("/?", scheme + 3), url.size());
  return UrlParts{url.substr(0, scheme), url.substr(scheme + 3, path - scheme - 3), url.substr(path)};
}

bool is_loopback(const std::string& host) { return host == "localhost" || host.starts_with("127.") || host == "[::1]"; }

std::string percent(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if ((u >= '0' && u <= '9') || (u >= 'A' && u <= 'Z') || (u >= 'a' && u <= 'z') || std::string_view("-._~:/").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", u);
    }
  }
  return out;
}

/// The URL without its query, which may hold a signature.
std::string shown(const std::string& url) { return url.substr(0, url.find('?')); }

bool is_redirect(int status) { return status == 301 || status == 302 || status == 303 || status == 307 || status == 308; }
bool is_busy(int status) { return status == 429 || status == 408 || status >= 500; }

}  // namespace

std::optional<Nanos> retry_after(std::string_view field, WallTime now) {
  field = trim(field);
  if (const auto seconds = parse_int(field)) return *seconds >= 0 && *seconds <= 86400 * 7 ? std::optional<Nanos>(Seconds{*seconds}) : std::nullopt;
  std::tm tm{};
  const std::string text(field);
  const char* end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &tm);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::max(Nanos{0}, WallTime{Seconds{timegm(&tm)}} - now);
}

std::optional<std::string> resolve_link(const std::string& base, const std::string& target) {
  const auto parts = parts_of(base);
  if (!parts) return std::nullopt;
  const std::string origin = parts->scheme + "://" + parts->authority;
  if (target.starts_with("//")) return std::nullopt;
  if (target.starts_with('/')) return origin + target;
  if (target.starts_with('?')) return origin + parts->rest.substr(0, parts->rest.find('?')) + target;
  const auto named = parts_of(target);
  if (named) return named->host() == parts->host() ? std::optional(origin + named->rest) : std::nullopt;
  const std::string path = parts->rest.substr(0, parts->rest.find('?'));
  return origin + path.substr(0, path.rfind('/') + 1) + target;
}

WebSession::WebSession(Fetch fetch, const io::Clock& clock, Credentials credentials, RetryPolicy retry, const io::Files* files, std::filesystem::path cache)
    : fetch_(std::move(fetch)), clock_(clock), credentials_(std::move(credentials)), retry_(retry), files_(files), cache_(std::move(cache)) {}

std::optional<Credential> WebSession::account(const Ask& ask) const {
  if (ask.anonymous) return std::nullopt;
  auto found = credentials_.find(ask.host);
  if (found && ask.user) found->user = *ask.user;
  return found;
}

Result<http::Response> WebSession::follow(const Ask& ask, const http::Fields& fields, const std::string& authorization, std::stop_token stop) {
  std::string url = ask.url;
  bool own_host = true;
  for (int hop = 0; hop <= kRedirectsMax; ++hop) {
    http::ClientRequest request{.method = ask.method, .url = url, .fields = fields, .timeout = ask.timeout, .answer_max = ask.answer_max, .sink = ask.sink};
    if (own_host && !authorization.empty()) request.fields.emplace_back("Authorization", authorization);
    ++requests_;
    PAWL_ASSIGN(http::Response response, fetch_(request, stop));
    if (!is_redirect(response.status)) return response;
    const auto location = http::find_field(response.fields, "location");
    const auto from = parts_of(url);
    if (!location || !from) return peer_error(fmt::format("{}: a redirect without a place", shown(url)));
    const std::string next = location->starts_with('/') ? from->scheme + "://" + from->authority + *location : *location;
    const auto to = parts_of(next);
    if (!to || (to->scheme != "https" && to->scheme != "http"))
      return peer_error(fmt::format("{}: a redirect to something that is no web address", shown(url)));
    if (from->scheme == "https" && to->scheme == "http" && !is_loopback(to->host())) {
      return peer_error(fmt::format("{}: a redirect from https to http was refused", shown(url)));
    }
    own_host = own_host && to->authority == from->authority && to->scheme == from->scheme;
    url = next;
  }
  return peer_error(fmt::format("{}: more than {} redirects", shown(ask.url), kRedirectsMax));
}

Result<http::Response> WebSession::with_retries(const Ask& ask, const http::Fields& fields, const std::string& authorization, std::stop_token stop) {
  Nanos wait = retry_.first_wait, waited{0};
  for (int n = 1;; ++n) {
    if (ask.restart) ask.restart();
    auto response = follow(ask, fields, authorization, stop);
    if (!response && response.error().cls != ErrorClass::kTransient) return response;
    if (response && !is_busy(response->status)) return response;
    std::string why = response ? fmt::format("{} answered {}", shown(ask.url), response->status) : response.error().message;
    Nanos pause = std::min(wait, retry_.wait_max);
    if (response) {
      const auto field = http::find_field(response->fields, "retry-after");
      const auto asked = field ? retry_after(*field, clock_.wall()) : std::nullopt;
      if (asked) pause = std::max(*asked, Nanos{Millis{100}});
    }
    if (n >= retry_.tries || waited + pause > retry_.total_max) {
      return peer_error(fmt::format("{} ({} tries)", why, n), "the registry is busy or down: try again later");
    }
    if (!clock_.sleep_for(pause, stop)) return cancelled();
    waited += pause;
    wait *= 2;
  }
}

Result<std::string> WebSession::sign_in(const Ask& ask, const std::string& field, std::stop_token stop) {
  const auto challenge = parse_challenge(field);
  const auto own = account(ask);
  const std::string basic = own ? "Basic " + base64_encode(own->user + ":" + own->secret) : std::string();
  const auto refused = [&](const std::string& why) {
    return Error{ErrorClass::kInvalid, ExitStatus::kPeer, fmt::format("{}: {}", ask.host, why),
                 own ? "is the account in the credentials file right, and may it read this repository?"
                     : "give an account: --auth FILE (docker login or podman login writes one)"};
  };
  if (!challenge) return refused("asks for a sign-in of an unknown kind");
  if (challenge->scheme == "basic") {
    if (!own) return refused("needs an account");
    return basic;
  }
  if (challenge->scheme != "bearer") return refused(fmt::format("asks for a sign-in of the kind {}", challenge->scheme));
  const auto parameter = [&](const char* name) {
    const auto found = challenge->parameters.find(name);
    return found == challenge->parameters.end() ? std::string() : found->second;
  };
  const std::string realm = parameter("realm");
  const auto place = parts_of(realm);
  if (!place || (place->scheme != "https" && !(place->scheme == "http" && (is_loopback(place->host()) || ask.url.starts_with("http://"))))) {
    return refused("names a token service that is not reached by https");
  }
  const std::string scope = ask.scope.empty() ? parameter("scope") : ask.scope;
  std::string url = realm + (realm.find('?') == std::string::npos ? "?" : "&") + "scope=" + percent(scope);
  if (const std::string service = parameter("service"); !service.empty()) url += "&service=" + percent(service);
  Ask token{.url = url, .host = ask.host, .accept = "application/json", .answer_max = 1u << 20};
  PAWL_ASSIGN(const http::Response answer, with_retries(token, {{"Accept", "application/json"}}, basic, stop));
  if (answer.status == 401 || answer.status == 403)
    return refused(own ? "the token service refused the account" : "the token service gives nothing without an account");
  if (answer.status != 200) return peer_error(fmt::format("the token service of {} answered {}", ask.host, answer.status));
  PAWL_ASSIGN(const Json json, codec::parse_json(answer.body, fmt::format("answer of the token service of {}", ask.host), 1u << 20));
  std::string value;
  for (const char* key : {"token", "access_token"}) {
    if (value.empty() && json.is_object() && json.contains(key) && json[key].is_string()) value = json[key].get<std::string>();
  }
  if (value.empty()) return peer_error(fmt::format("the token service of {} gave no token", ask.host));
  const std::int64_t life =
      json.contains("expires_in") && json["expires_in"].is_number_integer() ? std::clamp<std::int64_t>(json["expires_in"].get<std::int64_t>(), 1, 86400) : 60;
  const std::string bearer = "Bearer " + value;
  const std::lock_guard lock(mutex_);
  tokens_[fmt::format("{} {} {}", ask.host, ask.scope, ask.anonymous)] = {bearer, clock_.now() + Seconds{std::max<std::int64_t>(1, life - 10)}};
  return bearer;
}

Result<WebSession::Answer> WebSession::send(const Ask& ask, std::stop_token stop) {
  http::Fields fields = {{"User-Agent", "pawl"}};
  if (!ask.accept.empty()) fields.emplace_back("Accept", ask.accept);
  std::string authorization;
  Kept kept;
  const std::filesystem::path file = cache_.empty() ? std::filesystem::path() : cache_ / (sha256_hex(ask.url + " " + ask.accept) + ".json");
  {
    const std::lock_guard lock(mutex_);
    const auto token = tokens_.find(fmt::format("{} {} {}", ask.host, ask.scope, ask.anonymous));
    if (token != tokens_.end() && clock_.now() < token->second.until) authorization = token->second.value;
    if (ask.cacheable && kept_.contains(ask.url)) kept = kept_[ask.url];
  }
  if (ask.cacheable && kept.etag.empty() && files_ != nullptr && !file.empty() && files_->exists(file)) {
    if (const auto text = files_->read(file, 64u << 20)) {
      if (const auto json = codec::parse_json(*text, file.string()); json && json->is_object()) {
        kept = {json->value("etag", std::string()), json->value("link", std::string()), json->value("body", std::string())};
      }
    }
  }
  if (!kept.etag.empty()) fields.emplace_back("If-None-Match", kept.etag);

  PAWL_ASSIGN(http::Response response, with_retries(ask, fields, authorization, stop));
  if (response.status == 401) {
    const auto challenge = http::find_field(response.fields, "www-authenticate");
    if (challenge) {
      PAWL_ASSIGN(authorization, sign_in(ask, *challenge, stop));
      PAWL_ASSIGN(response, with_retries(ask, fields, authorization, stop));
    }
  }
  Answer answer;
  if (response.status == 304 && !kept.etag.empty()) {
    answer.unchanged = true;
    response.status = 200;
    response.body = kept.body;
    std::erase_if(response.fields, [](const auto& field) { return field.first == "link" || field.first == "Link"; });
    if (!kept.link.empty()) response.fields.emplace_back("Link", kept.link);
  } else if (ask.cacheable && response.status == 200) {
    if (const auto etag = http::find_field(response.fields, "etag")) {
      const Kept fresh{*etag, http::find_field(response.fields, "link").value_or(""), response.body};
      const std::lock_guard lock(mutex_);
      if (kept_.size() >= kKeptMax) kept_.clear();
      kept_[ask.url] = fresh;
      if (files_ != nullptr && !file.empty() && is_utf8(fresh.body)) {
        // A cache that cannot be written costs a request next time, nothing else.
        static_cast<void>(files_->write_atomic(
            file, codec::write_json(Json{{"etag", fresh.etag}, {"link", fresh.link}, {"body", fresh.body}}, codec::JsonForm::kCompactUtf8)));
      }
    }
  }
  answer.response = std::move(response);
  return answer;
}

}  // namespace pawl::registry
