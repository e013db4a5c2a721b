#pragma once

#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <deque>
#include <set>
#include <shared_mutex>

#include "http/server.h"

/// Internal to the server: the only header with types of Asio and Beast. Included by server.cc and connection.cc alone.
namespace pawl::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Strand = asio::strand<asio::io_context::executor_type>;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Strand>;

class Connection;

/// What the server and its connections share; outlives the server while a responder is kept.
struct ServerCore {
  ServerOptions options;
  Handler handler;
  asio::io_context io;

  std::shared_mutex stop_mutex;
  bool stopped = false;                ///< guarded by stop_mutex; once set nothing is posted to `io`
  std::atomic<bool> draining = false;  ///< no connection is kept for another request

  std::atomic<std::uint64_t> bodies = 0;  ///< bytes that connections have claimed for bodies

  std::mutex list_mutex;
  std::set<Connection*> connections;  ///< guarded by list_mutex
};

/// One accepted connection. Everything but `peer_gone`, `busy` and `run` happens on its strand. Requests are answered one after
/// the other; pipelined ones wait in the buffer.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<ServerCore> core, Strand strand, Socket socket);
  ~Connection();

  void start() { read_request(); }
  /// Closes at once, finishing nothing.
  void abort();
  [[nodiscard]] bool peer_gone() const { return peer_gone_; }
  /// A request has no complete answer yet.
  [[nodiscard]] bool busy() const { return in_progress_; }

  /// Runs `work` on the strand: at once when called on it, never after the server has stopped.
  template <class Work>
  void run(Work work) {
    if (strand_.running_in_this_thread()) {
      work();
      return;
    }
    const std::shared_lock lock(core_->stop_mutex);
    if (core_->stopped) return;
    asio::post(strand_, std::move(work));
  }

  void send(Response response);
  void begin(int status, const Fields& fields);
  void write(const std::string& bytes);
  void finish();

 private:
  using Parser = beast::http::request_parser<beast::http::string_body>;

  void read_request();
  void on_head(beast::error_code error);
  void on_body(beast::error_code error);
  /// Reserves room for the body that the head announces; false: there is none.
  bool claim_body();
  void release_body();
  void refuse(int status, const std::string& why);
  void watch_peer();
  [[nodiscard]] std::string head(int status, const Fields& fields, std::optional<std::size_t> length);
  void enqueue(std::string bytes);
  void pump();
  void answer_done();
  void linger();
  void arm_timer(std::chrono::seconds after);

  const std::shared_ptr<ServerCore> core_;
  const Strand strand_;
  Socket socket_;
  asio::steady_timer timer_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::deque<std::string> queue_;
  std::size_t queued_bytes_ = 0;
  std::uint64_t claimed_ = 0;  ///< of `ServerCore::bodies`
  bool writing_ = false;
  bool watching_ = false;
  bool finished_ = false;  ///< the answer is complete, its bytes may still be queued
  bool keep_alive_ = false;
  bool http_1_0_ = false;
  bool head_only_ = false;
  bool chunked_ = false;
  bool closed_ = false;
  std::atomic<bool> peer_gone_ = false;
  std::atomic<bool> in_progress_ = false;  ///< a request was handed out and its answer is not out
  std::array<char, 4096> discard_{};
};

}  // namespace pawl::http
