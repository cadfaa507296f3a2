// Checks before a run on rank 0, first of only the settings, then with prompts. They also warn of
// settings that cost much and are of no use.
#pragma once

#include "base/errors/faults.hpp"
#include "comm/communicator.hpp"
#include "core/run_config.hpp"
#include "method/method.hpp"
#include "run/folder/job_request.hpp"
#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// The rows of tables that the settings name. A member is null if its settings are wrong.
struct Named {
  std::unique_ptr<const method::Objective> objective;
  std::unique_ptr<const scheduling::Scheduler> policy;  ///< the scheduler, made without prompts
};

/// Adds all faults of the settings and of the folders that they name, as far as they can be found
/// without prompts, weights and a running grader. Faults that only a new run can have are looked
/// for if run.dir holds no run yet, no matter how the job is started, because a run that an earlier
/// build began may continue.
Named check_start(const RunConfig& config, JobKind kind, Faults& faults);

/// One sentence for each setting of a training run that costs much, with the cost and a suggestion.
/// None of them is a fault. `cores`: the number of cores that a rank may use (comm::NodeShare).
std::vector<std::string> costly_settings(const RunContext& context, int cores);

/// A warning for a training run that samples from a truncated distribution while its log-probs are
/// taken over all tokens, with the key that corrects it; empty for other runs. A policy gradient is
/// unbiased only for the distribution that draws (TRL issue 6789 has the same bias between vLLM and
/// its trainer).
std::string truncation_told(const RunConfig& config);

/// A warning for a training run with a model that has more rows (`vocabulary`) than the tokenizer
/// has tokens (`tokens`). The other rows are never drawn, but log-probs over all tokens count their
/// mass. Empty for other runs.
std::string padding_told(const RunConfig& config, std::int64_t vocabulary, std::int64_t tokens);

/// A warning for a training run in which a prompt may get one rollout although the objective
/// compares rollouts of one prompt, with the key that corrects it; empty for other runs.
std::string lone_rollouts_told(const RunConfig& config, const method::Objective& objective);

/// A warning for a training run with a piece that has a constant on a scale different from the
/// rewards that verifier and task.format_weight give, or if the user's own command decides the
/// scale of rewards; empty for other runs.
std::string reward_scale_told(const RunConfig& config, const method::Objective& objective);

/// One sentence for each setting of the reward from which the loss of a training run learns
/// nothing: the weight of the form and the scores of a command if the loss does not read the
/// verifier's reward, and a judge if no piece reads its component. None of them is a fault, because
/// archive and metrics contain their results. `hears_rewards`: the trait of the run's scheduler
/// (PolicyTraits).
std::vector<std::string> unread_rewards_told(const RunConfig& config,
                                             const method::Objective& objective,
                                             bool hears_rewards);

}  // namespace rollcall::run
