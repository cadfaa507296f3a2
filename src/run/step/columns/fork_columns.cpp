// Finds the parent of a forked rollout among the rollouts of its group.
#include "run/step/columns/fork_columns.hpp"

#include <algorithm>
#include <cstdint>

namespace rollcall::run {
namespace {

/// The place in the group of the rollout from which `fork` was forked; -1: none of them.
std::int64_t parent_of(const Group& group, const Rollout& fork) {
  if (fork.parent < 0) return -1;
  const auto& all = group.rollouts;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Rollout& other) {
    return std::int64_t(other.sample) == fork.parent && other.placed == fork.placed;
  });
  return found == all.end() ? -1 : std::int64_t(found - all.begin());
}

}  // namespace

void append_forks(const Group& group, method::StepColumns& columns) {
  const auto first = std::int64_t(columns.reward.size());
  auto &parent = columns.named[method::column::parent],
       &fork_token = columns.named[method::column::fork_token];
  for (const Rollout& rollout : group.rollouts) {
    const std::int64_t place = parent_of(group, rollout);
    parent.push_back(place < 0 ? -1.0 : double(first + place));
    fork_token.push_back(place < 0 ? -1.0 : double(rollout.fork_token));
  }
}

bool is_of_whole_steps(const std::string& column) {
  return column == method::column::gold_logprob || column == method::column::gold_logprob_before;
}

}  // namespace rollcall::run
