// Reads a request from a connection.
#pragma once

#include "http/deadline.hpp"
#include "http/loop.hpp"
#include "http/server.hpp"

#include <boost/beast/core/flat_buffer.hpp>

#include <optional>
#include <string>

namespace rollcall::http {

/// A request, or why it cannot be answered.
struct Request {
  Head head{};
  std::string body{};
  std::optional<Answer> refusal{};  ///< to be sent instead of what the handler would say
  bool is_gone = false;             ///< there is no request, because the client has left
  bool is_whole = false;            ///< all of it was read, so that another one may follow
  bool ends_after = false;          ///< the client wants no more than this one
  bool takes_chunks = true;         ///< false for HTTP/1.0
};

/// `port`: of the listening socket. `buffer` keeps bytes of the next request. A body is read only if judge and limits allow it.
asio::awaitable<Request> read_request(Socket& socket, Deadline& deadline,
                                      boost::beast::flat_buffer& buffer, const Service& service,
                                      int port);

}  // namespace rollcall::http
