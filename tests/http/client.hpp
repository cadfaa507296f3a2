// A client that sends bytes as a test wants them, good or bad.
#pragma once

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rollcall::http {

/// An answer as it came, and what its head says.
struct Reply {
  int status = 0;  ///< 0 if no whole answer came
  std::string head{}, body{};
  bool has(std::string_view line) const { return head.find(line) != std::string::npos; }
};

class Client {
 public:
  explicit Client(int port) : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET, to.sin_port = htons(static_cast<unsigned short>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{.tv_sec = 20, .tv_usec = 0};  // a hang is a failure
    setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    EXPECT_EQ(connect(descriptor_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~Client() { leave(); }
  Client(Client&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), unread_(std::move(other.unread_)) {}
  Client& operator=(Client&&) = delete;

  void leave() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }
  void ends_sending() { shutdown(descriptor_, SHUT_WR); }
  /// Whether all bytes were taken.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(std::size_t(sent));
    }
    return true;
  }
  /// What has come, at least a byte; empty at the end of the connection.
  std::string some() {
    if (unread_.empty()) more();
    return std::exchange(unread_, {});
  }
  /// Everything up to the end of the connection.
  std::string all() {
    while (more()) {
    }
    return std::exchange(unread_, {});
  }
  /// Whether the server has ended the connection, without another byte.
  bool is_over() { return unread_.empty() && !more(); }

  /// The next answer of a connection; bodies by length or in chunks.
  Reply reply(bool has_body = true) {
    Reply reply;
    const std::optional<std::string> head = through("\r\n\r\n");
    if (!head || !head->starts_with("HTTP/1.1 ")) return reply;
    reply.head = *head;
    if (!has_body) {
    } else if (reply.has("Transfer-Encoding: chunked")) {
      for (;;) {
        const auto size = through("\r\n");
        if (!size) return reply;
        const std::size_t bytes = std::strtoull(size->c_str(), nullptr, 16);
        const auto piece = take(bytes + 2);
        if (!piece) return reply;
        if (bytes == 0) break;
        reply.body += piece->substr(0, bytes);
      }
    } else {
      const std::size_t at = reply.head.find("Content-Length: ");
      const auto body = take(std::strtoull(reply.head.c_str() + at + 16, nullptr, 10));
      if (!body) return reply;
      reply.body = *body;
    }
    reply.status = std::atoi(reply.head.c_str() + 9);
    return reply;
  }
  Reply ask(std::string_view request) {
    send(request);
    return reply();
  }

 private:
  bool more() {
    char bytes[16384];
    const ssize_t count = recv(descriptor_, bytes, sizeof bytes, 0);
    if (count > 0) unread_.append(bytes, std::size_t(count));
    return count > 0;
  }
  std::optional<std::string> take(std::size_t bytes) {
    while (unread_.size() < bytes)
      if (!more()) return std::nullopt;
    std::string taken = unread_.substr(0, bytes);
    unread_.erase(0, bytes);
    return taken;
  }
  std::optional<std::string> through(std::string_view mark) {
    std::size_t at = 0;
    while ((at = unread_.find(mark)) == std::string::npos)
      if (!more()) return std::nullopt;
    return take(at + mark.size());
  }

  int descriptor_;
  std::string unread_;
};

}  // namespace rollcall::http
