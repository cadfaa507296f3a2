// Finds pieces of an objective that compare policies, in runs in which these policies are the same.
#pragma once

#include "core/run_config.hpp"
#include "method/method.hpp"

#include <string>

namespace rollcall::run {

/// Whether every step makes one update, on rollouts of the policy that it starts from, so that
/// every ratio is 1. False on devices, where sampler and trainer differ by rounding, which some
/// pieces are there to correct.
bool is_on_policy(const RunConfig& config);

/// Throws ConfigError if such a run names a weight or a regularizer that the recipe does not have
/// and that changes no derivative there.
void check_idle_pieces(const RunConfig& config, const method::Objective& objective);

/// The facts about its recipe that such a run should report: the row of the table that has the same
/// derivative, and the pieces that change nothing; empty if there are none.
struct IdleTold {
  std::string sentence{};
  bool is_warning = false;  ///< the run file names such a piece itself
};
IdleTold idle_told(const RunConfig& config, const method::Objective& objective);
/// Logs it.
void tell_idle_pieces(const RunConfig& config, const method::Objective& objective);

}  // namespace rollcall::run
