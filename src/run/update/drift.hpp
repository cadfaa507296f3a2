// How far the policy has moved on a prompt since it last answered it: what decides how much an
// earlier result still says.
#pragma once

#include "core/rollout.hpp"
#include "run/step/step_batch.hpp"
#include "run/update/auxiliary_models.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace rollcall::run {

/// The previous rollout of every prompt, in memory on every update rank. Holds nothing that the
/// files of the steps so far do not say, so it is in no checkpoint.
class Drift {
 public:
  static constexpr std::uint64_t kWindow = 1024;  ///< optimizer steps: what is older is forgotten,
                                                  ///< so that memory and the reading of a resume
                                                  ///< are bounded

  explicit Drift(bool on) : on_(on) {}
  bool on() const { return on_; }
  /// Takes a closed step's own rollouts in: the first one with policy tokens of each group. Steps
  /// come in ascending order.
  void remember(const StepBatch& step);
  /// [groups] mean |log-prob now - when sampled| over the tokens of the prompt's previous rollout
  /// (SPO, arXiv:2509.13232); NaN where there is none. Collective over the update ranks, before the
  /// step is trained on.
  /// Empty where it is off.
  std::vector<double> measure(const StepBatch& step, AuxiliaryModels& companions);

 private:
  bool on_;
  std::map<std::uint64_t, Group> previous_;  ///< by PromptId, one rollout each
};

}  // namespace rollcall::run
