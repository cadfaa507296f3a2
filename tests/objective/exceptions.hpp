// Which pieces and recipes are excused from which property of the conformance suite, and why.
#pragma once

#include <string>
#include <vector>

namespace rollcall::objective::test {

/// Who rightly breaks a property says so here, with the reason. `who` is "surrogate reinforce" for
/// every row with that piece, or "recipe NAME".
/// Properties: policy_gradient, trust_region, equal_rewards (which excuses from equal_group as
/// well), equal_group, numerical_derivative, mini_batches. One that is no longer needed fails the
/// suite (exceptions_test.cpp).
struct Exception {
  std::string who, property, reason;
};

/// The files of exceptions/, put together.
const std::vector<Exception>& exceptions();

// One list a file of exceptions/.
std::vector<Exception> excused_foundation();
std::vector<Exception> excused_clipping();
std::vector<Exception> excused_corrections();
std::vector<Exception> excused_offpolicy();
std::vector<Exception> excused_group_losses();
std::vector<Exception> excused_value();
std::vector<Exception> excused_baselines();
std::vector<Exception> excused_shaping();
std::vector<Exception> excused_credit();
std::vector<Exception> excused_updates();
std::vector<Exception> excused_turns();

}  // namespace rollcall::objective::test
