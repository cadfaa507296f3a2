// Requests as clients send them: whole, in parts, too long, too slow, and of no form at all.
#include "http/served.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace rollcall::http {
namespace {

using RequestTest = ServerTest;

TEST_F(RequestTest, AHeadHasTheFieldsThatAreRead) {
  Head head;
  const int port = serve({.keeps_open = true}, [&](const std::shared_ptr<Exchange>& exchange) {
    head = exchange->head();
    repeat(exchange);
  });
  Client client(port);
  client.ask(
      "GET /a?b HTTP/1.1\r\nhost: one\r\nHOST: two\r\nAuthorization: Bearer k\r\nOrigin: http://o\r\n"
      "Sec-Fetch-Site: none\r\nX-Stainless-Retry-Count: 2\r\nContent-Type: application/json\r\n\r\n");
  EXPECT_EQ(head.target, "/a?b");
  EXPECT_EQ(head.host, "one, two") << "two values must not pass for either of them";
  EXPECT_EQ(head.authorization, "Bearer k");
  EXPECT_EQ(head.origin, "http://o");
  EXPECT_EQ(head.fetch_site, "none");
  EXPECT_EQ(head.content_type, "application/json");
  EXPECT_EQ(head.retry, 2);
  client.ask("GET / HTTP/1.1\r\nX-Stainless-Retry-Count: many\r\n\r\n");
  EXPECT_EQ(head.retry, 0);
  EXPECT_EQ(head.host, "");
}

TEST_F(RequestTest, ChunkedBodiesAreJoined) {
  Client client(serve({.body_bytes = 20, .keeps_open = true}));
  const std::string head = "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(client.ask(head + "3\r\nabc\r\n2;note=1\r\nde\r\n0\r\n\r\n").body, "POST /x abcde");
  const Reply longer = client.ask(head + "f\r\n" + std::string(15, 'a') + "\r\nf\r\n" +
                                  std::string(15, 'b') + "\r\n0\r\n\r\n");
  EXPECT_EQ(longer.status, 413);
  EXPECT_TRUE(client.is_over());
}

TEST_F(RequestTest, HalfARequestCostsItsConnection) {
  const int port = serve({.body_bytes = 100, .head_s = 0.2, .body_s = 0.2, .keeps_open = true});
  for (const char* half : {"GET /x HT", "POST /x HTTP/1.1\r\nContent-Length: 10\r\n\r\nfive5"}) {
    Client client(port), other(port);
    const Reply reply = client.ask(half);
    EXPECT_EQ(reply.status, 408) << half;
    EXPECT_TRUE(client.is_over());
    EXPECT_EQ(other.ask(kGet).status, 200);
  }
  // bytes that come one by one have one deadline together
  Client drips(port);
  const auto begin = std::chrono::steady_clock::now();
  while (drips.send("G") && seconds_since(begin) < 20) std::this_thread::sleep_for(20ms);
  EXPECT_LT(seconds_since(begin), 10);
}

TEST_F(RequestTest, AConnectionWithoutARequestIsClosedOrKeptByTheListenersLimits) {
  Client idle(serve({.head_s = 0.1, .keeps_open = true})), late(serve({.head_s = 0.1}));
  EXPECT_EQ(late.all(), "") << "who has asked nothing is told nothing";
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(idle.ask(kGet).status, 200);
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(idle.ask(kGet).status, 200);
}

TEST_F(RequestTest, ALargeBodyIsRefusedUnread) {
  std::atomic<int> asked = 0;
  const auto counts = [&](const std::shared_ptr<Exchange>& exchange) { ++asked, repeat(exchange); };
  const int some = serve({.body_bytes = 1000, .keeps_open = true}, counts),
            none = serve({}, counts);
  for (const int port : {some, none}) {
    Client client(port);
    const Reply reply = client.ask("POST /x HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n");
    EXPECT_EQ(reply.status, 413) << "before a byte of it";
    EXPECT_TRUE(reply.has("Connection: close\r\n"));
  }
  EXPECT_EQ(Client(none).ask(post("")).status, 200);
  EXPECT_EQ(asked, 1);
}

TEST_F(RequestTest, AClientThatSendsALargeBodyAnywaySeesTheRefusal) {
  Client client(serve({.body_bytes = 1000}));
  client.send("POST /x HTTP/1.1\r\nContent-Length: 3000000\r\n\r\n" + std::string(3000000, 'x'));
  EXPECT_EQ(client.reply().status, 413);
}

TEST_F(RequestTest, WhatIsNotHttpIsRefused) {
  struct Row {
    std::string request;
    int status;
  };
  const int port = serve({.head_bytes = 500, .body_bytes = 1000, .keeps_open = true});
  const std::vector<Row> rows = {
      {"nonsense\r\n\r\n", 400},
      {"\x16\x03\x01\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
      {"GET /" + std::string(1000, 'a') + " HTTP/1.1\r\n\r\n", 431},
      {"GET / HTTP/1.1\r\nX: " + std::string(1000, 'a') + "\r\n\r\n", 431},
      {"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", 417},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400}};
  for (const Row& row : rows) {
    Client client(port);
    const Reply reply = client.ask(row.request);
    EXPECT_EQ(reply.status, row.status) << row.request.substr(0, 60) << "\n" << reply.body;
    EXPECT_TRUE(client.is_over()) << "what follows is not known to be a request";
  }
  EXPECT_EQ(Client(port).ask(kGet).status, 200);
}

TEST_F(RequestTest, AHeadIsJudgedBeforeItsBodyIsRead) {
  int listens = 0;
  Service service{.limits = {.body_bytes = 1000, .keeps_open = true}, .handler = repeat};
  service.judge = [&](const Head& head, int port) -> std::optional<Answer> {
    listens = port;
    if (head.authorization == "Bearer k") return std::nullopt;
    Answer answer = plain_refusal(head.method == "POST" ? 401 : 405, "No.");
    if (head.method != "POST") answer.allow = "POST";
    return answer;
  };
  const int port = server_->listen("127.0.0.1", 0, service).port;
  Client client(port);
  const Reply refused = client.ask("POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.body, "No.\n");
  EXPECT_TRUE(client.is_over());
  EXPECT_EQ(listens, port);
  Client other(port);
  EXPECT_TRUE(other.ask(kGet).has("Allow: POST\r\n"));
  EXPECT_EQ(other.ask(post("x", "Authorization: Bearer k\r\n")).status, 200)
      << "a refused request without a body leaves the connection as it was";
}

TEST_F(RequestTest, RefusalsAreWordedByTheService) {
  Service service{.handler = repeat};
  service.refusal = [](int status, const std::string& why) {
    return Answer{
        .status = status, .type = "application/json", .body = "{\"why\":\"" + why + "\"}"};
  };
  const Reply reply = Client(server_->listen("127.0.0.1", 0, service).port).ask(post("x"));
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.body, "{\"why\":\"A request has no body here.\"}");
}

TEST_F(RequestTest, Pipelining) {
  const Limits limits{.body_bytes = 100, .keeps_open = true};
  Client client(server_->listen("127.0.0.1", 0, keeps(limits)).port);
  const std::vector<std::string> bodies = {"one", "two", "three"};
  client.send(post(bodies[0]) + post(bodies[1]) + post(bodies[2]));
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const auto exchange = kept(i);
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(kept_count(), i + 1) << "it is read after the answer before";
    EXPECT_EQ(exchange->body(), bodies[i]);
    exchange->answer({.type = "text/plain", .body = bodies[i]});
    EXPECT_EQ(client.reply().body, bodies[i]);
  }
}

}  // namespace
}  // namespace rollcall::http
