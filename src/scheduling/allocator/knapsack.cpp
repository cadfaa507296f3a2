// A heap of what the next rollout of each prompt would add.
#include "scheduling/allocator/knapsack.hpp"

#include <cmath>
#include <queue>
#include <tuple>

namespace rollcall::scheduling {

std::vector<std::int64_t> KnapsackAllocator::best(const std::vector<double>& success, std::int64_t total, std::int64_t low, std::int64_t high) {
  check_budget(std::int64_t(success.size()), total, low, high);
  std::vector<std::int64_t> count(success.size(), low);
  const auto gain = [&](std::size_t i) {
    const double p = success[i], q = 1.0 - p;
    const auto n = double(count[i]);
    return (std::pow(p, n) * q + std::pow(q, n) * p) * p * q * q;
  };
  // Equal gains: the fewest rollouts so far, then the first prompt; so prompts without any gain share evenly.
  using Entry = std::tuple<double, std::int64_t, std::int64_t>;
  std::priority_queue<Entry> queue;
  const auto push = [&](std::size_t i) {
    if (count[i] < high) queue.emplace(gain(i), -count[i], -std::int64_t(i));
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

std::vector<std::int64_t> KnapsackAllocator::counts(const StepRequest& request, const std::vector<GroupPlan>& groups) {
  std::vector<double> success;
  for (const GroupPlan& group : groups) success.push_back(knowledge_->success(request.step, group.id.prompt));
  return best(success, request.budget, request.min_rollouts, request.max_rollouts);
}

}  // namespace rollcall::scheduling
