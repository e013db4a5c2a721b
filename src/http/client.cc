#include "http/client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"
#include "http/ca_file.h"

namespace pawl::http {
namespace {

void init_once() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(done);
}

struct EasyDeleter {
  void operator()(CURL* p) const { curl_easy_cleanup(p); }
};
struct MultiDeleter {
  void operator()(CURLM* p) const { curl_multi_cleanup(p); }
};
struct ListDeleter {
  void operator()(curl_slist* p) const { curl_slist_free_all(p); }
};
using Easy = std::unique_ptr<CURL, EasyDeleter>;
using Multi = std::unique_ptr<CURLM, MultiDeleter>;
using List = std::unique_ptr<curl_slist, ListDeleter>;

struct Incoming {
  Response response;
  const ClientRequest* request = nullptr;
  std::size_t taken = 0;  ///< bytes of the body
  bool too_large = false, refused = false;
};

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto& in = *static_cast<Incoming*>(self);
  const std::size_t bytes = size * count;
  if (in.taken + bytes > in.request->answer_max) {
    in.too_large = true;
    return 0;
  }
  in.taken += bytes;
  if (in.request->sink && in.response.status == 200) {
    in.refused = !in.request->sink(std::string_view(data, bytes));
    return in.refused ? 0 : bytes;
  }
  in.response.body.append(data, bytes);
  return bytes;
}

std::size_t take_field(char* data, std::size_t size, std::size_t count, void* self) {
  auto& in = *static_cast<Incoming*>(self);
  const std::string_view line = trim(std::string_view(data, size * count));
  // Every status line starts a new head: an interim answer (100) must leave nothing behind.
  if (line.starts_with("HTTP/")) {
    in.response.fields.clear();
    in.response.status = static_cast<int>(parse_int(line.substr(std::min(line.size(), line.find(' ') + 1), 3)).value_or(0));
  }
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos && !line.starts_with("HTTP/")) {
    in.response.fields.emplace_back(std::string(line.substr(0, colon)), std::string(trim(line.substr(colon + 1))));
  }
  return size * count;
}

/// The parts of a URL that an error may show: no user, password or query.
struct UrlParts {
  std::string shown, host;
};

Result<UrlParts> read_url(const std::string& url) {
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(curl_url(), curl_url_cleanup);
  if (const CURLUcode rc = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0); rc != CURLUE_OK) {
    return bad_input(fmt::format("not a URL: {}", curl_url_strerror(rc)));
  }
  const auto part = [&](CURLUPart which) {
    char* text = nullptr;
    if (curl_url_get(parsed.get(), which, &text, 0) != CURLUE_OK) return std::string();
    std::string out(text);
    curl_free(text);
    return out;
  };
  const std::string scheme = part(CURLUPART_SCHEME), host = part(CURLUPART_HOST), port = part(CURLUPART_PORT);
  if (scheme != "http" && scheme != "https") return bad_input(fmt::format("a URL of the kind {}: is not supported", scheme), "use http or https");
  return UrlParts{fmt::format("{}://{}{}{}{}", scheme, host, port.empty() ? "" : ":", port, part(CURLUPART_PATH)), host};
}

/// Looked for at run time, once: the library that comes along in an archive knows only the place of the distribution that
/// it was built on.
const std::optional<std::string>& ca_file() {
  static const std::optional<std::string> found = find_ca_file(std::getenv("SSL_CERT_FILE"), [](const char* path) { return ::access(path, R_OK) == 0; });
  return found;
}

bool is_loopback(const std::string& host) { return host == "localhost" || host.starts_with("127.") || host == "[::1]" || host == "::1"; }

}  // namespace

Result<Response> fetch(const ClientRequest& request, std::stop_token stop) {
  init_once();
  if (stop.stop_requested()) return cancelled();
  PAWL_ASSIGN(const UrlParts url, read_url(request.url));
  const std::string doing = fmt::format("{} {}", request.method, url.shown);

  const Easy easy(curl_easy_init());
  const Multi multi(curl_multi_init());
  if (!easy || !multi) return machine_error(doing + ": out of memory");
  Incoming in;
  in.request = &request;
  std::array<char, CURL_ERROR_SIZE> detail{};
  CURL* c = easy.get();
  curl_easy_setopt(c, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, detail.data());
  curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(1, request.timeout / Millis{1})));
  if (ca_file()) curl_easy_setopt(c, CURLOPT_CAINFO, ca_file()->c_str());
  if (is_loopback(url.host)) curl_easy_setopt(c, CURLOPT_PROXY, "");
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &in);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_field);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, &in);
  if (request.method == "HEAD") {
    curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
  } else if (!request.body.empty() || request.method == "POST" || request.method == "PUT" || request.method == "PATCH") {
    curl_easy_setopt(c, CURLOPT_POST, 1L);
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  if (request.method != "HEAD") curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_slist* raw = curl_slist_append(nullptr, "Expect:");  // no pause of a second before a large body
  if (!find_field(request.fields, "content-type")) raw = curl_slist_append(raw, "Content-Type:");
  for (const auto& [name, value] : request.fields) {
    if ((name + value).find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      curl_slist_free_all(raw);
      return bad_input(fmt::format("{}: the field {} holds a line end", doing, replace_all(replace_all(name, "\r", ""), "\n", "")));
    }
    raw = curl_slist_append(raw, (value.empty() ? name + ";" : name + ": " + value).c_str());
  }
  const List fields(raw);
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, fields.get());

  curl_multi_add_handle(multi.get(), c);
  CURLcode rc = CURLE_OK;
  bool done = false;
  {
    const std::stop_callback wake(stop, [&multi] { curl_multi_wakeup(multi.get()); });
    int running = 1;
    while (!done && !stop.stop_requested()) {
      curl_multi_perform(multi.get(), &running);
      int left = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        rc = message->data.result;
        done = true;
      }
      if (!done) curl_multi_poll(multi.get(), nullptr, 0, 1000, nullptr);
    }
  }
  curl_multi_remove_handle(multi.get(), c);
  if (!done) return cancelled();
  if (in.too_large) {
    return Error{ErrorClass::kExhausted, ExitStatus::kPeer, fmt::format("{}: the answer is larger than {} bytes", doing, request.answer_max)};
  }
  if (in.refused) return machine_error(fmt::format("{}: the answer could not be kept", doing), "is there room on the disk?");
  if (rc != CURLE_OK) return peer_error(fmt::format("{}: {}", doing, detail[0] != '\0' ? detail.data() : curl_easy_strerror(rc)));
  long status = 0;
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
  in.response.status = static_cast<int>(status);
  return std::move(in.response);
}

}  // namespace pawl::http
