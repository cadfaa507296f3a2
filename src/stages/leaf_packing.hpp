// Rollouts of a step as leaves of the model, in which what several begin with stands once.
#pragma once

#include "stages/step_batch.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::stages {

/// A leaf of the backward pass: the loss's derivative by its columns is known before it runs.
struct BackwardLeaf {
  model::Leaf leaf;
  model::ColumnGradient derivative;
  std::vector<float> logprob;  ///< at which the derivative was taken
  std::int64_t repeated = 0;   ///< tokens of its beginning that the leaf before it runs as well
};

/// The rollouts of these groups whose derivative is not zero throughout, packed anew: a leaf may begin and end within a group. `derivative` and `logprob`: the
/// columns of all their rollouts one after the other, as in TrainBatch. Dropping the others changes the gradient by nothing but rounding, alike on every rank. What all
/// their prompts begin with (a chat template's head, examples) stands once in a leaf.
std::vector<BackwardLeaf> backward_leaves(const StepBatch& batch, const std::vector<std::size_t>& groups, const model::ColumnGradient& derivative,
                                          std::span<const float> logprob, std::int64_t leaf_tokens);

/// Rollouts one after the other in a leaf; equal prompts in a row stand once, and so does `head`, with which all prompts begin and none ends.
class LeafPacker {
 public:
  explicit LeafPacker(model::Leaf& leaf, std::span<const std::int32_t> head = {}) : leaf_(&leaf), head_(head) {}
  std::int64_t tokens_of(const Rollout& rollout) const;  ///< by which the leaf would grow
  void append(const Rollout& rollout);

 private:
  bool shares_prompt(const std::vector<std::int32_t>& prompt) const;
  model::Leaf* leaf_;
  std::span<const std::int32_t> head_;
  std::int64_t prompt_ = -1;  ///< sequence that the last rollout continued; -1: none yet
};

}  // namespace rollcall::stages
