#include "http/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "http/connection.h"
#include "http/port_owner.h"

namespace pawl::http {
namespace {

using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, asio::io_context::executor_type>;

class BeastServer final : public Server {
 public:
  BeastServer(std::shared_ptr<ServerCore> core, Acceptor acceptor)
      : core_(std::move(core)), acceptor_(std::move(acceptor)), retry_(core_->io), port_(acceptor_.local_endpoint().port()) {
    accept();
    for (int i = 0; i < std::max(1, core_->options.threads); ++i) threads_.emplace_back([this] { core_->io.run(); });
  }

  ~BeastServer() override {
    {
      const std::unique_lock lock(core_->stop_mutex);
      core_->stopped = true;
    }
    core_->io.stop();
    threads_.clear();
    // Only this thread is left. Run what the closing makes fail: pending operations hold their connections, and those
    // hold the core, so a pending one would keep everything alive for ever.
    beast::error_code ignored;
    acceptor_.close(ignored);
    retry_.cancel();
    std::vector<std::shared_ptr<Connection>> open;
    {
      const std::lock_guard lock(core_->list_mutex);
      for (Connection* c : core_->connections) {
        if (auto alive = c->weak_from_this().lock()) open.push_back(std::move(alive));
      }
    }
    for (const auto& c : open) c->abort();
    open.clear();
    core_->io.restart();
    core_->io.poll();
    core_->handler = nullptr;
  }

  [[nodiscard]] std::uint16_t port() const override { return port_; }

  bool drain(Nanos at_most) override {
    core_->draining = true;
    asio::post(core_->io, [this] {
      beast::error_code ignored;
      acceptor_.close(ignored);
    });
    const auto deadline = std::chrono::steady_clock::now() + at_most;
    for (;;) {
      {
        const std::lock_guard lock(core_->list_mutex);
        if (std::ranges::none_of(core_->connections, [](const Connection* c) { return c->busy(); })) return true;
      }
      if (std::chrono::steady_clock::now() >= deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

 private:
  [[nodiscard]] bool full() const {
    const std::lock_guard lock(core_->list_mutex);
    return core_->options.connections_max > 0 && core_->connections.size() >= core_->options.connections_max;
  }
  void accept() {
    Strand strand = asio::make_strand(core_->io.get_executor());
    acceptor_.async_accept(strand, [this, strand](beast::error_code error, Socket socket) {
      if (!acceptor_.is_open() || error == asio::error::operation_aborted) return;
      if (error) {
        // Out of descriptors, most likely: trying at once would spin.
        retry_.expires_after(std::chrono::milliseconds(50));
        retry_.async_wait([this](beast::error_code aborted) {
          if (!aborted) accept();
        });
        return;
      }
      if (full()) return accept();  // `socket` closes
      beast::error_code ignored;
      socket.set_option(asio::ip::tcp::no_delay(true), ignored);
      auto connection = std::make_shared<Connection>(core_, strand, std::move(socket));
      connection->run([connection] { connection->start(); });
      accept();
    });
  }

  const std::shared_ptr<ServerCore> core_;
  Acceptor acceptor_;
  asio::steady_timer retry_;
  const std::uint16_t port_;
  std::vector<std::jthread> threads_;
};

Error bind_error(const ServerOptions& options, const beast::error_code& error) {
  if (error == asio::error::address_in_use) {
    const auto owner = find_port_owner(options.port);
    return machine_error(fmt::format("port {} on {} is in use{}", options.port, options.address,
                                     owner ? fmt::format(" by PID {} ({})", owner->pid, owner->name) : std::string()),
                         "end that process or choose another port");
  }
  return machine_error(fmt::format("cannot listen on port {} of {}: {}", options.port, options.address, error.message()));
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, Handler handler) {
  beast::error_code error;
  const auto address = asio::ip::make_address(options.address == "localhost" ? "127.0.0.1" : options.address, error);
  if (error) return bad_input(fmt::format("not an address to listen on: {}", options.address), "give an IP address such as 127.0.0.1");
  auto core = std::make_shared<ServerCore>();
  core->options = options;
  core->handler = std::move(handler);
  const asio::ip::tcp::endpoint endpoint(address, options.port);
  Acceptor acceptor(core->io.get_executor());
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(4096, error);
  if (error) return bind_error(options, error);
  return std::unique_ptr<Server>(std::make_unique<BeastServer>(std::move(core), std::move(acceptor)));
}

}  // namespace pawl::http
