#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::loadgen {

struct TlsOptions {
  std::filesystem::path ca_file;  ///< certificates to trust, PEM; empty: those of the system
  bool insecure = false;          ///< take any certificate
  std::string server_name;        ///< name to ask for and to check; empty: the host of the address
};

/// What all connections of a run share. Immutable once made; any number of threads.
class TlsContext {
 public:
  /// Errors: kInvalid when the file cannot be read or holds no certificate.
  static Result<std::shared_ptr<TlsContext>> make(const TlsOptions& options);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

 private:
  friend class TlsSession;
  TlsContext() = default;
  void* context_ = nullptr;
  TlsOptions options_;
};

/// TLS of one connection, without its socket: bytes of the socket go in and out by hand, so that a read and its receive
/// stamp stay ours (BC-2.3).
class TlsSession {
 public:
  /// `host`: of the address. `context` must outlive the session.
  TlsSession(const TlsContext& context, const std::string& host);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// Goes on with the handshake as far as what was received allows. True once it is done. Error (kTransient): it failed,
  /// with the reason, for instance of the certificate.
  Result<bool> handshake();

  /// Bytes that the socket gave.
  void received(std::string_view bytes);
  /// The next bytes of the peer, decrypted, into `buffer`; 0: none are complete. Error: the record layer is broken.
  Result<std::size_t> read(char* buffer, std::size_t size);
  /// The peer said that nothing follows.
  [[nodiscard]] bool peer_closed() const { return peer_closed_; }

  /// Encrypts `bytes`; what is to be written to the socket is `pending()`.
  Status write(std::string_view bytes);
  /// Bytes that the socket must take next. Valid until the next call.
  [[nodiscard]] std::string_view pending() const;
  /// The socket took so many of them.
  void sent(std::size_t n);

 private:
  void* ssl_ = nullptr;
  void* in_ = nullptr;   ///< BIO: from the socket
  void* out_ = nullptr;  ///< BIO: to the socket
  bool peer_closed_ = false;
  bool slim_ = false;  ///< the buffers of the handshake are given back

  void give_back_buffers();
};

}  // namespace pawl::loadgen
