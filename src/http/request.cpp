// Reads with the parser of Boost.Beast, and judges a head before its body.
#include "http/request.hpp"

#include <fmt/format.h>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

namespace rollcall::http {
namespace {

namespace beast = boost::beast;
using Fields = beast::http::request_header<>;
using Field = beast::http::field;
using HeadParser = beast::http::request_parser<beast::http::buffer_body>;
using BodyParser = beast::http::request_parser<beast::http::string_body>;
using Error = beast::error_code;

std::string_view plain(beast::string_view text) { return {text.data(), text.size()}; }

/// The values of a field, joined by ", ".
template <class Name>
std::string values(const Fields& fields, const Name& name) {
  std::string all;
  const auto [begin, end] = fields.equal_range(name);
  for (auto at = begin; at != end; ++at)
    all.append(at == begin ? "" : ", ").append(plain(at->value()));
  return all;
}

Head head_of(const Fields& fields) {
  Head head{.method = std::string(plain(fields.method_string())),
            .target = std::string(plain(fields.target())),
            .host = values(fields, Field::host),
            .authorization = values(fields, Field::authorization),
            .content_type = values(fields, Field::content_type),
            .fetch_site = values(fields, "Sec-Fetch-Site"),
            .origin = values(fields, Field::origin)};
  const std::string retry = values(fields, "x-stainless-retry-count");
  std::int64_t count = 0;
  if (std::from_chars(retry.data(), retry.data() + retry.size(), count).ec == std::errc())
    head.retry = count;
  return head;
}

/// Whether the parser found that this is no HTTP; the client may also have left.
bool is_malformed(const Error& error) {
  return error.category() == Error(beast::http::error::bad_method).category() &&
         error != beast::http::error::end_of_stream && error != beast::http::error::partial_message;
}

bool is_too_long(const Error& error) {
  return error == beast::http::error::header_limit || error == beast::http::error::buffer_overflow;
}

std::string no_http(const Error& error) {
  return "This is no request of HTTP: " + error.message() + ".";
}

/// What a head that could be read says about its body and the way to send it, where that is refused.
std::optional<Answer> refused_form(const HeadParser& parser, const Service& service) {
  const Fields& fields = parser.get();
  const std::string coding = values(fields, Field::transfer_encoding);
  if (!coding.empty() && !beast::iequals(coding, "chunked"))
    return service.refusal(501, "The only transfer coding here is chunked.");
  if (fields.count(Field::expect) > 0)
    return service.refusal(417, "A request is sent at once, without Expect.");
  if (const auto length = parser.content_length(); !coding.empty() || (length && *length > 0)) {
    const std::uint64_t most = service.limits.body_bytes;
    if (most == 0) return service.refusal(413, "A request has no body here.");
    if (length && *length > most)
      return service.refusal(413, fmt::format("A body has at most {} bytes.", most));
  }
  return std::nullopt;
}

/// Waits for the first byte, for as long as it takes. Whether one came.
asio::awaitable<bool> first_byte(Socket& socket, beast::flat_buffer& buffer) {
  Error error;
  const std::size_t bytes = co_await socket.async_read_some(
      buffer.prepare(2048), asio::redirect_error(asio::use_awaitable, error));
  buffer.commit(bytes);
  co_return !error;
}

asio::awaitable<void> read_body(Socket& socket, Deadline& deadline, beast::flat_buffer& buffer,
                                HeadParser& head, const Service& service, Request& request) {
  BodyParser parser(std::move(head));
  parser.body_limit(service.limits.body_bytes);
  Error error;
  deadline.begin(service.limits.body_s);
  co_await beast::http::async_read(socket, buffer, parser,
                                   asio::redirect_error(asio::use_awaitable, error));
  deadline.end();
  if (!error) {
    request.body = std::move(parser.get().body());
    request.is_whole = true;
  } else if (deadline.passed()) {
    request.refusal = service.refusal(
        408, fmt::format("The body did not come within {} seconds.", service.limits.body_s));
  } else if (error == beast::http::error::body_limit) {
    request.refusal = service.refusal(
        413, fmt::format("A body has at most {} bytes.", service.limits.body_bytes));
  } else if (is_malformed(error)) {
    request.refusal = service.refusal(400, no_http(error));
  } else {
    request.is_gone = true;
  }
}

}  // namespace

asio::awaitable<Request> read_request(Socket& socket, Deadline& deadline,
                                      beast::flat_buffer& buffer, const Service& service,
                                      int port) {
  Request request;
  const Limits& limits = service.limits;
  if (limits.keeps_open && buffer.size() == 0) {
    request.is_gone = !co_await first_byte(socket, buffer);
    if (request.is_gone) co_return request;
  }
  HeadParser parser;
  parser.header_limit(limits.head_bytes);
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());  // refused_form() looks at it
  Error error;
  deadline.begin(limits.head_s);  // for the whole head, even if its bytes come one by one
  co_await beast::http::async_read_header(socket, buffer, parser,
                                          asio::redirect_error(asio::use_awaitable, error));
  deadline.end();
  if (is_too_long(error)) {
    request.refusal = service.refusal(
        431, fmt::format("A request's head has at most {} bytes.", limits.head_bytes));
  } else if (is_malformed(error)) {
    request.refusal = service.refusal(400, no_http(error));
  } else if (error && deadline.passed() && parser.got_some()) {
    request.refusal = service.refusal(
        408, fmt::format("The request's head did not come within {} seconds.", limits.head_s));
  } else if (error) {
    request.is_gone = true;
  }
  if (error) co_return request;

  request.head = head_of(parser.get());
  request.takes_chunks = parser.get().version() >= 11;
  request.ends_after = !parser.keep_alive() || !request.takes_chunks;
  // the parser takes a body with an unknown coding for none
  request.is_whole = parser.is_done() && parser.get().count(Field::transfer_encoding) == 0;
  if (service.judge) request.refusal = service.judge(request.head, port);
  if (!request.refusal) {
    request.refusal = refused_form(parser, service);
    request.is_whole = request.is_whole && !request.refusal;
  }
  if (!request.refusal && !request.is_whole)
    co_await read_body(socket, deadline, buffer, parser, service, request);
  co_return request;
}

}  // namespace rollcall::http
