// Rollouts of a step as leaves of the model, in which what several begin with stands once.
#pragma once

#include "run/step/step_batch.hpp"
#include "sizing/micro_batch_count.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace rollcall::run {

/// A micro-batch of the backward pass: the loss's derivative by its columns is known before it
/// runs.
struct BackwardMicroBatch {
  model::MicroBatch micro_batch;
  model::ColumnGradient derivative;
  std::vector<float> logprob;  ///< at which the derivative was taken
  std::int64_t repeated = 0;   ///< tokens that the micro-batch before it runs as well

  template <class A>
  void serialize(A& ar, unsigned) {
    ar& micro_batch.tokens& micro_batch.offsets& micro_batch.targets& micro_batch
        .hidden& micro_batch.parents& micro_batch.kept.end& micro_batch.kept.id& micro_batch.missed
        .end& micro_batch.missed.id& micro_batch.missed.share& derivative.logprob& derivative
        .entropy& derivative.miss_logprob& logprob& repeated;
  }
};

/// The rollouts of these groups whose derivative is not zero throughout, packed anew as trees: what
/// rollouts of a micro-batch begin with alike (a chat template's head, a prompt, the beginnings of
/// answers) stands in it once, and derivatives of what are the same columns add up. A micro-batch
/// may begin and end within a group. `derivative` and `logprob`: the columns of all rollouts one
/// after the other, as in TrainBatch. All this changes the gradient by nothing but rounding.
std::vector<BackwardMicroBatch> backward_micro_batches(const StepBatch& batch,
                                                       const std::vector<std::size_t>& groups,
                                                       const model::ColumnGradient& derivative,
                                                       std::span<const float> logprob,
                                                       std::int64_t micro_batch_tokens);

/// What `cut` makes under a limit of tokens a micro-batch, in sizing::leaf_count() leaves of about
/// one size where those are few: a last micro-batch that is small leaves ranks without work. Where
/// that would repeat long beginnings in more micro-batches, or sequences do not part so, it is what
/// `cut` makes under `micro_batch_tokens`. The limit that is taken follows from the cuts alone,
/// never from how many ranks there are.
std::vector<BackwardMicroBatch> even_micro_batches(
    std::int64_t micro_batch_tokens,
    const std::function<std::vector<BackwardMicroBatch>(std::int64_t limit)>& cut);

/// Rollouts one after the other in a micro-batch, each with columns of its own; equal prompts in a
/// row stand once.
class MicroBatchPacker {
 public:
  explicit MicroBatchPacker(model::MicroBatch& micro_batch) : micro_batch_(&micro_batch) {}
  void append(const Rollout& rollout);

 private:
  bool shares_prompt(const std::vector<std::int32_t>& prompt) const;
  model::MicroBatch* micro_batch_;
  std::int64_t prompt_ = -1;  ///< sequence that the last rollout continued; -1: none yet
};

}  // namespace rollcall::run
