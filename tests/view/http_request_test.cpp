// Which requests are answered, and that no bytes are taken for more than they say.
#include "view/http_request.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace rollcall::view {
namespace {

int status(const std::string& first, const std::string& fields = "Host: 127.0.0.1:80\r\n") {
  return read_request(first + "\r\n" + fields + "\r\n", 80).refused;
}

TEST(HttpRequest, WhatABrowserAsksIsAnswered) {
  const auto request = read_request("GET /data/runs.js?x=1 HTTP/1.1\r\nhOST:  localhost:80 \r\nAccept-Encoding: gzip\r\nRange: bytes=0-1,0-1\r\n\r\n", 80);
  EXPECT_EQ(request.refused, 0) << request.why;
  EXPECT_EQ(request.path, "/data/runs.js");
  EXPECT_FALSE(request.only_head || request.from_elsewhere);
  EXPECT_TRUE(read_request("HEAD / HTTP/1.0\r\nHost: 127.0.0.1:80\r\nSec-Fetch-Site: cross-site\r\n\r\n", 80).from_elsewhere);
  EXPECT_FALSE(read_request("GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nSec-Fetch-Site: same-origin\r\n\r\n", 80).from_elsewhere);
}

TEST(HttpRequest, WhatItDoesNotNeedIsRefused) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get", "PRI"})
    EXPECT_EQ(status(std::string(method) + " / HTTP/1.1"), 405) << method;
  for (const char* line : {"GET /", "GET  / HTTP/1.1", "GET / HTTP/2.0", "GET http://127.0.0.1:80/ HTTP/1.1", " GET / HTTP/1.1", "", "GET / HTTP/1.1 "})
    EXPECT_EQ(status(line), 400) << line;
  for (const char* host :
       {"", "Host: evil.example\r\n", "Host: 127.0.0.1\r\n", "Host: 127.0.0.1:81\r\n", "Host: evil.example:80\r\n", "X-Host: 127.0.0.1:80\r\n"})
    EXPECT_EQ(status("GET / HTTP/1.1", host), 403) << host;
  const std::string own = "Host: 127.0.0.1:80\r\n";
  EXPECT_EQ(status("GET / HTTP/1.1", own + "Content-Length: 5\r\n"), 413);
  EXPECT_EQ(status("GET / HTTP/1.1", own + "Content-Length: 0\r\n"), 0);
  EXPECT_EQ(status("GET / HTTP/1.1", own + "Transfer-Encoding: chunked\r\n"), 413);
  for (const char* field : {"no colon\r\n", "Host: 127.0.0.1:80\r\n", "Name : x\r\n", " folded\r\n", ": x\r\n", "N: \x01\r\n", "N: a\nM: b\r\n"})
    EXPECT_EQ(status("GET / HTTP/1.1", own + field), 400) << field;
}

TEST(HttpRequest, AHeadEndsWithAnEmptyLine) {
  EXPECT_FALSE(is_whole_head("GET / HTTP/1.1\r\nHost: x\r\n"));
  EXPECT_TRUE(is_whole_head("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_TRUE(is_whole_head("\x16\x03\x01")) << "the greeting of TLS";
}

RC_GTEST_PROP(HttpRequest, AnyBytesAreReadOrRefused, (const std::string& line, const std::string& fields)) {
  for (const std::string& head : {line, "GET /" + line + " HTTP/1.1\r\n" + fields + "\r\n\r\n", "GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\n" + fields}) {
    const auto request = read_request(head, 80);
    RC_ASSERT(request.refused != 0 || (request.path.starts_with('/') && head.find("127.0.0.1:80") != std::string::npos));
    RC_ASSERT(request.refused == 0 || !request.why.empty());
  }
}

TEST(HttpRequest, AnAnswerSaysHowLongItIs) {
  const std::string answer = http_answer(404, "text/plain", "gone\n", false);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 404 Not Found\r\n")) << answer;
  EXPECT_NE(answer.find("Content-Length: 5\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\ngone\n"));
  EXPECT_TRUE(http_answer(200, "text/plain", "long", true).ends_with("\r\n\r\n")) << "HEAD";
  EXPECT_NE(http_answer(405, "text/plain", "", false).find("Allow: GET, HEAD\r\n"), std::string::npos);
}

}  // namespace
}  // namespace rollcall::view
