// Turns calls of any thread into bytes for the connection.
#include "http/open_exchange.hpp"

#include "base/errors/error.hpp"

#include <utility>

namespace rollcall::http {

OpenExchange::OpenExchange(std::shared_ptr<Loop> loop, std::shared_ptr<Outgoing> outgoing,
                           const Form& form, Answer unanswered)
    : loop_(std::move(loop)),
      outgoing_(std::move(outgoing)),
      form_(form),
      unanswered_(std::move(unanswered)) {}

OpenExchange::~OpenExchange() {
  const Phase phase = phase_;
  if (phase == Phase::open) send(answer_text(form_, unanswered_), Outgoing::Last::yes);
  else if (phase == Phase::streams) send({}, Outgoing::Last::broken);
}

void OpenExchange::set_request(Head head, std::string body) {
  head_ = std::move(head);
  body_ = std::move(body);
}

void OpenExchange::answer(Answer answer) {
  move(Phase::open, Phase::ended, "an exchange has one answer");
  send(answer_text(form_, answer), Outgoing::Last::yes);
}

void OpenExchange::begin(std::string_view type) {
  move(Phase::open, Phase::streams, "an exchange has one answer, which begins once");
  send(stream_head(form_, type), Outgoing::Last::no);
}

void OpenExchange::piece(std::string bytes) {
  expect(phase_ == Phase::streams, "pieces come between begin() and end()");
  send(stream_piece(form_, bytes), Outgoing::Last::no);
}

void OpenExchange::end() {
  move(Phase::streams, Phase::ended, "an answer ends once, after begin()");
  send(stream_end(form_), Outgoing::Last::yes);
}

void OpenExchange::on_end(std::function<void(bool)> then) {
  loop_->post([outgoing = outgoing_, then = std::move(then)] { outgoing->on_end(then); });
}

void OpenExchange::move(Phase from, Phase to, const char* rule) {
  expect(phase_.compare_exchange_strong(from, to), rule);
}

void OpenExchange::send(std::string bytes, Outgoing::Last last) {
  loop_->post([outgoing = outgoing_, bytes = std::move(bytes), last]() mutable {
    outgoing->add(std::move(bytes), last);
  });
}

}  // namespace rollcall::http
