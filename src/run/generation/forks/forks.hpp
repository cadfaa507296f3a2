// The table of rules by which rollouts fork.
#pragma once

#include "core/plan.hpp"
#include "core/run_config.hpp"
#include "run/generation/forks/fork_rule.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::run {

/// A row of forks.cpp.
struct ForkRow {
  const char* name;
  const char* meaning;   ///< where further rollouts begin
  bool hears_replies;    ///< it forks behind what an environment said
  bool reads_likeliest;  ///< it reads DecodedSequence::likeliest and runner_up
  std::unique_ptr<const ForkRule> (*make)(const RunConfig& config);
};

/// Throws ConfigError naming the nearest.
const ForkRow& find_fork_rule(const std::string& name);
std::vector<std::string> fork_rule_names();
/// The rule that environment.forks names; null where it is empty. Throws ConfigError naming the
/// nearest. sampling.vocab_size is set, as make_context() does.
std::unique_ptr<const ForkRule> make_fork_rule(const RunConfig& config);
/// GroupPlan::unforked of a group: environment.unforked or half of its rollouts, and 0, which is
/// all, where nothing would be left to fork, where samples are named one by one, and for prompts of
/// a second pass.
std::uint32_t unforked_of(const RunConfig& config, const GroupPlan& group);

}  // namespace rollcall::run
