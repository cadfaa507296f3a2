// The coroutine of a connection. It is the only one that reads and writes the socket.
#include "http/connection.hpp"

#include "http/answer_text.hpp"
#include "http/open_exchange.hpp"

#include <fmt/format.h>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <poll.h>
#include <array>
#include <utility>
#include <vector>

namespace rollcall::http {
namespace {

using Error = boost::system::error_code;

/// After its last answer a connection reads what the client still sends, for this time [s], so that
/// the client sees the answer instead of a broken connection.
constexpr double kRestS = 1.0;
/// Bytes behind a head that may be read with it.
constexpr std::size_t kReadAhead = 16384;

/// Whether the client has closed its side; bytes that it sent before may still be unread.
bool has_left(Socket& socket) {
  pollfd state{.fd = socket.native_handle(), .events = POLLRDHUP, .revents = 0};
  return poll(&state, 1, 0) == 1;
}

}  // namespace

Connection::Connection(Socket socket, std::shared_ptr<Shared> shared)
    : shared_(std::move(shared)),
      socket_(std::move(socket)),
      deadline_(socket_),
      wake_(socket_.get_executor()),
      buffer_(shared_->service.limits.head_bytes + kReadAhead) {}

void Connection::close() {
  leave_answering(State::closed);
  Error ignored;
  socket_.close(ignored);
  wake_.cancel();
}

asio::awaitable<void> Connection::serve() {
  bool goes_on = true;
  while (goes_on) goes_on = co_await exchange();
}

/// One request and its answer. Whether another one may follow.
asio::awaitable<bool> Connection::exchange() {
  Request request =
      co_await read_request(socket_, deadline_, buffer_, shared_->service, shared_->port);
  if (request.is_gone || state_ == State::closed) co_return false;
  const bool closes =
      request.ends_after || !request.is_whole || !shared_->service.limits.keeps_open;
  const auto outgoing = std::make_shared<Outgoing>([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->wake_.cancel();
  });
  was_left_ = false;
  hand_over(std::move(request), outgoing, closes);
  const bool sent = co_await send(*outgoing);
  leave_answering(State::asked);
  if (const auto then = outgoing->over(sent && !was_left_))
    shared_->loop->attempt([&] { then(sent && !was_left_); });
  if (sent && closes) co_await linger();
  co_return sent && !closes;
}

/// Asks the handler, or gives `outgoing` a refusal.
void Connection::hand_over(Request request, const std::shared_ptr<Outgoing>& outgoing,
                           bool closes) {
  const Service& service = shared_->service;
  const Form form{
      .has_body = request.head.method != "HEAD", .chunked = request.takes_chunks, .closes = closes};
  if (!request.refusal && shared_->waiting >= service.limits.waiting)
    request.refusal = service.refusal(
        429, fmt::format("{} requests wait for their answer already.", shared_->waiting));
  if (request.refusal) {
    outgoing->add(answer_text(form, *request.refusal), Outgoing::Last::yes);
    return;
  }
  auto asked = std::make_shared<OpenExchange>(
      shared_->loop, outgoing, form, service.refusal(500, "The request was not answered."));
  asked->set_request(std::move(request.head), std::move(request.body));
  state_ = State::answering;
  ++shared_->waiting;
  // a handler that throws lets go of the exchange, which is then answered
  shared_->loop->attempt([&] { service.handler(std::move(asked)); });
}

/// Sends what `outgoing` gets until it has the last part. Whether all of it was sent.
asio::awaitable<bool> Connection::send(Outgoing& outgoing) {
  for (;;) {
    while (outgoing.is_empty() && state_ != State::closed) {
      Error ignored;
      wake_.expires_at(asio::steady_timer::time_point::max());
      co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    if (state_ == State::closed || outgoing.last() == Outgoing::Last::broken) co_return false;
    const bool is_last = outgoing.last() == Outgoing::Last::yes;
    const std::vector<std::string> parts = outgoing.take();
    if (is_last) {
      leave_answering(State::sending);
      was_left_ = has_left(socket_);
    }
    const bool written = co_await write(parts);
    if (!written || is_last) co_return written;
  }
}

asio::awaitable<bool> Connection::write(const std::vector<std::string>& parts) {
  std::vector<asio::const_buffer> bytes;
  for (const std::string& part : parts) bytes.emplace_back(part.data(), part.size());
  Error error;
  deadline_.begin(shared_->service.limits.answer_s);
  co_await asio::async_write(socket_, bytes, asio::redirect_error(asio::use_awaitable, error));
  deadline_.end();
  co_return !error;
}

asio::awaitable<void> Connection::linger() {
  Error error;
  socket_.shutdown(Socket::shutdown_send, error);
  deadline_.begin(kRestS);
  for (std::array<char, 16384> rest{}; !error;)
    co_await socket_.async_read_some(asio::buffer(rest),
                                     asio::redirect_error(asio::use_awaitable, error));
  deadline_.end();
}

void Connection::leave_answering(State to) {
  if (state_ == State::answering) --shared_->waiting;
  if (state_ != State::closed) state_ = to;
}

}  // namespace rollcall::http
