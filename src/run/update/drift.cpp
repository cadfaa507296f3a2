// Measures drift by one forward pass over the previous answers to the prompts of a step.
#include "run/update/drift.hpp"

#include <cmath>
#include <limits>

namespace rollcall::run {

void Drift::remember(const StepBatch& step) {
  if (!on_) return;
  for (std::size_t g = 0; g < fresh_groups(step); ++g) {
    const Group& group = step.groups[g];
    if (!is_plain(group.from)) continue;
    for (const auto& rollout : group.rollouts) {
      if (is_expert(rollout) || rollout.placed || policy_tokens(rollout) == 0) continue;
      previous_[group.id.prompt.value] = {group.id, group.level, {rollout}};
      break;
    }
  }
}

std::vector<double> Drift::measure(const StepBatch& step, AuxiliaryModels& companions) {
  std::vector<double> drift(step.groups.size(), std::numeric_limits<double>::quiet_NaN());
  if (!on_) return {};
  std::erase_if(previous_, [&](const auto& entry) {
    return sampled_by(entry.second).value_or(0) + kWindow < step.policy.value;
  });
  StepBatch before;
  std::vector<std::size_t> of;  // [groups of `before`] index of the prompt's group in `step`
  for (std::size_t g = 0; g < fresh_groups(step); ++g) {
    if (!is_plain(step.groups[g].from)) continue;
    const auto known = previous_.find(step.groups[g].id.prompt.value);
    if (known == previous_.end()) continue;
    before.groups.push_back(known->second);
    before.scores.push_back({Score{}});
    of.push_back(g);
  }
  if (before.groups.empty()) return drift;
  const auto now = companions.logprobs_now(before);
  for (std::size_t i = 0; i < of.size(); ++i) {
    double sum = 0.0;
    std::size_t token = 0;
    std::size_t sampled = 0;
    const Rollout& rollout = before.groups[i].rollouts.front();
    for (std::size_t t = 0; t < rollout.turns.size(); ++t) {
      const auto& logprob = rollout.turns[t].columns.logprob;
      if (was_given(rollout, t)) {  // a file has no log-probs for it
        token += logprob.size();
        continue;
      }
      for (const float then : logprob) sum += std::abs(double(now[i].at(token++)) - double(then));
      sampled += logprob.size();
    }
    if (sampled > 0) drift[of[i]] = sum / double(sampled);
  }
  return drift;
}

}  // namespace rollcall::run
