#include "http/connection.h"

#include <fmt/format.h>

#include "base/assert.h"
#include "http/target.h"

namespace pawl::http {
namespace {

namespace bh = beast::http;
constexpr std::size_t kQueueMax = 64u << 20;
constexpr std::chrono::seconds kLinger{2};

/// A field must not be able to start another one.
std::string one_line(std::string text) {
  std::erase_if(text, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
  return text;
}

bool has_no_body(int status) { return status == 204 || status == 304 || (status >= 100 && status < 200); }

class ConnectionResponder final : public Responder {
 public:
  explicit ConnectionResponder(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~ConnectionResponder() override {
    const int state = state_;
    if (state == kFresh) {
      connection_->run([c = connection_] { c->send({500, {{"content-type", "text/plain"}}, "the request was dropped without an answer\n"}); });
    } else if (state == kBegun) {
      connection_->run([c = connection_] { c->abort(); });
    }
  }
  void send(Response response) override {
    move_on(kFresh, kFinished);
    connection_->run([c = connection_, r = std::move(response)]() mutable { c->send(std::move(r)); });
  }
  void begin(int status, Fields fields) override {
    move_on(kFresh, kBegun);
    connection_->run([c = connection_, status, f = std::move(fields)] { c->begin(status, f); });
  }
  void write(std::string bytes) override {
    PAWL_ASSERT(state_ == kBegun);
    if (bytes.empty()) return;
    connection_->run([c = connection_, b = std::move(bytes)] { c->write(b); });
  }
  void finish() override {
    move_on(kBegun, kFinished);
    connection_->run([c = connection_] { c->finish(); });
  }
  [[nodiscard]] bool peer_gone() const override { return connection_->peer_gone(); }

 private:
  static constexpr int kFresh = 0, kBegun = 1, kFinished = 2;
  void move_on(int from, int to) { PAWL_ASSERT(state_.exchange(to) == from); }

  const std::shared_ptr<Connection> connection_;
  std::atomic<int> state_ = kFresh;
};

}  // namespace

Connection::Connection(std::shared_ptr<ServerCore> core, Strand strand, Socket socket)
    : core_(std::move(core)), strand_(std::move(strand)), socket_(std::move(socket)), timer_(strand_) {
  const std::lock_guard lock(core_->list_mutex);
  core_->connections.insert(this);
}

Connection::~Connection() {
  release_body();
  const std::lock_guard lock(core_->list_mutex);
  core_->connections.erase(this);
}

void Connection::abort() {
  if (closed_) return;
  closed_ = true;
  in_progress_ = false;
  release_body();
  peer_gone_ = true;
  beast::error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  queue_.clear();
}

void Connection::arm_timer(std::chrono::seconds after) {
  timer_.expires_after(after);
  timer_.async_wait([self = shared_from_this()](beast::error_code error) {
    // A wait that had already expired when it was replaced arrives without an error: the expiry tells.
    if (!error && self->timer_.expiry() <= std::chrono::steady_clock::now()) self->abort();
  });
}

void Connection::read_request() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(core_->options.header_max));
  parser_->body_limit(core_->options.body_max);
  arm_timer(std::chrono::seconds(core_->options.idle_timeout_s));
  bh::async_read_header(socket_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, std::size_t) { self->on_head(error); });
}

void Connection::on_head(beast::error_code error) {
  if (closed_) return;
  if (error) return on_body(error);
  if (!claim_body()) {
    timer_.expires_at(asio::steady_timer::time_point::max());
    return refuse(503, "too much is being received; try again in a moment");
  }
  if (beast::iequals(parser_->get()[bh::field::expect], "100-continue")) {
    // Nothing else is being written: the answer to the request before this one is out.
    static const std::string kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(socket_, asio::buffer(kContinue), [self = shared_from_this()](beast::error_code, std::size_t) {});
  }
  bh::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](beast::error_code e, std::size_t) { self->on_body(e); });
}

void Connection::on_body(beast::error_code error) {
  if (closed_) return;
  timer_.expires_at(asio::steady_timer::time_point::max());
  if (error == bh::error::body_limit) return refuse(413, fmt::format("the body is larger than {} bytes", core_->options.body_max));
  if (error == bh::error::header_limit) return refuse(431, fmt::format("the header is larger than {} bytes", core_->options.header_max));
  if (error == bh::error::end_of_stream || error == bh::error::partial_message) return abort();
  if (error && error.category() == make_error_code(bh::error::bad_method).category()) return refuse(400, error.message());
  if (error) return abort();

  auto message = parser_->release();
  http_1_0_ = message.version() < 11;
  keep_alive_ = message.keep_alive() && !core_->draining;
  head_only_ = message.method() == bh::verb::head;
  if (!http_1_0_ && message.count(bh::field::host) != 1) return refuse(400, "one Host field is needed");
  auto target = parse_target(std::string_view(message.target().data(), message.target().size()));
  if (!target) return refuse(400, target.error().message);
  Request request;
  request.method = head_only_ ? "GET" : std::string(message.method_string());
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  for (const auto& field : message) request.fields.emplace_back(std::string(field.name_string()), std::string(field.value()));
  request.body = std::move(message.body());
  in_progress_ = true;
  finished_ = false;
  watch_peer();
  core_->handler(std::move(request), std::make_shared<ConnectionResponder>(shared_from_this()));
}

