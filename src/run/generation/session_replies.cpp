// Asks the partner, and turns its answers into replies.
#include "run/generation/session_replies.hpp"

#include "base/errors/error.hpp"
#include "run/generation/branches.hpp"

#include <utility>

namespace rollcall::run {
namespace {

constexpr double kLook_s = 0.1;  // the time for which late() may sleep (model::Replies)

}  // namespace

std::optional<model::Reply> SessionReplies::after(const model::SequencePlace& place,
                                                  const model::DecodedSequence& so_far,
                                                  std::size_t turn) {
  OpenRollout& rollout = rollouts_->at(place);
  rollout.branches = branches_of(*rollouts_, place, so_far, turn);
  if (!rollout.talk) return end(rollout);
  const text::TurnTexts& texts = *rollouts_->parts().context->texts.turns;
  if (!rollout.talk->hear(so_far.tokens, turn, so_far.stopped, texts)) return end(rollout);
  const std::uint64_t question = asked_++;
  if (auto answer = rollouts_->ask(rollout, question, *queue_))
    return take(rollout, std::move(*answer));
  waiting_[question] = place;
  return std::nullopt;
}

std::vector<model::Replies::Late> SessionReplies::late(bool waits) {
  const Stopwatch waited;
  auto answers = queue_->take(waits ? kLook_s : 0.0);
  if (waits) waited_s_ += waited.seconds();
  if (waits || !answers.empty()) rollouts_->heard(answers.size());
  std::vector<Late> replies;
  for (auto& [question, answer] : answers) {
    rollouts_->parts().context->threads.pool->progressed();
    const auto place = waiting_.extract(question);
    expect(!place.empty(), "an answer is to a question that waits for one");
    replies.push_back({place.mapped(), take(rollouts_->at(place.mapped()), std::move(answer))});
  }
  return replies;
}

model::Reply SessionReplies::take(OpenRollout& rollout, environment::Answer answer) {
  rollout.answered_s += rollout.asked.seconds();
  model::Reply reply =
      rollout.talk->take(std::move(answer), *rollouts_->parts().context->texts.turns);
  if (reply.over) return end(rollout);
  reply.branches = std::exchange(rollout.branches, {});
  return reply;
}

model::Reply SessionReplies::end(OpenRollout& rollout) {
  rollouts_->close(rollout);
  return {.branches = std::exchange(rollout.branches, {})};
}

}  // namespace rollcall::run
