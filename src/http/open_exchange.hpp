// The exchange of a connection, as its handler and other threads see it.
#pragma once

#include "http/answer_text.hpp"
#include "http/exchange.hpp"
#include "http/loop.hpp"
#include "http/outgoing.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace rollcall::http {

class OpenExchange final : public Exchange {
 public:
  /// What is sent is posted to `loop`, where it joins `outgoing`. `unanswered` is the answer if the
  /// exchange is let go without one.
  OpenExchange(std::shared_ptr<Loop> loop, std::shared_ptr<Outgoing> outgoing, const Form& form,
               Answer unanswered);
  ~OpenExchange() override;
  OpenExchange(const OpenExchange&) = delete;
  OpenExchange& operator=(const OpenExchange&) = delete;
  /// Gives it the request, before it is handed out.
  void set_request(Head head, std::string body);

  const Head& head() const override { return head_; }
  const std::string& body() const override { return body_; }
  void answer(Answer answer) override;
  void begin(std::string_view type) override;
  void piece(std::string bytes) override;
  void end() override;
  void on_end(std::function<void(bool delivered)> then) override;

 private:
  enum class Phase { open, streams, ended };
  void move(Phase from, Phase to, const char* rule);
  void send(std::string bytes, Outgoing::Last last);

  std::shared_ptr<Loop> loop_;
  std::shared_ptr<Outgoing> outgoing_;
  Form form_;
  Answer unanswered_;
  Head head_;
  std::string body_;
  std::atomic<Phase> phase_ = Phase::open;
};

}  // namespace rollcall::http
