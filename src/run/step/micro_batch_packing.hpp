// Packs the rollouts of a step into micro-batches. Tokens that several rollouts of a micro-batch
// begin with are present once.
#pragma once

#include "run/step/loss_derivative.hpp"
#include "run/step/step_batch.hpp"
#include "sizing/micro_batch_count.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace rollcall::run {

/// A micro-batch of the backward pass. The derivative of the loss by its columns is known before it
/// runs.
struct BackwardMicroBatch {
  model::MicroBatch micro_batch;
  LossDerivative derivative;  ///< [targets]
  std::int64_t repeated = 0;  ///< tokens that the previous micro-batch has as well

  template <class A>
  void serialize(A& ar, unsigned) {
    ar& micro_batch.tokens& micro_batch.offsets& micro_batch.targets& micro_batch
        .hidden& micro_batch.parents& micro_batch.kept.end& micro_batch.kept.id& micro_batch.missed
        .end& micro_batch.missed.id& micro_batch.missed.share& derivative.by.logprob& derivative.by
        .entropy& derivative.by.miss_logprob& derivative.at_logprob& repeated;
  }
};

/// Packs the rollouts of these groups as trees, except those with a derivative of zero everywhere.
/// Beginnings that rollouts of a micro-batch share (the head of a chat template, a prompt, the
/// beginnings of answers) are present once, and the derivatives of shared columns are added. A
/// micro-batch may begin and end within a group. `derivative` has the policy tokens of all
/// rollouts, rollout by rollout, as in TrainBatch. The packing changes the gradient only by
/// rounding.
std::vector<BackwardMicroBatch> backward_micro_batches(const StepBatch& batch,
                                                       const std::vector<std::size_t>& groups,
                                                       const LossDerivative& derivative,
                                                       std::int64_t micro_batch_tokens);

/// Calls `cut(limit)`, which packs micro-batches of at most `limit` tokens, and lowers the limit so
/// that few micro-batches have about one size (sizing::micro_batch_count() says how many), since a
/// small last one would leave ranks without work. The limit stays `micro_batch_tokens` where a
/// lower one would repeat long beginnings in more micro-batches, or where sequences cannot be
/// parted evenly. It depends only on the cuts, never on the number of ranks.
std::vector<BackwardMicroBatch> even_micro_batches(
    std::int64_t micro_batch_tokens,
    const std::function<std::vector<BackwardMicroBatch>(std::int64_t limit)>& cut);

/// Appends rollouts to a micro-batch, each with columns of its own. Successive rollouts with equal
/// prompts share the tokens of the prompt.
class MicroBatchPacker {
 public:
  explicit MicroBatchPacker(model::MicroBatch& micro_batch) : micro_batch_(&micro_batch) {}
  void append(const Rollout& rollout);

 private:
  bool shares_prompt(const std::vector<std::int32_t>& prompt) const;
  model::MicroBatch* micro_batch_;
  std::int64_t prompt_ = -1;  ///< the sequence of the prompt that the last rollout continued;
                              ///< -1: there is no rollout yet
};

}  // namespace rollcall::run
