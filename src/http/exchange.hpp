// A request over HTTP, and what it is answered with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace rollcall::http {

/// The head of a request, as far as it is read here. A header field that is absent is empty. A
/// field that is given several times has all its values, joined by ", ".
struct Head {
  std::string method, target;
  std::string host, authorization, content_type;
  std::string fetch_site,
      origin;              ///< Sec-Fetch-Site and Origin, by which browsers name the asking page
  std::int64_t retry = 0;  ///< x-stainless-retry-count: how often the client asked before
};

struct Answer {
  int status = 200;
  std::string type;  ///< of the body: "text/plain; charset=utf-8"
  std::string body;
  std::string allow{};  ///< with status 405: the methods that are answered
};

/// One request, and its answer. Any thread may call the functions. If the last owner lets go of it
/// without an answer, the client gets status 500, and if an answer was begun and not ended, the
/// connection is closed. Calls for a client that has gone, or after the end of the server, do
/// nothing. An answer is given by answer() alone or by begin(), pieces and end(); any other order
/// is a bug and throws std::logic_error.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Head& head() const = 0;
  virtual const std::string& body() const = 0;
  virtual void answer(Answer answer) = 0;
  /// Begins an answer of status 200 whose pieces come one by one.
  virtual void begin(std::string_view type) = 0;
  virtual void piece(std::string bytes) = 0;
  virtual void end() = 0;
  /// Calls `then` once, on the server's thread, when nothing more is sent. `delivered`: the whole
  /// answer was handed to the kernel, and the client had not closed its side before. An exchange
  /// calls this function once.
  virtual void on_end(std::function<void(bool delivered)> then) = 0;
};

}  // namespace rollcall::http
