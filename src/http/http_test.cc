#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "http/client.h"
#include "http/port_owner.h"
#include "http/server.h"
#include "http/target.h"

namespace pawl::http {
namespace {

using namespace std::chrono_literals;

/// A server with a few routes, and the requests it saw.
class HttpTest : public testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.body_max = 1u << 20;
    options.threads = 2;
    auto started = Server::start(options, [this](Request request, std::shared_ptr<Responder> responder) { answer(std::move(request), std::move(responder)); });
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }
  void TearDown() override {
    server_.reset();
    workers_.clear();
  }

  void answer(Request request, std::shared_ptr<Responder> responder) {
    if (request.path == "/drop") return;
    if (request.path == "/keep") {
      const std::lock_guard lock(mutex_);
      kept_ = std::move(responder);
      return;
    }
    if (request.path == "/stream") {
      responder->begin(200, {{"content-type", "text/event-stream"}});
      const std::lock_guard lock(mutex_);
      workers_.emplace_back([responder] {
        for (int i = 0; i < 50; ++i) responder->write("data: " + std::to_string(i) + "\n\n");
        responder->finish();
      });
      return;
    }
    if (request.path == "/broken") {
      responder->begin(200, {});
      responder->write("half");
      return;
    }
    Response response;
    response.fields.emplace_back("x-echo", request.method);
    response.body = request.path + "|" + request.parameter("q").value_or("-") + "|" + request.body;
    responder->send(std::move(response));
  }

  [[nodiscard]] std::string url(const std::string& path) const { return "http://127.0.0.1:" + std::to_string(server_->port()) + path; }
  Result<Response> get(const std::string& path, const std::string& method = "GET", std::string body = {}) {
    ClientRequest request;
    request.method = method;
    request.url = url(path);
    request.body = std::move(body);
    request.timeout = 10s;
    return fetch(request, {});
  }

  /// A connected socket, for what a well-behaved client would not send.
  [[nodiscard]] int connect_raw() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server_->port());
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    const timeval limit{10, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
  }
  static void put(int fd, std::string_view text) { EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size())); }
  static std::string read_until(int fd, const std::string& mark, int times = 1) {
    std::string all;
    char buffer[4096];
    for (;;) {
      int seen = 0;
      for (std::size_t at = all.find(mark); at != std::string::npos; at = all.find(mark, at + mark.size())) ++seen;
      if (seen >= times) return all;
      const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) return all;
      all.append(buffer, static_cast<std::size_t>(n));
    }
  }
  std::string raw(std::string_view text) {
    const int fd = connect_raw();
    put(fd, text);
    const std::string all = read_until(fd, "\r\n\r\n");
    ::close(fd);
    return all;
  }
  std::shared_ptr<Responder> kept() {
    for (int i = 0; i < 500; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (kept_) return kept_;
      }
      std::this_thread::sleep_for(10ms);
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::vector<std::jthread> workers_;
  std::shared_ptr<Responder> kept_;
  std::unique_ptr<Server> server_;
};

TEST_F(HttpTest, ARequestGoesThereAndItsAnswerComesBack) {
  const auto r = get("/a%20b/%C3%BC?p=1&q=x+y%26z", "POST", "body");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->status, 200);
  EXPECT_EQ(r->body, "/a b/ü|x y&z|body");
  EXPECT_EQ(find_field(r->fields, "X-Echo"), "POST");
}

TEST_F(HttpTest, AHeadAnswerHasTheLengthAndNoBody) {
  const auto r = get("/abc", "HEAD");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->body, "");
  EXPECT_EQ(find_field(r->fields, "content-length"), "7");
}

