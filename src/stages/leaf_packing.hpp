// Rollouts of a step as leaves of the model, in which what several begin with stands once.
#pragma once

#include "stages/step_batch.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace rollcall::stages {

/// A leaf of the backward pass: the loss's derivative by its columns is known before it runs.
struct BackwardLeaf {
  model::Leaf leaf;
  model::ColumnGradient derivative;
  std::vector<float> logprob;  ///< at which the derivative was taken
  std::int64_t repeated = 0;   ///< tokens that the leaf before it runs as well

  template <class A>
  void serialize(A& ar, unsigned) {
    ar& leaf.tokens& leaf.offsets& leaf.targets& leaf.hidden& leaf.parents& leaf.kept.end& leaf.kept.id& derivative.logprob& derivative
        .entropy& logprob& repeated;
  }
};

/// The rollouts of these groups whose derivative is not zero throughout, packed anew as trees: what rollouts of a leaf begin with alike (a chat template's head,
/// a prompt, the beginnings of answers) stands in it once, and derivatives of what are the same columns add up. A leaf may begin and end within a group.
/// `derivative` and `logprob`: the columns of all rollouts one after the other, as in TrainBatch. All this changes the gradient by nothing but rounding.
std::vector<BackwardLeaf> backward_leaves(const StepBatch& batch, const std::vector<std::size_t>& groups, const model::ColumnGradient& derivative,
                                          std::span<const float> logprob, std::int64_t leaf_tokens);

constexpr std::int64_t kFewLeaves = 8;  ///< more leave no rank without work for long, but where ranks are as many

/// Leaves that tokens are cut into which would take `least` of the largest: few become a power of two, so that they can be dealt evenly to ranks and threads, unless
/// they would be small.
std::int64_t leaf_count(std::int64_t least, std::int64_t tokens);

/// What `cut` makes under a limit of tokens a leaf, in leaf_count() leaves of about one size where those are few: a last leaf that is small leaves ranks without
/// work. Where that would repeat long beginnings in more leaves, or sequences do not part so, it is what `cut` makes under `leaf_tokens`. The limit that is taken
/// follows from the cuts alone, never from how many ranks there are.
std::vector<BackwardLeaf> even_leaves(std::int64_t leaf_tokens, const std::function<std::vector<BackwardLeaf>(std::int64_t limit)>& cut);

/// Rollouts one after the other in a leaf, each with columns of its own; equal prompts in a row stand once.
class LeafPacker {
 public:
  explicit LeafPacker(model::Leaf& leaf) : leaf_(&leaf) {}
  void append(const Rollout& rollout);

 private:
  bool shares_prompt(const std::vector<std::int32_t>& prompt) const;
  model::Leaf* leaf_;
  std::int64_t prompt_ = -1;  ///< sequence that the last rollout continued; -1: none yet
};

}  // namespace rollcall::stages
