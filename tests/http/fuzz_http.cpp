// Sends the HTTP server damaged requests: each gets answers of HTTP or the end of its connection,
// and afterwards the server answers as before and has no descriptor more.
// usage: fuzz_http RUNS [FIRST_SEED]     run N depends on N alone, so a failure is repeated by
// fuzz_http 1 N
#include "http/server.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace rollcall;
using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t end) { return std::size_t(random() % end); }

constexpr std::string_view kGood = "GET /good HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// What browsers, curl and clients of language models send.
const std::vector<std::string> kRequests = {
    "GET /page.css?a=1 HTTP/1.1\r\nHost: localhost:8737\r\nUser-Agent: Mozilla/5.0\r\n"
    "Accept: text/css,*/*;q=0.1\r\nSec-Fetch-Site: same-origin\r\nConnection: keep-alive\r\n\r\n",
    "HEAD / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n",
    "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nAccept: application/json\r\n"
    "Content-Type: application/json\r\nAuthorization: Bearer 0123456789abcdef\r\n"
    "X-Stainless-Retry-Count: 0\r\nContent-Length: 62\r\n\r\n"
    R"({"model":"m","messages":[{"role":"user","content":"one two"}]})",
    "POST /stream HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5;name=\"value\"\r\nhello\r\n1f\r\nthirty-one bytes in the chunk...\r\n0\r\nTrailer: t\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
    std::string(kGood)};

/// What means something in a request.
const std::vector<std::string> kPieces = {"\r\n",
                                          "\r\n\r\n",
                                          "\n",
                                          "\r",
                                          ":",
                                          " ",
                                          "\t",
                                          "Content-Length: 5\r\n",
                                          "Content-Length: 18446744073709551616\r\n",
                                          "Content-Length: 900\r\n",
                                          "Transfer-Encoding: chunked\r\n",
                                          "Transfer-Encoding: gzip\r\n",
                                          "Connection: close\r\n",
                                          "Connection: upgrade\r\nUpgrade: websocket\r\n",
                                          "Expect: 100-continue\r\n",
                                          "Host: b\r\n",
                                          "HTTP/1.1",
                                          "HTTP/2.0",
                                          "GET / HTTP/1.1\r\n\r\n",
                                          "ffffffffffffffff\r\n",
                                          "0\r\n\r\n",
                                          std::string(1, '\0'),
                                          "\xFF",
                                          std::string(700, 'a')};

std::string damaged(std::string bytes, Random& random) {
  for (std::size_t i = below(random, 4); i > 0; --i) {
    const std::size_t at = below(random, bytes.size() + 1);
    switch (below(random, 5)) {
      case 0: bytes.insert(at, kPieces[below(random, kPieces.size())]); break;
      case 1: bytes.erase(at, 1 + below(random, 12)); break;
      case 2: bytes.insert(at, bytes.substr(0, below(random, bytes.size() + 1))); break;
      case 3: bytes.insert(at, kRequests[below(random, kRequests.size())]); break;
      default:
        if (at < bytes.size()) bytes[at] = char(random());
    }
  }
  return bytes;
}

/// A listening socket of this process alone, which has no ports to run out of.
int private_socket(sockaddr_un& address, socklen_t& bytes) {
  const int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  address = {}, address.sun_family = AF_UNIX;  // without a name the kernel gives one
  bytes = sizeof address;
  const socklen_t nameless = sizeof address.sun_family;
  const bool works = bind(listening, reinterpret_cast<const sockaddr*>(&address), nameless) == 0 &&
                     getsockname(listening, reinterpret_cast<sockaddr*>(&address), &bytes) == 0 &&
                     listen(listening, SOMAXCONN) == 0;
  if (!works) std::perror("fuzz_http: a socket"), std::exit(2);
  return listening;
}

/// Answers some requests at once, some in pieces, and some never.
void handle(const std::shared_ptr<http::Exchange>& exchange) {
  const std::string& target = exchange->head().target;
  if (target == "/good") return exchange->answer({.type = "text/plain", .body = "good"});
  if (target.size() % 7 == 3) return;
  if (!target.starts_with("/stream"))
    return exchange->answer({.type = "text/plain", .body = exchange->body()});
  exchange->begin("text/event-stream");
  for (const char c : exchange->body().substr(0, 20)) exchange->piece({c, '\n'});
  if (target.size() % 2 == 0) exchange->end();
}

class Fuzzed {
 public:
  explicit Fuzzed(std::atomic<int>& failures)
      : server_([&failures](std::exception_ptr) { ++failures; }) {
    const http::Limits limits{
        .connections = 8, .waiting = 4, .head_bytes = 1000, .body_bytes = 800, .keeps_open = true};
    server_.adopt(private_socket(address_, bytes_), {.limits = limits, .handler = handle});
  }

  /// What came back for the parts of a request, whose sender then closes its side.
  std::string exchange(const std::string& request, std::size_t cut) {
    const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string all;
    if (connect(client, reinterpret_cast<const sockaddr*>(&address_), bytes_) != 0) all = "?";
    if (send(client, request.data(), cut, MSG_NOSIGNAL) == ssize_t(cut))
      send(client, request.data() + cut, request.size() - cut, MSG_NOSIGNAL);
    shutdown(client, SHUT_WR);
    char bytes[4096];
    ssize_t count = 0;
    while ((count = recv(client, bytes, sizeof bytes, 0)) > 0)
      all.append(bytes, std::size_t(count));
    if (count < 0 && errno == EAGAIN) all = "?";  // neither an answer nor an end
    close(client);
    return all;
  }

 private:
  sockaddr_un address_{};
  socklen_t bytes_ = 0;
  http::Server server_;
};

/// What went wrong, or null.
const char* run_one(Fuzzed& fuzzed, std::uint64_t seed) {
  Random random(seed);
  const std::string request = damaged(kRequests[below(random, kRequests.size())], random);
  const std::string all = fuzzed.exchange(request, below(random, request.size() + 1));
  if (!all.empty() && !all.starts_with("HTTP/1.1 ")) return "the answer is not one of HTTP";
  if (seed % 16 == 0 && !fuzzed.exchange(std::string(kGood), 0).ends_with("\r\n\r\ngood"))
    return "a good request is not answered";
  return nullptr;
}

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// Whether the connections that are ending leave as many files open as there were.
bool comes_back_to(std::ptrdiff_t files) {
  for (int i = 0; i < 500 && open_files() > files; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return open_files() <= files;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t runs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000,
                      first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  std::atomic<int> failures = 0;
  Fuzzed fuzzed(failures);
  fuzzed.exchange(std::string(kGood), 0);
  const std::ptrdiff_t files = open_files();
  const auto begin = std::chrono::steady_clock::now();
  const char* fault = nullptr;
  for (std::uint64_t seed = first; seed < first + runs; ++seed)
    if ((fault = run_one(fuzzed, seed)) != nullptr) {
      std::fprintf(stderr, "run %llu: %s\n", static_cast<unsigned long long>(seed), fault);
      return 1;
    }
  if (failures > 0) fault = "something was thrown";
  else if (!comes_back_to(files)) fault = "descriptors are left open";
  if (fault != nullptr) {
    std::fprintf(stderr, "after %llu runs: %s\n", static_cast<unsigned long long>(runs), fault);
    return 1;
  }
  std::printf("%llu runs in %.1f s\n", static_cast<unsigned long long>(runs),
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}
