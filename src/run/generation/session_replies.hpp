// Decides what follows each turn of a session's rollouts: the answers of their conversations, their
// forks, and their ends.
#pragma once

#include "environment/answer_queue.hpp"
#include "model/decode/replies.hpp"
#include "run/generation/open_rollouts.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace rollcall::run {

/// There is one for each session. The answers of its conversations go into its own queue, so that
/// only one thread uses a rollout.
class SessionReplies final : public model::Replies {
 public:
  explicit SessionReplies(OpenRollouts& rollouts)
      : rollouts_(&rollouts), queue_(&rollouts.new_queue()) {}
  ~SessionReplies() override { rollouts_->add_wait(waited_s_); }
  SessionReplies(const SessionReplies&) = delete;
  SessionReplies& operator=(const SessionReplies&) = delete;

  std::optional<model::Reply> after(const model::SequencePlace& place,
                                    const model::DecodedSequence& so_far,
                                    std::size_t turn) override;
  std::vector<Late> late(bool waits) override;

 private:
  model::Reply take(OpenRollout& rollout, environment::Answer answer);
  model::Reply end(OpenRollout& rollout);

  OpenRollouts* rollouts_;
  environment::AnswerQueue* queue_;
  std::uint64_t asked_ = 0;  ///< questions that this session has asked
  std::map<std::uint64_t, model::SequencePlace> waiting_;  ///< for an answer, by question
  double waited_s_ = 0.0;
};

}  // namespace rollcall::run
