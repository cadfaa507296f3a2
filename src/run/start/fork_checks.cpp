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
  faults.need(
      {"environment.forks", "run.numerics"},
      !row->reads_likeliest || config.run.numerics != kernels::kCudaBf16Sliced8,
      fmt::format("environment.forks is {}, and run.numerics {}", name, config.run.numerics),
      "CUDA devices do not report how probable the two likeliest tokens are",
      "choose numerics of the host, or set environment.forks = \"top_entropy\"");
}

}  // namespace rollcall::run
