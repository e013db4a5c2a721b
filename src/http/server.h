#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "http/message.h"

namespace pawl::http {

/// The answer to one request, owned by whoever answers it; may be kept, and used from any thread, also after the server
/// is gone (it then does nothing). Exactly one of `send` and `begin` is called. Dropping the last owner of an unanswered
/// one answers 500; of one that has begun and not finished, it cuts the connection, so that the peer sees a broken answer.
class Responder {
 public:
  virtual ~Responder() = default;
  /// A whole answer; Content-Length is set.
  virtual void send(Response response) = 0;
  /// Starts an answer of unknown length (chunked); then any number of `write`, then `finish`.
  virtual void begin(int status, Fields fields) = 0;
  /// One chunk, sent as soon as the one before it is out; empty text is ignored. Queued, never blocks; dropped after the
  /// peer has gone. A peer that lets more than 64 MiB pile up is cut off.
  virtual void write(std::string bytes) = 0;
  virtual void finish() = 0;
  /// The peer has closed (also only its sending side) or reset the connection: work for it can stop.
  [[nodiscard]] virtual bool peer_gone() const = 0;
};

/// Answers at once or keeps the responder for later. Called on a thread of the server; must not block for long. A HEAD
/// request arrives as GET; the body of its answer stays unsent.
using Handler = std::function<void(Request, std::shared_ptr<Responder>)>;

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: a free one
  int threads = 1;
  std::size_t body_max = 64u << 20;    ///< bytes; larger: 413
  std::size_t header_max = 64u << 10;  ///< bytes; larger: 431
  int idle_timeout_s = 120;            ///< of a connection without a request in progress, and of sending one
  int write_timeout_s = 0;             ///< of a peer that takes nothing of its answer; 0: none
  std::size_t connections_max = 0;     ///< further ones are closed at once; 0: no limit
  std::uint64_t bodies_max = 0;        ///< bytes of all bodies that are being received or answered; beyond: 503; 0: no limit
};

/// An HTTP/1.1 server: keep-alive, chunked answers, Expect, HEAD. Destroying it closes the listener, finishes nothing
/// and joins its threads; `drain` first lets requests in progress be answered.
class Server {
 public:
  /// Listening when it returns. kExhausted (exit 4) when the address cannot be bound; the message names the process
  /// that holds the port when /proc tells.
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options, Handler handler);
  virtual ~Server() = default;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// Accepts nothing more and waits until every request in progress has its answer, at most so long. True when none is left.
  virtual bool drain(Nanos at_most) = 0;
};

}  // namespace pawl::http
