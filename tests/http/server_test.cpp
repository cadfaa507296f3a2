// The server among clients that are many, deaf, greedy or gone, and its end.
#include "http/served.hpp"

#include "base/errors/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rollcall::http {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST_F(ServerTest, AnAnswerEndsTheConnectionOrKeepsIt) {
  Client once(serve({}));
  const Reply reply = once.ask(kGet);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "GET /x ");
  EXPECT_TRUE(reply.has("Connection: close\r\n"));
  EXPECT_TRUE(once.is_over());

  Client often(serve({.body_bytes = 100, .keeps_open = true}));
  for (const std::string body : {"one", "", "three"}) {
    const Reply next = often.ask(post(body));
    EXPECT_EQ(next.body, "POST /x " + body);
    EXPECT_FALSE(next.has("Connection:"));
  }
  EXPECT_EQ(often.ask("GET /y HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").body, "GET /y ");
  EXPECT_TRUE(often.is_over());
}

TEST_F(ServerTest, AnAnswerSaysWhatBrowsersMayDoWithIt) {
  const Reply reply = Client(serve({})).ask(kGet);
  for (const char* line :
       {"Content-Type: text/plain\r\n", "Content-Length: 7\r\n", "Cache-Control: no-store\r\n",
        "X-Content-Type-Options: nosniff\r\n", "Cross-Origin-Resource-Policy: same-origin\r\n",
        "Content-Security-Policy: frame-ancestors 'none'\r\n", "Referrer-Policy: no-referrer\r\n"})
    EXPECT_TRUE(reply.has(line)) << line;
  EXPECT_FALSE(reply.has("Date:")) << "a program that is trained would be told the time";
}

TEST_F(ServerTest, HeadIsAnsweredWithoutABody) {
  Client client(serve({.keeps_open = true}));
  client.send("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n");
  const Reply head = client.reply(false);
  EXPECT_EQ(head.status, 200);
  EXPECT_TRUE(head.has("Content-Length: 8\r\n"));
  EXPECT_EQ(client.ask(kGet).body, "GET /x ");
}

TEST_F(ServerTest, AClientThatLeaves) {
  const int port = server_->listen("127.0.0.1", 0, keeps({.keeps_open = true})).port;
  std::vector<std::promise<bool>> ends(3);
  Client stays(port), leaves(port), half(port);
  std::size_t number = 0;
  for (Client* client : {&stays, &leaves, &half}) {
    client->send(kGet);
    kept(number)->on_end([&, number](bool delivered) { ends[number].set_value(delivered); });
    ++number;
  }
  leaves.leave();
  half.ends_sending();
  for (std::size_t i = 0; i < 3; ++i) kept(i)->answer({.type = "text/plain", .body = "late"});
  EXPECT_EQ(stays.reply().body, "late");
  EXPECT_EQ(half.reply().body, "late") << "it may have closed its own side alone";
  EXPECT_TRUE(ends[0].get_future().get());
  EXPECT_FALSE(ends[1].get_future().get());
  EXPECT_FALSE(ends[2].get_future().get());
  std::promise<bool> again;  // asked behind the end
  kept(1)->on_end([&](bool delivered) { again.set_value(delivered); });
  EXPECT_FALSE(again.get_future().get());
}

TEST_F(ServerTest, AClientThatTakesNothingIsCut) {
  const int port =
      server_->listen("127.0.0.1", 0, keeps({.answer_s = 0.2, .keeps_open = true})).port;
  Client deaf(port), streams(port);
  deaf.send(kGet);
  std::promise<bool> whole, stream;
  kept(0)->on_end([&](bool delivered) { whole.set_value(delivered); });
  kept(0)->answer({.type = "text/plain", .body = std::string(50'000'000, 'x')});
  EXPECT_FALSE(whole.get_future().get());
  streams.send(kGet);
  kept(1)->on_end([&](bool delivered) { stream.set_value(delivered); });
  kept(1)->begin("text/plain");
  auto end = stream.get_future();
  for (int i = 0; i < 1000 && end.wait_for(5ms) != std::future_status::ready; ++i)
    kept(1)->piece(std::string(1'000'000, 'x'));
  EXPECT_FALSE(end.get());
  kept(1)->piece("nobody hears it");
  kept(1)->end();
}

TEST_F(ServerTest, RoomIsMade) {
  const Limits limits{.connections = 8, .waiting = 4, .keeps_open = true};
  const int port = server_->listen("127.0.0.1", 0, keeps(limits)).port;
  Client busy(port);
  busy.send(kGet);
  const auto exchange = kept(0);
  std::vector<Client> idle;
  for (int i = 0; i < 7; ++i) idle.emplace_back(port);
  Client next(port);
  next.send(kGet);
  kept(1)->answer({.type = "text/plain", .body = "next"});
  EXPECT_EQ(next.reply().body, "next");
  EXPECT_TRUE(idle[0].is_over()) << "the oldest goes";
  exchange->answer({.type = "text/plain", .body = "old"});
  EXPECT_EQ(busy.reply().body, "old") << "never one with an exchange";
  idle[6].send(kGet);
  kept(2)->answer({.type = "text/plain", .body = "young"});
  EXPECT_EQ(idle[6].reply().body, "young");
}