TEST_F(HttpTest, AHundredRequestsUseOneConnection) {
  const int fd = connect_raw();
  for (int i = 0; i < 100; ++i) {
    put(fd, "GET /n" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string answer = read_until(fd, "|-|");
    EXPECT_NE(answer.find("/n" + std::to_string(i) + "|-|"), std::string::npos) << i << answer;
  }
  ::close(fd);
}

TEST_F(HttpTest, PipelinedRequestsAreAnsweredInOrder) {
  const int fd = connect_raw();
  put(fd, "GET /one HTTP/1.1\r\nHost: x\r\n\r\nGET /two HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answers = read_until(fd, "|-|", 2);
  ::close(fd);
  EXPECT_LT(answers.find("/one|"), answers.find("/two|"));
  EXPECT_NE(answers.find("/two|"), std::string::npos);
}

TEST_F(HttpTest, EveryWriteOfAStreamIsAChunkOfItsOwn) {
  const int fd = connect_raw();
  put(fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = read_until(fd, "0\r\n\r\n");
  ::close(fd);
  EXPECT_NE(answer.find("9\r\ndata: 0\n\n\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("a\r\ndata: 49\n\n\r\n0\r\n\r\n"), std::string::npos) << answer;
  const auto whole = get("/stream");
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->body.ends_with("data: 49\n\n"));
}

TEST_F(HttpTest, TooLargeABodyIs413AndTooLargeAHeaderIs431) {
  const auto r = get("/x", "POST", std::string(3u << 20, 'x'));
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->status, 413);
  EXPECT_TRUE(raw("GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(100'000, 'a') + "\r\n\r\n").starts_with("HTTP/1.1 431"));
}

TEST_F(HttpTest, WhatIsNoRequestIs400) {
  EXPECT_TRUE(raw("nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(raw("GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(raw("GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(raw("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(raw("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n").starts_with("HTTP/1.1 400"));
}

TEST_F(HttpTest, ExpectContinueIsAnswered) {
  EXPECT_TRUE(raw("POST /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n").starts_with("HTTP/1.1 100"));
}

TEST_F(HttpTest, ADroppedRequestIs500AndABrokenStreamIsSeen) {
  const auto dropped = get("/drop");
  ASSERT_TRUE(dropped);
  EXPECT_EQ(dropped->status, 500);
  const auto broken = get("/broken");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().cls, ErrorClass::kTransient);
}

TEST_F(HttpTest, APeerThatLeavesIsNoticedBeforeAndWhileStreaming) {
  for (const bool streaming : {false, true}) {
    {
      const std::lock_guard lock(mutex_);
      kept_ = nullptr;
    }
    const int fd = connect_raw();
    put(fd, "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
    const auto responder = kept();
    ASSERT_TRUE(responder);
    if (streaming) {
      responder->begin(200, {});
      responder->write("x");
    }
    EXPECT_FALSE(responder->peer_gone());
    ::close(fd);
    for (int i = 0; i < 500 && !responder->peer_gone(); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(responder->peer_gone());
    if (streaming) responder->finish();
  }
}

TEST_F(HttpTest, AResponderMayOutliveItsServer) {
  const int fd = connect_raw();
  put(fd, "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto responder = kept();
  ASSERT_TRUE(responder);
  server_.reset();
  responder->send({200, {}, "late"});
  EXPECT_TRUE(responder->peer_gone());
  ::close(fd);
}

TEST_F(HttpTest, APortInUseNamesItsProcess) {
  ServerOptions options;
  options.port = server_->port();
  const auto second = Server::start(options, [](Request, std::shared_ptr<Responder>) {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().exit, ExitStatus::kMachine);
  EXPECT_NE(second.error().message.find("in use by PID " + std::to_string(::getpid())), std::string::npos) << second.error().message;
}

TEST_F(HttpTest, AStopTokenEndsAFetchAtOnce) {
  std::stop_source source;
  std::jthread stopper([&] {
    static_cast<void>(kept());
    source.request_stop();
  });
  const auto start = std::chrono::steady_clock::now();
  ClientRequest request;
  request.url = url("/keep");
  const auto r = fetch(request, source.get_token());
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().cls, ErrorClass::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TEST_F(HttpTest, AFetchHasATimeLimitAndASizeLimit) {
  ClientRequest request;
  request.url = url("/keep");
  request.timeout = 200ms;
  auto r = fetch(request, {});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().exit, ExitStatus::kPeer);
  request.url = url("/abcdefgh");
  request.timeout = 10s;
  request.answer_max = 5;
  r = fetch(request, {});
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("larger than 5 bytes"), std::string::npos);
}

TEST_F(HttpTest, UrlsOfOtherKindsAreRefused) {
  for (const char* bad : {"file:///etc/passwd", "", "no url", "ftp://127.0.0.1/"}) {
    ClientRequest request;
    request.url = bad;
    const auto r = fetch(request, {});
    ASSERT_FALSE(r) << bad;
    EXPECT_EQ(r.error().cls, ErrorClass::kInvalid) << bad;
  }
  ClientRequest nobody;
  nobody.url = "http://user:secret@127.0.0.1:1/x?token=secret";
  const auto r = fetch(nobody, {});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().cls, ErrorClass::kTransient);
  EXPECT_EQ(r.error().message.find("secret"), std::string::npos) << r.error().message;
}

TEST_F(HttpTest, DrainingAnswersWhatHasBegunAndTakesNothingNew) {
  const int fd = connect_raw();
  put(fd, "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto responder = kept();
  ASSERT_TRUE(responder);
  EXPECT_FALSE(server_->drain(50ms));
  std::thread later([&] { responder->send({200, {}, "late"}); });
  EXPECT_TRUE(server_->drain(10s));
  later.join();
  EXPECT_NE(read_until(fd, "late").find("late"), std::string::npos);
  ::close(fd);
  EXPECT_FALSE(get("/x"));
}

TEST(Limits, BodiesShareARoom) {
  ServerOptions options;
  options.bodies_max = 1000;
  auto server = Server::start(options, [](Request request, std::shared_ptr<Responder> responder) {
    responder->send({200, {}, std::to_string(request.body.size())});
  });
  ASSERT_TRUE(server);
  const auto post = [&](std::size_t bytes) {
    ClientRequest request;
    request.method = "POST";
    request.url = "http://127.0.0.1:" + std::to_string((*server)->port()) + "/";
    request.body = std::string(bytes, 'x');
    request.timeout = 10s;
    const auto response = fetch(request, {});
    return response ? response->status : 0;
  };
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons((*server)->port());
  inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  const std::string_view half = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 600\r\n\r\nbegun";
  ASSERT_EQ(::send(fd, half.data(), half.size(), MSG_NOSIGNAL), static_cast<ssize_t>(half.size()));
  int status = 200;
  for (int i = 0; i < 200 && status == 200; ++i) status = post(500);
  EXPECT_EQ(status, 503);
  EXPECT_EQ(post(300), 200);
  ::close(fd);
  for (int i = 0; i < 200 && status != 200; ++i) status = post(500);
  EXPECT_EQ(status, 200);
}

TEST(Limits, AReaderThatTakesNothingIsCutAndAConnectionTooManyIsClosed) {
  ServerOptions options;
  options.write_timeout_s = 1;
  options.connections_max = 2;
  auto server = Server::start(options, [](Request, std::shared_ptr<Responder> responder) { responder->send({200, {}, std::string(32u << 20, 'x')}); });
  ASSERT_TRUE(server) << server.error().message;
  const auto open = [&] {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons((*server)->port());
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    const timeval limit{10, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
  };
  const int first = open(), second = open();
  const std::string_view request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_EQ(::send(first, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  ASSERT_EQ(::send(second, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  char byte = 0;
  ASSERT_EQ(::recv(first, &byte, 1, 0), 1);
  ASSERT_EQ(::recv(second, &byte, 1, 0), 1);
  const int third = open();
  EXPECT_LE(::recv(third, &byte, 1, 0), 0);  // closed, or reset
  // Neither of the first two reads on: both are cut, and there is room again.
  std::string got;
  for (int i = 0; i < 100 && got.empty(); ++i) {
    const int again = open();
    ::send(again, request.data(), request.size(), MSG_NOSIGNAL);
    if (::recv(again, &byte, 1, 0) == 1) got = byte;
    ::close(again);
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(got, "H");
  for (const int fd : {first, second, third}) ::close(fd);
}

TEST(Target, AbsoluteFormsAndPlusSignsAreRead) {
  const auto t = parse_target("http://host:1/a+b?x=1+2&x=3&y");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->path, "/a+b");
  EXPECT_EQ(t->query, (std::vector<std::pair<std::string, std::string>>{{"x", "1 2"}, {"x", "3"}, {"y", ""}}));
  EXPECT_FALSE(parse_target("a/b"));
  EXPECT_FALSE(parse_target("/a%2"));
  EXPECT_EQ(parse_target("/" + escape_component("a b/%ü"))->path, "/a b/%ü");
}

TEST(IdleConnections, AreClosedAfterTheirTime) {
  ServerOptions options;
  options.idle_timeout_s = 1;
  auto server = Server::start(options, [](Request, std::shared_ptr<Responder> r) { r->send({}); });
  ASSERT_TRUE(server);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons((*server)->port());
  inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  const timeval limit{10, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  char byte = 0;
  EXPECT_EQ(::recv(fd, &byte, 1, 0), 0);
  ::close(fd);
}

}  // namespace
}  // namespace pawl::http
