// Gives out rollouts one by one, each to the prompt where it gains most. It serves allocators that
// differ only in how they measure this gain.
#pragma once

#include "scheduling/piece.hpp"

#include <queue>
#include <tuple>

namespace rollcall::scheduling {

/// Rollout counts of the prompts, each from low to high, that sum to `total`. gain(p, n): what
/// rollout n + 1 adds for a prompt with success rate p. Among prompts with equal gains, the one
/// with the fewest rollouts so far gets the next rollout, and in a further tie the first in order.
/// Prompts without any gain therefore share evenly. Throws ConfigError if no counts from low to
/// high sum to `total`.
template <class Gain>
std::vector<std::int64_t> greedy_counts(const std::vector<double>& success, std::int64_t total,
                                        std::int64_t low, std::int64_t high, Gain gain) {
  check_budget(std::int64_t(success.size()), total, low, high);
  std::vector<std::int64_t> count(success.size(), low);
  using Entry = std::tuple<double, std::int64_t, std::int64_t>;
  std::priority_queue<Entry> queue;
  const auto push = [&](std::size_t i) {
    if (count[i] < high)
      queue.emplace(gain(success[i], double(count[i])), -count[i], -std::int64_t(i));
  };
  for (std::size_t i = 0; i < success.size(); ++i) push(i);
  for (std::int64_t left = total - low * std::int64_t(success.size()); left > 0; --left) {
    const auto i = std::size_t(-std::get<2>(queue.top()));
    queue.pop();
    ++count[i];
    push(i);
  }
  return count;
}

}  // namespace rollcall::scheduling