TEST_F(ServerTest, TooManyExchangesAtOnceAreRefused) {
  const Limits limits{.connections = 8, .waiting = 2, .keeps_open = true};
  const auto listener = server_->listen("127.0.0.1", 0, keeps(limits));
  const int port = listener.port;
  Client one(port), two(port), three(port);
  one.send(kGet);
  two.send(kGet);
  kept(1);
  EXPECT_EQ(three.ask(kGet).status, 429);
  kept(0)->answer({.type = "text/plain", .body = "done"});
  EXPECT_EQ(one.reply().body, "done");
  three.send(kGet);
  kept(2)->answer({.type = "text/plain", .body = "now"});
  EXPECT_EQ(three.reply().body, "now");
  server_->reset(listener.number);
  EXPECT_TRUE(two.is_over());
  Client four(port), five(port);
  four.send(kGet);
  five.send(kGet);
  kept(4);
  EXPECT_EQ(Client(port).ask(kGet).status, 429) << "a connection that was closed counts no more";
}

TEST_F(ServerTest, PiecesKeepTheirOrder) {
  const int port = server_->listen("127.0.0.1", 0, keeps({.keeps_open = true})).port;
  Client client(port);
  for (std::size_t round = 0; round < 20; ++round) {
    client.send(kGet);
    const auto exchange = kept(round);
    exchange->begin("text/event-stream");
    std::vector<std::jthread> threads;
    for (const char name : {'a', 'b', 'c', 'd'})
      threads.emplace_back([exchange, name] {
        for (char i = 'A'; i <= 'Z'; ++i) exchange->piece({name, i});
      });
    threads.clear();
    exchange->end();
    const Reply reply = client.reply();
    EXPECT_EQ(reply.body.size(), 4 * 26 * 2u);
    for (const char name : {'a', 'b', 'c', 'd'}) {
      std::string letters;
      for (std::size_t i = 0; i + 1 < reply.body.size(); i += 2)
        if (reply.body[i] == name) letters += reply.body[i + 1];
      EXPECT_EQ(letters, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    }
  }
}

TEST_F(ServerTest, APieceIsSentBeforeTheEnd) {
  Client client(server_->listen("127.0.0.1", 0, keeps({})).port);
  client.send(kGet);
  kept(0)->begin("text/event-stream");
  kept(0)->piece("");  // an empty chunk would end the answer
  kept(0)->piece("first");
  std::string seen;
  while (seen.find("5\r\nfirst\r\n") == std::string::npos) {
    const auto part = client.some();
    ASSERT_FALSE(part.empty());
    seen += part;
  }
  kept(0)->end();
  EXPECT_EQ(client.all(), "0\r\n\r\n");
}

TEST_F(ServerTest, OldClientsGetNoChunks) {
  Client client(server_->listen("127.0.0.1", 0, keeps({.keeps_open = true})).port);
  client.send("GET / HTTP/1.0\r\n\r\n");
  kept(0)->begin("text/plain");
  kept(0)->piece("as it ");
  kept(0)->piece("is");
  kept(0)->end();
  const std::string all = client.all();
  EXPECT_THAT(all, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(all.substr(all.find("\r\n\r\n")), "\r\n\r\nas it is");
}

TEST_F(ServerTest, AnExchangeThatIsLetGoIsAnswered) {
  Client client(server_->listen("127.0.0.1", 0, keeps({.keeps_open = true})).port);
  client.send(kGet);
  kept(0);
  forget();
  EXPECT_EQ(client.reply().status, 500);
  client.send(kGet);
  kept(0)->begin("text/plain");
  kept(0)->piece("the beginning");
  forget();
  EXPECT_EQ(client.reply().status, 0) << "an answer without its end must not seem whole";
  EXPECT_TRUE(client.is_over());
}

TEST_F(ServerTest, AHandlerThatThrowsIsReported) {
  Client client(serve({.keeps_open = true}, [](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->head().target == "/x") throw std::runtime_error("as it happens");
    repeat(exchange);
  }));
  EXPECT_EQ(client.ask(kGet).status, 500);
  EXPECT_EQ(client.ask("GET /y HTTP/1.1\r\n\r\n").status, 200);
  server_->post([] { throw std::runtime_error("posted"); });
  server_.reset();
  EXPECT_THAT(failures_, testing::ElementsAre("as it happens", "posted"));
}

TEST_F(ServerTest, AnAnswerIsGivenOnce) {
  Client client(server_->listen("127.0.0.1", 0, keeps({})).port);
  client.send(kGet);
  const auto exchange = kept(0);
  EXPECT_THROW(exchange->piece("x"), std::logic_error);
  EXPECT_THROW(exchange->end(), std::logic_error);
  exchange->answer({.type = "text/plain", .body = "once"});
  EXPECT_THROW(exchange->answer({.type = "text/plain", .body = "twice"}), std::logic_error);
  EXPECT_THROW(exchange->begin("text/plain"), std::logic_error);
  EXPECT_EQ(client.reply().body, "once");
}

TEST_F(ServerTest, ClosingOneListener) {
  const auto one = server_->listen("127.0.0.1", 0, keeps({.keeps_open = true}));
  const int two = serve({.keeps_open = true});
  Client first(one.port), idle(one.port), other(two);
  EXPECT_EQ(other.ask(kGet).status, 200);
  first.send(kGet);
  std::promise<bool> end;
  kept(0)->on_end([&](bool delivered) { end.set_value(delivered); });
  server_->close(one.number);
  EXPECT_TRUE(first.is_over());
  EXPECT_TRUE(idle.is_over());
  EXPECT_FALSE(end.get_future().get());
  kept(0)->answer({.type = "text/plain", .body = "nobody hears it"});
  EXPECT_EQ(other.ask(kGet).status, 200);
  const int again = server_->listen("127.0.0.1", one.port, keeps({})).port;
  EXPECT_EQ(again, one.port) << "its port is free";
}

TEST_F(ServerTest, AResetListenerAnswersNewConnections) {
  const auto listener =
      server_->listen("127.0.0.1", 0, {.limits = {.keeps_open = true}, .handler = repeat});
  Client before(listener.port);
  EXPECT_EQ(before.ask(kGet).status, 200);
  server_->reset(listener.number);
  EXPECT_TRUE(before.is_over());
  EXPECT_EQ(Client(listener.port).ask(kGet).status, 200);
}

TEST_F(ServerTest, AResetClosesWhatWasNotAcceptedYet) {
  const auto listener =
      server_->listen("127.0.0.1", 0, {.limits = {.keeps_open = true}, .handler = repeat});
  std::promise<void> held;
  server_->post([&] { held.get_future().wait(); });
  Client early(listener.port);
  early.send(kGet);
  server_->reset(listener.number);
  held.set_value();
  EXPECT_EQ(early.all(), "");
}

TEST_F(ServerTest, TheEndWaitsForNobody) {
  const std::size_t files = open_files();
  auto server = std::make_unique<Server>([](std::exception_ptr) {});
  const int port = server->listen("127.0.0.1", 0, keeps({.keeps_open = true})).port;
  Client asks(port), half(port), idle(port), streams(port);
  asks.send(kGet);
  kept(0);
  streams.send(kGet);
  kept(1)->begin("text/plain");
  half.send("GET / HT");
  const auto begin = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(seconds_since(begin), kSoonS);
  EXPECT_TRUE(asks.is_over());
  EXPECT_TRUE(idle.is_over());
  kept(0)->answer({.type = "text/plain", .body = "too late"});
  kept(1)->piece("too late");
  kept(1)->on_end([](bool) { FAIL(); });
  forget();
  asks.leave(), half.leave(), idle.leave(), streams.leave();
  EXPECT_EQ(open_files(), files);
}

TEST_F(ServerTest, ManyConnectionsAskAtOnce) {
  constexpr int kClients = 256, kRounds = 20;
  const int port =
      serve({.connections = 300, .waiting = 299, .body_bytes = 100, .keeps_open = true});
  std::vector<Client> clients;
  for (int i = 0; i < kClients; ++i) clients.emplace_back(port);
  std::size_t files = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kClients; ++i) clients[std::size_t(i)].send(post(std::to_string(i)));
    for (int i = 0; i < kClients; ++i)
      ASSERT_EQ(clients[std::size_t(i)].reply().body, "POST /x " + std::to_string(i));
    if (round == 0) files = open_files();
  }
  EXPECT_EQ(open_files(), files);
  EXPECT_GT(server_->processor_s(), 0.0);
  EXPECT_LT(server_->processor_s(), 60.0);
}

