#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"

namespace pawl::loadgen::testing {

using namespace std::chrono_literals;

struct Step {
  Millis wait{0};  ///< before it is written
  std::string bytes;
  int times = 1;
};
struct Script {
  std::vector<Step> steps;
  bool close = false;
};

/// A certificate for 127.0.0.1 and "localhost" that signs itself, made for one test.
struct TestCertificate {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();

  TestCertificate() {
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
    X509_add_ext(certificate, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate, key, EVP_sha256());
  }
  ~TestCertificate() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;

  [[nodiscard]] std::string pem() const {
    BIO* out = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(out, certificate);
    char* data = nullptr;
    const long size = BIO_get_mem_data(out, &data);
    std::string text(data, static_cast<std::size_t>(size));
    BIO_free(out);
    return text;
  }
};

/// A server that answers by script, one thread a connection. TCP on 127.0.0.1, with TLS or without, or a Unix socket.
class ScriptedServer {
 public:
  using Answer = std::function<Script(int request_number, const std::string& request)>;

  explicit ScriptedServer(Answer answer, const TestCertificate* certificate = nullptr, const std::string& unix_path = {})
      : answer_(std::move(answer)), path_(unix_path), listener_(::socket(unix_path.empty() ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (certificate != nullptr) {
      std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL to a client that has gone
      tls_ = SSL_CTX_new(TLS_server_method());
      SSL_CTX_use_certificate(tls_, certificate->certificate);
      SSL_CTX_use_PrivateKey(tls_, certificate->key);
    }
    if (unix_path.empty()) {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
      socklen_t size = sizeof address;
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
      port_ = ntohs(address.sin_port);
    } else {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::strncpy(address.sun_path, unix_path.c_str(), sizeof address.sun_path - 1);
      ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    }
    ::listen(listener_, 128);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~ScriptedServer() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
    ::close(listener_);
    if (!path_.empty()) ::unlink(path_.c_str());
    SSL_CTX_free(tls_);
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] std::string url() const {
    if (!path_.empty()) return "unix:" + path_;
    return fmt::format("{}://127.0.0.1:{}", tls_ != nullptr ? "https" : "http", port_);
  }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] int connections() const { return connections_; }
  [[nodiscard]] int requests() const { return requests_; }
  [[nodiscard]] int peak() const { return peak_; }

 private:
  void accept_all() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      ++connections_;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      threads_.emplace_back([this, fd] { serve(fd); });
    }
  }

  static ssize_t read(int fd, SSL* ssl, char* buffer, std::size_t size) {
    return ssl != nullptr ? SSL_read(ssl, buffer, static_cast<int>(size)) : ::recv(fd, buffer, size, 0);
  }
  static bool write(int fd, SSL* ssl, const std::string& bytes) {
    if (bytes.empty()) return true;
    if (ssl != nullptr) return SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size())) > 0;
    return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0;
  }

  void serve(int fd) {
    SSL* ssl = nullptr;
    if (tls_ != nullptr) {
      ssl = SSL_new(tls_);
      SSL_set_fd(ssl, fd);
    }
    if (ssl == nullptr || SSL_accept(ssl) == 1) converse(fd, ssl);
    SSL_free(ssl);
    const std::lock_guard lock(mutex_);
    std::erase(open_, fd);
    ::close(fd);
  }

  void converse(int fd, SSL* ssl) {
    std::string input;
    while (!stopping_) {
      const auto head_end = input.find("\r\n\r\n");
      const auto length_at = input.find("Content-Length: ");
      const std::size_t total = head_end == std::string::npos || length_at == std::string::npos
                                    ? std::string::npos
                                    : head_end + 4 + static_cast<std::size_t>(std::stoul(input.substr(length_at + 16)));
      if (input.size() < total) {
        char buffer[65536];
        const ssize_t n = read(fd, ssl, buffer, sizeof buffer);
        if (n <= 0) return;
        input.append(buffer, static_cast<std::size_t>(n));
        continue;
      }
      const int now = ++in_flight_;
      for (int seen = peak_; now > seen && !peak_.compare_exchange_weak(seen, now);) {
      }
      const Script script = answer_(requests_++, input.substr(0, total));
      input.erase(0, total);
      bool alive = true;
      for (std::size_t i = 0; i < script.steps.size() && alive; ++i) {
        for (int k = 0; k < script.steps[i].times && alive && !stopping_; ++k) {
          std::this_thread::sleep_for(script.steps[i].wait);
          // Before the last bytes go out: the client may send its next request as soon as it has them.
          if (i + 1 == script.steps.size() && k + 1 == script.steps[i].times) --in_flight_;
          alive = write(fd, ssl, script.steps[i].bytes);
        }
      }
      if (script.close || !alive) return;
    }
  }

  Answer answer_;
  std::string path_;
  int listener_;
  int port_ = 0;
  SSL_CTX* tls_ = nullptr;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> connections_ = 0, requests_ = 0, in_flight_ = 0, peak_ = 0;
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

inline const std::string kHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
inline std::string chunk(const std::string& bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }
inline const std::string kText = R"(data: {"choices":[{"index":0,"text":"x"}]})"
                                 "\n\n";
inline std::string usage(int output) {
  return fmt::format(R"(data: {{"choices":[],"usage":{{"prompt_tokens":8,"completion_tokens":{}}}}})"
                     "\n\n",
                     output);
}

/// `tokens` events, one each `gap`, usage in an event of its own.
inline Script stream(int tokens, Millis gap = 1ms) {
  Script script;
  for (int i = 0; i < tokens; ++i) script.steps.push_back({gap, (i == 0 ? kHead : "") + chunk(kText)});
  script.steps.push_back({0ms, chunk(usage(tokens)) + chunk("data: [DONE]\n\n") + "0\r\n\r\n"});
  return script;
}

}  // namespace pawl::loadgen::testing
