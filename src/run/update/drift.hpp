// Measures how far the policy has moved on a prompt since it last answered the prompt. The farther
// it has moved, the less an earlier result of the prompt says about it.
#pragma once

#include "core/rollout.hpp"
#include "run/step/step_batch.hpp"
#include "run/update/auxiliary_models.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace rollcall::run {

/// The previous rollout of every prompt, in memory on every update rank. A resumed run reads it
/// from the files of earlier steps, so it is in no checkpoint.
class Drift {
 public:
  static constexpr std::uint64_t kWindow =
      1024;  ///< optimizer steps. Older rollouts are forgotten,
             ///< which bounds memory and what a resume reads

  explicit Drift(bool on) : on_(on) {}
  bool on() const { return on_; }
  /// Remembers a closed step's own rollouts: the first one with policy tokens of each group. Steps
  /// come in ascending order.
  void remember(const StepBatch& step);
  /// [groups] mean |log-prob now - when sampled| over the tokens of the prompt's previous rollout
  /// (SPO, arXiv:2509.13232); NaN for a prompt without one. Empty where drift is not measured.
  /// Collective over the update ranks, before the step is trained on.
  std::vector<double> measure(const StepBatch& step, AuxiliaryModels& companions);

 private:
  bool on_;
  std::map<std::uint64_t, Group> previous_;  ///< by PromptId: a group of one rollout, the prompt's
                                             ///< previous one
};

}  // namespace rollcall::run