TEST_F(ServerTest, AThousandConnectionsToOneListenerDelayNoOther) {
  const int port = serve({.keeps_open = true}), other = serve({.keeps_open = true});
  std::vector<Client> crowd;
  for (int i = 0; i < 1000; ++i) crowd.emplace_back(port);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Client(other).ask(kGet).status, 200);
  EXPECT_EQ(Client(port).ask(kGet).status, 200);
  EXPECT_LT(seconds_since(begin), kSoonS);
  EXPECT_LT(open_files(), 1000 + 64 + 100u) << "no more than 64 are kept";
}

TEST_F(ServerTest, PostedWorkIsDoneInItsOrder) {
  std::vector<int> order;
  std::promise<void> done;
  for (int i = 0; i < 100; ++i) server_->post([&, i] { order.push_back(i); });
  server_->post([&] { done.set_value(); });
  done.get_future().wait();
  EXPECT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(ServerTest, APortThatIsTakenIsNamed) {
  const int port = serve({});
  try {
    server_->listen("127.0.0.1", port, keeps({}));
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("port " + std::to_string(port) +
                                        " of 127.0.0.1 cannot be used: Address already in use"));
  }
  EXPECT_THROW(server_->listen("192.0.2.1", 0, keeps({})), EnvironmentError);
  EXPECT_THROW(server_->listen("no address", 0, keeps({})), EnvironmentError);
}

}  // namespace
}  // namespace rollcall::http
