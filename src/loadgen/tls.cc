#include "loadgen/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>

namespace pawl::loadgen {
namespace {

/// The oldest error that OpenSSL keeps for this thread, in its words.
std::string last_error(const char* otherwise) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return otherwise;
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : otherwise;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 || ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

SSL* ssl_of(void* p) { return static_cast<SSL*>(p); }
BIO* bio_of(void* p) { return static_cast<BIO*>(p); }

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::make(const TlsOptions& options) {
  ERR_clear_error();
  std::shared_ptr<TlsContext> out(new TlsContext);
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (context == nullptr) return internal_error("OpenSSL: " + last_error("no context"));
  out->context_ = context;
  out->options_ = options;
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // Buffers of idle connections are given back: a run holds thousands of them.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(context, options.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (options.insecure) return out;
  if (options.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_locations(context, options.ca_file.c_str(), nullptr) != 1) {
    return bad_input(options.ca_file.string() + ": " + last_error("no certificates in it"), "give a file of certificates in PEM form");
  }
  return out;
}

TlsContext::~TlsContext() { SSL_CTX_free(static_cast<SSL_CTX*>(context_)); }

TlsSession::TlsSession(const TlsContext& context, const std::string& host) {
  SSL* ssl = SSL_new(static_cast<SSL_CTX*>(context.context_));
  ssl_ = ssl;
  in_ = BIO_new(BIO_s_mem());
  out_ = BIO_new(BIO_s_mem());
  if (ssl == nullptr || in_ == nullptr || out_ == nullptr) return;  // out of memory: every later call fails
  BIO_set_mem_eof_return(bio_of(in_), -1);
  SSL_set_bio(ssl, bio_of(in_), bio_of(out_));
  SSL_set_connect_state(ssl);
  const std::string& name = context.options_.server_name.empty() ? host : context.options_.server_name;
  if (is_address(name)) {
    if (!context.options_.insecure) X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl, name.c_str());
    if (!context.options_.insecure) SSL_set1_host(ssl, name.c_str());
  }
}

TlsSession::~TlsSession() { SSL_free(ssl_of(ssl_)); }

Result<bool> TlsSession::handshake() {
  if (ssl_ == nullptr) return machine_error("TLS: out of memory");
  ERR_clear_error();
  const int rc = SSL_do_handshake(ssl_of(ssl_));
  if (rc == 1) return true;
  const int why = SSL_get_error(ssl_of(ssl_), rc);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return false;
  std::string text = last_error("the handshake failed");
  if (const long verdict = SSL_get_verify_result(ssl_of(ssl_)); verdict != X509_V_OK) text = X509_verify_cert_error_string(verdict);
  return peer_error("TLS: " + text, "check the certificate of the server: --ca-file names whom to trust, --insecure takes any");
}

void TlsSession::received(std::string_view bytes) {
  if (ssl_ != nullptr) BIO_write(bio_of(in_), bytes.data(), static_cast<int>(bytes.size()));
}

Result<std::size_t> TlsSession::read(char* buffer, std::size_t size) {
  if (ssl_ == nullptr) return machine_error("TLS: out of memory");
  ERR_clear_error();
  std::size_t got = 0;
  const int rc = SSL_read_ex(ssl_of(ssl_), buffer, size, &got);
  if (rc == 1) return got;
  switch (SSL_get_error(ssl_of(ssl_), rc)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return std::size_t{0};
    case SSL_ERROR_ZERO_RETURN:
      peer_closed_ = true;
      return std::size_t{0};
    default:
      return peer_error("TLS: " + last_error("a broken record"));
  }
}

/// A memory BIO never shrinks, and the handshake has made both larger than anything that follows will.
void TlsSession::give_back_buffers() {
  if (BIO_pending(bio_of(in_)) > 0 || BIO_pending(bio_of(out_)) > 0) return;
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  if (in == nullptr || out == nullptr) {
    BIO_free(in);
    BIO_free(out);
    return;
  }
  BIO_set_mem_eof_return(in, -1);
  in_ = in;
  out_ = out;
  SSL_set_bio(ssl_of(ssl_), in, out);
  slim_ = true;
}

Status TlsSession::write(std::string_view bytes) {
  if (ssl_ == nullptr) return machine_error("TLS: out of memory");
  if (!slim_) give_back_buffers();
  ERR_clear_error();
  std::size_t done = 0;
  // The memory BIO takes all of it at once.
  if (SSL_write_ex(ssl_of(ssl_), bytes.data(), bytes.size(), &done) != 1 || done != bytes.size()) return peer_error("TLS: " + last_error("nothing written"));
  return {};
}

std::string_view TlsSession::pending() const {
  char* data = nullptr;
  if (ssl_ == nullptr) return {};
  const long size = BIO_get_mem_data(bio_of(out_), &data);
  return size <= 0 ? std::string_view{} : std::string_view(data, static_cast<std::size_t>(size));
}

void TlsSession::sent(std::size_t n) {
  std::array<char, 4096> sink;
  while (n > 0) {
    const int took = BIO_read(bio_of(out_), sink.data(), static_cast<int>(std::min(n, sink.size())));
    if (took <= 0) return;
    n -= static_cast<std::size_t>(took);
  }
}

}  // namespace pawl::loadgen
