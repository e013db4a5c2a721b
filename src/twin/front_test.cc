#include "twin/front.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>

#include "posix/real_clock.h"

namespace pawl::twin {
namespace {

using namespace std::chrono_literals;

/// A peer on a raw socket, on the same thread: it writes, the front is polled, it reads.
class FrontTest : public testing::Test, protected FrontEvents {
 protected:
  void SetUp() override {
    auto opened = Front::open("127.0.0.1", 0, clock_);
    ASSERT_TRUE(opened) << opened.error().message;
    front_ = std::move(*opened);
  }
  void TearDown() override {
    for (const int fd : peers_) ::close(fd);
  }
  int connect() {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(front_->port());
    ::inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    peers_.push_back(fd);
    return fd;
  }
  void write(int fd, const std::string& bytes) {
    ASSERT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    poll();
  }
  void poll(int turns = 4) {
    for (int i = 0; i < turns; ++i) front_->poll(clock_.now() + Millis{2}, *this);
  }
  /// What has arrived; "<end>" behind it when the front has closed.
  std::string read(int fd) {
    poll(2);
    std::string all(1 << 20, '\0');
    const ssize_t n = ::recv(fd, all.data(), all.size(), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno == ECONNRESET)) return "<end>";
    all.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    if (!all.empty()) {
      char more = 0;
      if (::recv(fd, &more, 1, MSG_DONTWAIT | MSG_PEEK) == 0) all += "<end>";
    }
    return all;
  }
  void on_request(ExchangeId id, http::Request request) override { requests_.emplace_back(id, std::move(request)); }
  void on_gone(ExchangeId id) override { gone_.push_back(id); }

  posix::RealClock clock_;
  std::unique_ptr<Front> front_;
  std::deque<std::pair<ExchangeId, http::Request>> requests_;
  std::vector<ExchangeId> gone_;
  std::vector<int> peers_;
};

const std::string kGet = "GET /health?x=1 HTTP/1.1\r\nHost: a\r\n\r\n";

TEST_F(FrontTest, ARequestInPiecesIsAnsweredAndTheConnectionKept) {
  const int fd = connect();
  const std::string post = "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
  for (const char c : post) write(fd, std::string(1, c));
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_EQ(requests_[0].second.method, "POST");
  EXPECT_EQ(requests_[0].second.path, "/v1/completions");
  EXPECT_EQ(requests_[0].second.body, "hello");
  front_->answer(requests_[0].first, {200, {{"content-type", "text/plain"}}, "fine"});
  const std::string got = read(fd);
  EXPECT_EQ(got.find("HTTP/1.1 200 "), 0u) << got;
  EXPECT_TRUE(got.ends_with("content-length: 4\r\n\r\nfine")) << got;
  write(fd, kGet);
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_EQ(requests_[1].second.path, "/health");
  EXPECT_NE(requests_[1].first, requests_[0].first);
}

TEST_F(FrontTest, AStreamIsChunkedAndItsIdIsStaleAfterwards) {
  const int fd = connect();
  write(fd, kGet);
  const ExchangeId id = requests_.at(0).first;
  front_->begin(id, 200, {});
  EXPECT_TRUE(front_->chunk(id, "data: 1\n\n"));
  EXPECT_TRUE(front_->chunk(id, ""));
  front_->finish(id);
  const std::string got = read(fd);
  EXPECT_NE(got.find("transfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n0\r\n\r\n"), std::string::npos) << got;
  EXPECT_FALSE(front_->chunk(id, "late")) << "the exchange is over";
  EXPECT_EQ(read(fd), "");
}

TEST_F(FrontTest, RequestsSentTogetherAreHandedOutOneAfterTheOther) {
  const int fd = connect();
  write(fd, kGet + kGet);
  ASSERT_EQ(requests_.size(), 1u) << "the second waits for the first answer";
  front_->answer(requests_[0].first, {200, {}, ""});
  poll();
  ASSERT_EQ(requests_.size(), 2u);
}

TEST_F(FrontTest, APeerThatLeavesIsToldOf) {
  const int fd = connect();
  write(fd, kGet);
  ::close(fd);
  peers_.clear();
  poll();
  front_->begin(requests_.at(0).first, 200, {});
  for (int i = 0; i < 20 && gone_.empty(); ++i) {
    front_->chunk(requests_[0].first, "x");
    poll(1);
  }
  ASSERT_EQ(gone_.size(), 1u);
  EXPECT_EQ(gone_[0], requests_[0].first);
}

TEST_F(FrontTest, CutEndsOneConnectionCutAllEndsEachAndListenStartsAgain) {
  const int a = connect(), b = connect();
  write(a, kGet);
  write(b, kGet);
  ASSERT_EQ(requests_.size(), 2u);
  front_->cut(requests_[0].first);
  EXPECT_EQ(read(a), "<end>");
  EXPECT_EQ(read(b), "");
  front_->cut_all();
  EXPECT_EQ(read(b), "<end>");
  front_->listen(false);
  front_->listen(true);
  const int c = connect();
  write(c, kGet);
  EXPECT_EQ(requests_.size(), 3u);
}

TEST_F(FrontTest, NoHttpIsRefusedAndTheConnectionClosed) {
  const int fd = connect();
  write(fd, "hello there\r\n\r\n");
  EXPECT_TRUE(requests_.empty());
  const std::string got = read(fd);
  EXPECT_TRUE(got.ends_with("<end>")) << got;
}

TEST_F(FrontTest, ATakenPortIsNamed) {
  const auto second = Front::open("127.0.0.1", front_->port(), clock_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find(std::to_string(front_->port())), std::string::npos) << second.error().message;
}

}  // namespace
}  // namespace pawl::twin
