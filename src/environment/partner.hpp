// One interface for a rollout driver to all environments: those that answer at once, on separate
// threads, or by processes.
#pragma once

#include "environment/answer_queue.hpp"
#include "environment/environment.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace rollcall::environment {

/// Any thread may call any function, but only one thread at a time asks about a conversation.
class Partner {
 public:
  virtual ~Partner() = default;
  virtual const Traits& traits() const = 0;
  /// Asks for the answer to the last action of `talk`, or for its start if it has no action.
  /// Returns the answer if it is known at once. Otherwise the answer arrives in `queue` under
  /// `conversation`, and `talk` must neither change nor be destroyed before that or before close().
  virtual std::optional<Answer> ask(const Talk& talk, std::uint64_t conversation,
                                    AnswerQueue& queue) = 0;
  /// The conversation is over, however it ended. No answer to it comes after this call.
  virtual void close(const Talk& talk) = 0;
  /// The number of processes that have replaced failed ones since the last call.
  virtual std::int64_t take_restarts() { return 0; }
};

/// Answers on the calling thread.
std::unique_ptr<Partner> at_once(std::unique_ptr<const Environment> environment);
/// Answers on `threads` threads, which end with the partner.
std::unique_ptr<Partner> on_threads(std::unique_ptr<const Environment> environment, int threads);

}  // namespace rollcall::environment
