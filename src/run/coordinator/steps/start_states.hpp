// Decides where the conversations of a train step begin. They begin after the first actions of the
// environment's expert, and fewer of these are taken as the run progresses.
// Sources: TCOD, temporal curriculum in on-policy distillation (backward to forward: the expert's
//   actions but the last, and one fewer every c = 5 steps); Gur et al. 2018, arXiv:1812.09195
//   (QWeb: what is left to do grows with success), whose threshold is inferred.
#pragma once

#include "core/plan.hpp"
#include "core/run_config.hpp"
#include "environment/environment.hpp"
#include "run/context/run_texts.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace rollcall::run {

/// How many of the `actions` (at least one) of an expert's way are taken before a group begins in
/// train step `step`, counted from 1; at most all but the last. `left`: the actions that `success`
/// leaves. `seed`: of the way, from which `random` draws.
std::int64_t start_depth(const EnvironmentSection& section, std::int64_t actions,
                         std::uint64_t step, std::int64_t left, std::uint64_t seed);

/// CoordinatorState::actions_left after a step: one more where environment.start_success of the
/// rollouts that have a verdict or more were right.
std::int64_t actions_left_after(const EnvironmentSection& section, std::int64_t left,
                                const std::vector<GroupReport>& reports);

class StartStates {
 public:
  /// `config` and `texts` must outlive it.
  StartStates(const RunConfig& config, const RunTexts& texts);

  /// Sets GroupPlan::start of groups of one train step, unless environment.start_depth is `own`.
  /// A group and those that ask its prompt once more (tiers of help, counterparts, pools) begin in
  /// the same state. It is a function of run seed, settings, group and `left`.
  void set(std::vector<GroupPlan>& groups, std::int64_t left) const;

 private:
  const RunConfig* config_;
  const RunTexts* texts_;
  std::unique_ptr<const environment::Environment> environment_{};  ///< null: all begin as their own
};

}  // namespace rollcall::run
