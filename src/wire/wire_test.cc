#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/http_response.h"
#include "wire/sse.h"

namespace pawl::wire {
namespace {

/// Everything observable of reading `parts` one after the other as one HTTP response, as text.
std::string read_http(const std::vector<std::string_view>& parts, bool closes = false) {
  HttpResponseReader reader;
  std::string body;
  std::size_t left = 0;
  for (std::string_view part : parts) {
    std::string_view piece;
    while (!part.empty() && !reader.complete()) {
      if (const auto status = reader.next(part, piece); !status) return "error: " + status.error().message;
      body += piece;
    }
    left += part.size();
  }
  if (closes) {
    if (const auto status = reader.finish(); !status) return "error: " + status.error().message;
  }
  std::string fields;
  for (const auto& [name, value] : reader.head().fields) fields += name + "=" + value + "|";
  return fmt::format("{} {} {} body={} complete={} keep={} left={}", reader.head().status, reader.head().reason, fields, body, reader.complete(),
                     reader.keep_alive(), left);
}

std::string read_sse(const std::vector<std::string_view>& parts) {
  SseReader reader;
  SseEvent event;
  std::string out;
  const auto write = [&] { out += fmt::format("({}|{}|{}{})", event.name, event.data, event.done ? "done" : "", event.terminated ? "" : "cut"); };
  for (const std::string_view part : parts) {
    const std::string own(part);  // its memory is gone when the next part comes
    std::string_view bytes = own;
    while (!bytes.empty()) {
      const auto found = reader.next(bytes, event);
      if (!found) return "error: " + found.error().message;
      if (*found) write();
    }
  }
  if (reader.finish(event)) write();
  return out + fmt::format(" keepalive={} comments={} after={}", reader.keepalive_data(), reader.comments(), reader.bytes_after_done());
}

/// The reading of the whole, after checking that every cut in two, and byte by byte, read the same.
template <class Read>
std::string at_every_split(const std::string& bytes, Read read) {
  const std::string_view all = bytes;
  const std::string whole = read({all});
  for (std::size_t i = 0; i <= all.size(); ++i) EXPECT_EQ(read({all.substr(0, i), all.substr(i)}), whole) << "cut at " << i;
  std::vector<std::string_view> single;
  for (std::size_t i = 0; i < all.size(); ++i) single.push_back(all.substr(i, 1));
  EXPECT_EQ(read(single), whole);
  return whole;
}

std::string http(const std::string& bytes, bool closes = false) {
  return at_every_split(bytes, [closes](const std::vector<std::string_view>& parts) { return read_http(parts, closes); });
}
std::string sse(const std::string& bytes) { return at_every_split(bytes, read_sse); }

TEST(HttpResponse, ReadsADeclaredLengthAndLeavesTheNextResponse) {
  EXPECT_EQ(http("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A:  b \r\n\r\nhelloHTTP/1.1"),
            "200 OK content-length=5|x-a=b| body=hello complete=true keep=true left=8");
}

TEST(HttpResponse, ReadsChunksWithExtensionsAndTrailers) {
  EXPECT_EQ(http("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nwiki\r\n00A\r\n0123456789\r\n0\r\nX-Check: 1\r\n\r\nrest"),
            "200 OK transfer-encoding=chunked| body=wiki0123456789 complete=true keep=true left=4");
}

TEST(HttpResponse, EndsWithTheConnectionWhenNoLengthIsGiven) {
  EXPECT_EQ(http("HTTP/1.1 200\r\n\r\nall of it", true), "200   body=all of it complete=true keep=false left=0");
}

TEST(HttpResponse, SkipsInterimResponses) {
  EXPECT_EQ(http("HTTP/1.1 100 Continue\r\nx: y\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"),
            "204 No Content connection=close| body= complete=true keep=false left=0");
}

TEST(HttpResponse, KeepsTheConnectionOfOldServersOnlyWhenTheySaySo) {
  EXPECT_EQ(http("HTTP/1.0 200 OK\ncontent-length: 0\n\n"), "200 OK content-length=0| body= complete=true keep=false left=0");
  EXPECT_EQ(http("HTTP/1.0 529 \r\nconnection: Keep-Alive\r\ncontent-length: 0\r\n\r\n"),
            "529  connection=Keep-Alive|content-length=0| body= complete=true keep=true left=0");
}

TEST(HttpResponse, PrefersTheCodedLengthAndThenTrustsTheConnectionNoMore) {
  EXPECT_EQ(http("HTTP/1.1 200 OK\r\ncontent-length: 99\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"),
            "200 OK content-length=99|transfer-encoding=chunked| body=a complete=true keep=false left=0");
}

TEST(HttpResponse, RefusesWhatIsNotHttp) {
  EXPECT_TRUE(http("SSH-2.0-OpenSSH\r\n").starts_with("error: HTTP response: bad status line"));
  EXPECT_TRUE(http("HTTP/1.1 2x0 OK\r\n").starts_with("error: HTTP response: bad status line"));
  EXPECT_TRUE(http("HTTP/1.1 200 OK\r\nno colon\r\n\r\n").starts_with("error: HTTP response: bad field line"));
  EXPECT_TRUE(http("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n").starts_with("error: HTTP response: bad content-length"));
  EXPECT_TRUE(http("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n").starts_with("error: HTTP response: bad content-length"));
  EXPECT_TRUE(http("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n").starts_with("error: HTTP response: transfer coding"));
  EXPECT_TRUE(http("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n").starts_with("error: HTTP response: bad chunk size"));
  EXPECT_TRUE(http("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n").starts_with("error: HTTP response: bad chunk size"));
  EXPECT_TRUE(http("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n").starts_with("error: HTTP response: no line end after a chunk"));
}

TEST(HttpResponse, SaysWhenTheConnectionClosedTooEarly) {
  EXPECT_EQ(http("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel", true), "error: HTTP response: the connection closed before its end");
  EXPECT_EQ(http("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n", true), "error: HTTP response: the connection closed before its end");
  EXPECT_EQ(read_http({}, true), "error: HTTP response: the connection closed before its first byte");
}

TEST(HttpResponse, LimitsTheHead) {
  HttpResponseReader reader({.head_bytes = 64, .chunk_line_bytes = 16});
  const std::string head = "HTTP/1.1 200 OK\r\nx: " + std::string(100, 'y');
  std::string_view bytes = head, piece;
  EXPECT_FALSE(reader.next(bytes, piece).has_value());
  bytes = "more";
  EXPECT_FALSE(reader.next(bytes, piece).has_value());
}

TEST(HttpResponse, ReadsAnotherResponseAfterAReset) {
  HttpResponseReader reader;
  std::string_view bytes = "HTTP/1.0 500 No\r\n\r\nx", piece;
  ASSERT_TRUE(reader.next(bytes, piece).has_value());
  EXPECT_EQ(piece, "x");
  reader.reset();
  EXPECT_FALSE(reader.started());
  bytes = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
  ASSERT_TRUE(reader.next(bytes, piece).has_value());
  EXPECT_EQ(piece, "ok");
  EXPECT_TRUE(reader.complete() && reader.keep_alive() && bytes.empty());
  EXPECT_EQ(reader.head().fields.size(), 1u);
}

TEST(Sse, EndsLinesWithLfCrLfOrCr) {
  EXPECT_EQ(sse("data: a\n\ndata:b\r\n\r\ndata: c\r\rdata: d\n\r\n"), "(|a|)(|b|)(|c|)(|d|) keepalive=0 comments=0 after=0");
}

TEST(Sse, GivesTheEventWithTheByteThatCompletesIt) {
  SseReader reader;
  SseEvent event;
  std::string_view bytes = "data: a\r\r";
  EXPECT_TRUE(reader.next(bytes, event).value());
  EXPECT_EQ(event.data, "a");
}

TEST(Sse, JoinsDataLinesAndIgnoresCommentsBetweenThem) {
  EXPECT_EQ(sse(": x\ndata: {\"a\":\n: y\ndata: 1}\n\n:\n\n"), "(|{\"a\":\n1}|) keepalive=0 comments=3 after=0");
  EXPECT_EQ(sse("data: a\ndata\ndata: b\nid: 7\nretry: 5\n\n"), "(|a\n\nb|) keepalive=0 comments=0 after=0");
}

TEST(Sse, DropsOneLeadingSpaceOnly) { EXPECT_EQ(sse("data:  two \n\n"), "(| two |) keepalive=0 comments=0 after=0"); }

TEST(Sse, KeepsEventNamesAndAnErrorWithoutData) {
  EXPECT_EQ(sse("event: error\ndata:\n\nevent: ping\n\nevent: delta\ndata: x\n\ndata: y\n\n"), "(error||)(delta|x|)(|y|) keepalive=0 comments=0 after=0");
}

TEST(Sse, TakesEmptyAndColonDataForKeepAlives) {
  EXPECT_EQ(sse("data:\n\ndata: : keepalive\n\ndata: :a\ndata:\ndata: real\n\n"), "(|real|) keepalive=2 comments=0 after=0");
}

TEST(Sse, StopsAtTheTerminalMarkerAndCountsWhatFollows) {
  EXPECT_EQ(sse("data: x\n\ndata:  [DONE] \n\n"), "(|x|)(| [DONE] |done) keepalive=0 comments=0 after=0");
  EXPECT_EQ(sse("data: [DONE]\r\n\r\ndata: y\n\n"), "(|[DONE]|done) keepalive=0 comments=0 after=9");
}

TEST(Sse, HandsOutWhatTheBodyEndCutOff) {
  EXPECT_EQ(sse("data: a\n\ndata: b\n"), "(|a|)(|b|cut) keepalive=0 comments=0 after=0");
  EXPECT_EQ(sse("data: {\"x\""), "(|{\"x\"|cut) keepalive=0 comments=0 after=0");
  EXPECT_EQ(sse("data: [DONE]"), "(|[DONE]|donecut) keepalive=0 comments=0 after=0");
}

TEST(Sse, SkipsAByteOrderMarkAtTheStartOnly) {
  EXPECT_EQ(sse("\xEF\xBB\xBF"
                "data: \xF0\x9F\x98\x80\n\n"),
            "(|\xF0\x9F\x98\x80|) keepalive=0 comments=0 after=0");
}

TEST(Sse, ReadsLargeEventsUpToTheLimit) {
  SseReader reader(1 << 20);
  SseEvent event;
  const std::string large = "data: " + std::string(1'000'000, 'x') + "\n\n", larger = "data: " + std::string(1'100'000, 'x');
  std::string_view bytes = large;
  EXPECT_TRUE(reader.next(bytes, event).value());
  EXPECT_EQ(event.data.size(), 1'000'000u);
  bytes = larger;
  EXPECT_FALSE(reader.next(bytes, event).has_value());
}

TEST(Sse, CopiesNoEventThatCameInOnePiece) {
  SseReader reader;
  SseEvent event;
  const std::string all = "data: {\"a\":1}\n\ndata: x\n\n";
  std::string_view bytes = all;
  ASSERT_TRUE(reader.next(bytes, event).value());
  EXPECT_EQ(event.data.data(), all.data() + 6);
  ASSERT_TRUE(reader.next(bytes, event).value());
  EXPECT_EQ(event.data, "x");
  reader.reset();
  bytes = "data: y\n\n";
  ASSERT_TRUE(reader.next(bytes, event).value());
  EXPECT_EQ(event.data, "y");
}

}  // namespace
}  // namespace pawl::wire
