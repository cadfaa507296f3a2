// One thread for all connections and the end, a few that make pages. Pages of other sites must not
// read a run: neither under a name of their own for 127.0.0.1, nor by including its scripts.
#include "view/serve.hpp"

#include "base/error.hpp"
#include "base/visible.hpp"
#include "view/connections.hpp"
#include "view/http_request.hpp"
#include "view/script_text.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace rollcall::view {
namespace {

constexpr const char* kPlain = "text/plain; charset=utf-8";
constexpr int kMakers = 4;                // threads; a browser asks for a few files at a time
constexpr std::size_t kMostWaiting = 64;  // requests that no thread has taken yet

const char* type_of(std::string_view name) {
  return name.ends_with(".html") ? "text/html; charset=utf-8" : name.ends_with(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8";
}

std::string refusal(int status, const std::string& why, bool only_head) { return http_answer(status, kPlain, why + "\n", only_head); }

/// The file's content, made now.
std::string answer(Site& site, const HttpRequest& request) {
  const std::string name = request.path == "/" ? "index.html" : request.path.substr(1);
  const bool data = name.starts_with("data/");
  if (data && request.from_elsewhere) return refusal(403, "Another site may not read this.", request.only_head);
  std::optional<std::string> content;
  try {
    if (name == "data/runs.js") site.refresh();  // the first thing that a page asks for
    content = site.make(name);
  } catch (const std::exception& error) {
    if (!data) return refusal(500, visible(error.what()), request.only_head);
    const std::string key = name == "data/runs.js" ? "runs" : name.substr(5, name.size() - 8);
    content = fmt::format("rollcall({},null,{});\n", json_string(key), json_string(error.what()));  // for the page to show
  }
  if (!content) return refusal(404, "There is no such page.", request.only_head);
  return http_answer(200, type_of(name), *content, request.only_head);
}

class OwnedDescriptor {
 public:
  explicit OwnedDescriptor(int fd) : fd_(fd) {}
  ~OwnedDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;
  operator int() const { return fd_; }

 private:
  int fd_;
};

/// Threads that make answers, and the way of these back to the thread of the connections.
class Makers {
 public:
  explicit Makers(Site& site) : site_(&site), made_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    for (int i = 0; i < kMakers; ++i) threads_.emplace_back([this](const std::stop_token& ends) { work(ends); });
  }
  /// False: too many wait.
  bool add(std::uint64_t connection, HttpRequest request) {
    const std::scoped_lock lock(mutex_);
    if (asked_.size() >= kMostWaiting) return false;
    asked_.emplace_back(connection, std::move(request));
    changed_.notify_one();
    return true;
  }
  int descriptor() const { return made_; }  ///< readable when there are answers to take
  std::vector<std::pair<std::uint64_t, std::string>> take() {
    eventfd_t count = 0;
    ::eventfd_read(made_, &count);
    const std::scoped_lock lock(mutex_);
    return std::exchange(answers_, {});
  }

 private:
  void work(const std::stop_token& ends) {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, ends, [&] { return !asked_.empty(); }) || ends.stop_requested()) return;
      const auto [connection, request] = std::move(asked_.front());
      asked_.pop_front();
      lock.unlock();
      std::string text = answer(*site_, request);
      lock.lock();
      answers_.emplace_back(connection, std::move(text));
      ::eventfd_write(made_, 1);
    }
  }

  Site* site_;
  OwnedDescriptor made_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::pair<std::uint64_t, HttpRequest>> asked_;
  std::vector<std::pair<std::uint64_t, std::string>> answers_;
  std::vector<std::jthread> threads_;  // the last, so that they end first
};

/// Listens on 127.0.0.1; `port` 0 becomes the one that was free.
int listen_on(int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;  // and not SO_REUSEPORT, by which two servers would share a port without a word
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_port = htons(std::uint16_t(port)), address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool listens = ::bind(fd, generic, size) == 0 && ::listen(fd, 64) == 0 && ::getsockname(fd, generic, &size) == 0;
  const std::string fault = std::strerror(errno);
  if (!listens && fd >= 0) ::close(fd);
  require<EnvironmentError>(listens || port != 0, fmt::format("no port of 127.0.0.1 can be used: {}", fault), "the pages have to be served somewhere",
                            "use --out, or another machine");
  require<EnvironmentError>(listens, fmt::format("port {} of 127.0.0.1 cannot be used: {}", port, fault), "another program has it, or it needs other rights",
                            "name another port: --serve 8801, or --serve 0 for any that is free");
  port = ntohs(address.sin_port);
  return fd;
}

/// SIGINT and SIGTERM as a descriptor, and not as an end of the process, until the end of this.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&ends_);
    sigaddset(&ends_, SIGINT), sigaddset(&ends_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends_, &before_);  // of the threads made from here on, too
    fd_ = ::signalfd(-1, &ends_, SFD_CLOEXEC);
  }
  ~EndSignals() {
    ::close(fd_);
    const timespec none{0, 0};
    while (sigtimedwait(&ends_, nullptr, &none) > 0) {  // they have had their effect
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  int descriptor() const { return fd_; }

 private:
  sigset_t ends_{}, before_{};
  int fd_ = -1;
};

}  // namespace

void serve(Site& site, int port) {
  const EndSignals signals;
  const OwnedDescriptor listener(listen_on(port));
  Makers makers(site);
  Connections connections(listener, [&](Connections& to, std::uint64_t connection, const std::string& head, int status) {
    HttpRequest request = read_request(head, port);
    if (status == 408) to.answer(connection, refusal(status, "The request took too long.", false));
    else if (status != 0) to.answer(connection, refusal(status, "The request's head is too long.", false));
    else if (request.refused != 0) to.answer(connection, refusal(request.refused, request.why, request.only_head));
    else if (!makers.add(connection, std::move(request))) to.answer(connection, refusal(503, "Too many requests wait.", false));
  });
  fmt::print("http://127.0.0.1:{}/\nCtrl-C ends it.\n", port);
  std::fflush(stdout);
  for (std::vector<pollfd> watched;;) {
    watched = {{signals.descriptor(), POLLIN, 0}, {makers.descriptor(), POLLIN, 0}};
    connections.add_to(watched);
    const int seen = ::poll(watched.data(), watched.size(), connections.patience_ms());
    require<EnvironmentError>(seen >= 0 || errno == EINTR, fmt::format("the server on port {} has ended: {}", port, std::strerror(errno)),
                              "it can take no more connections", "start it again");
    if (seen < 0) continue;
    if (watched[0].revents != 0) return;
    if (watched[1].revents != 0)
      for (auto& [connection, text] : makers.take()) connections.answer(connection, std::move(text));
    connections.advance(watched);
  }
}

}  // namespace rollcall::view
