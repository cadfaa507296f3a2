// The table of rules by which rollouts fork.
#pragma once

#include "core/run_config.hpp"
#include "run/generation/forks/fork_rule.hpp"

#include <memory>
#include <string>
#include <vector>

namespace rollcall::run {

std::vector<std::string> fork_rule_names();
/// The rule that environment.forks names; null where it is empty. Throws ConfigError naming the
/// nearest.
std::unique_ptr<const ForkRule> make_fork_rule(const RunConfig& config);

}  // namespace rollcall::run