bool Connection::claim_body() {
  const std::uint64_t most = core_->options.bodies_max;
  if (most == 0) return true;
  const auto length = parser_->content_length();
  // A chunked body may become as large as one may be.
  const std::uint64_t wanted = length ? *length : parser_->chunked() ? core_->options.body_max : 0;
  if (wanted == 0) return true;
  claimed_ = wanted;
  return (core_->bodies += wanted) <= most;
}

void Connection::release_body() {
  core_->bodies -= claimed_;
  claimed_ = 0;
}

void Connection::refuse(int status, const std::string& why) {
  keep_alive_ = false;
  in_progress_ = true;
  finished_ = false;
  send({status, {{"content-type", "text/plain"}}, why + "\n"});
}

void Connection::watch_peer() {
  if (watching_ || closed_) return;
  watching_ = true;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](beast::error_code error) {
    self->watching_ = false;
    if (self->closed_ || error) return;
    char byte = 0;
    const ssize_t n = ::recv(self->socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      // Queued bytes are still tried: a peer may close its sending side only.
      self->peer_gone_ = true;
    } else if (n < 0 && self->in_progress_) {
      self->watch_peer();
    }
  });
}

std::string Connection::head(int status, const Fields& fields, std::optional<std::size_t> length) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", status, std::string(bh::obsolete_reason(bh::int_to_status(static_cast<unsigned>(status)))));
  for (const auto& [name, value] : fields) text += one_line(name) + ": " + one_line(value) + "\r\n";
  if (length && !has_no_body(status)) text += fmt::format("content-length: {}\r\n", *length);
  if (!length && chunked_) text += "transfer-encoding: chunked\r\n";
  if (!keep_alive_) {
    text += "connection: close\r\n";
  } else if (http_1_0_) {
    text += "connection: keep-alive\r\n";
  }
  return text + "\r\n";
}

void Connection::send(Response response) {
  if (closed_ || !in_progress_ || finished_) return;
  std::string bytes = head(response.status, response.fields, response.body.size());
  if (!head_only_ && !has_no_body(response.status)) bytes += response.body;
  finished_ = true;
  enqueue(std::move(bytes));
}

void Connection::begin(int status, const Fields& fields) {
  if (closed_ || !in_progress_ || finished_) return;
  chunked_ = !http_1_0_;
  if (http_1_0_) keep_alive_ = false;
  enqueue(head(status, fields, std::nullopt));
}

void Connection::write(const std::string& bytes) {
  if (closed_ || head_only_ || finished_) return;
  if (queued_bytes_ > kQueueMax) return abort();
  enqueue(chunked_ ? fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes) : bytes);
}

void Connection::finish() {
  if (closed_ || finished_) return;
  finished_ = true;
  if (chunked_ && !head_only_) return enqueue("0\r\n\r\n");
  if (!writing_) answer_done();
}

void Connection::enqueue(std::string bytes) {
  queued_bytes_ += bytes.size();
  queue_.push_back(std::move(bytes));
  if (!writing_) pump();
}

void Connection::pump() {
  writing_ = true;
  if (core_->options.write_timeout_s > 0) arm_timer(std::chrono::seconds(core_->options.write_timeout_s));
  asio::async_write(socket_, asio::buffer(queue_.front()), [self = shared_from_this()](beast::error_code error, std::size_t) {
    self->writing_ = false;
    if (self->closed_) return;
    if (error) return self->abort();
    if (self->core_->options.write_timeout_s > 0) self->timer_.expires_at(asio::steady_timer::time_point::max());
    self->queued_bytes_ -= self->queue_.front().size();
    self->queue_.pop_front();
    if (!self->queue_.empty()) {
      self->pump();
    } else if (self->finished_) {
      self->answer_done();
    }
  });
}

void Connection::answer_done() {
  in_progress_ = false;
  release_body();
  chunked_ = false;
  if (!keep_alive_) {
    beast::error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    arm_timer(kLinger);
    return linger();
  }
  if (peer_gone_) return abort();
  head_only_ = false;
  read_request();
}

void Connection::linger() {
  // Closing with unread bytes would reset the connection, and the peer might lose the answer.
  socket_.async_read_some(asio::buffer(discard_), [self = shared_from_this()](beast::error_code error, std::size_t) {
    if (self->closed_) return;
    if (error) return self->abort();
    self->linger();
  });
}

}  // namespace pawl::http
