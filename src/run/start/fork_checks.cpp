// Looks at the row of the rule that environment.forks names.
#include "run/start/fork_checks.hpp"

#include "base/errors/error.hpp"
#include "kernels/kernel_set.hpp"
#include "run/generation/forks/forks.hpp"
#include "task/task.hpp"

#include <fmt/format.h>

#include <string>

namespace rollcall::run {

void check_forks(const RunConfig& config, Faults& faults) {
  const std::string& name = config.environment.forks;
  if (name.empty()) return;
  const ForkRow* row = nullptr;
  faults.check({"environment.forks"}, [&] { row = &find_fork_rule(name); });
  if (row == nullptr) return;
  faults.check({"environment.forks", "environment.", "task.name"}, [&] {
    require<ConfigError>(
        !row->hears_replies || task::has_environment(config),
        fmt::format("environment.forks is {}, and the run has no environment", name),
        "nothing is said between turns, so that no rollout would fork",
        "name an environment, or set environment.forks = \"top_entropy\"");
  });
  const auto need = [&](const char* key, bool forks, const auto& value, const char* why,
                        const char* remedy) {
    faults.need({"environment.forks", key}, forks,
                fmt::format("environment.forks is {}, and {} {}", name, key, value), why,
                fmt::format("{}, or leave environment.forks out", remedy));
  };
  need("environment.max_turns", !row->hears_replies || config.environment.max_turns > 1,
       config.environment.max_turns, "nothing is said after a reply, so that no rollout would fork",
       "raise environment.max_turns");
  need("train.rollouts_per_prompt", config.train.rollouts_per_prompt > 1,
       config.train.rollouts_per_prompt, "no rollout of a group would be left to fork",
       "raise train.rollouts_per_prompt");
  need("second_pass.kind", config.second_pass.kind != "pool", config.second_pass.kind,
       "the rollouts of a pool are chosen one by one, so that none of them would fork",
       "leave second_pass out");
  faults.need(
      {"environment.forks", "run.numerics"},
      !row->reads_likeliest || config.run.numerics != kernels::kCudaBf16Sliced8,
      fmt::format("environment.forks is {}, and run.numerics {}", name, config.run.numerics),
      "CUDA devices do not report how probable the two likeliest tokens are",
      "choose numerics of the host, or set environment.forks = \"top_entropy\"");
}

}  // namespace rollcall::run
