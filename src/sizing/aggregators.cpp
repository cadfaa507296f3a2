// Each node's ranks are divided into groups in ascending order; the first rank of a group stores
// for the others.
#include "sizing/aggregators.hpp"

#include "reward/verifier.hpp"
#include "task/task.hpp"

#include <map>

namespace rollcall::sizing {

bool aggregates(const RunConfig& c, const comm::StageLayout& layout) {
  const auto& updating = layout.of(comm::Stage::update);
  if (layout.of(comm::Stage::generation) != updating || layout.of(comm::Stage::scoring) != updating)
    return false;
  if (!c.reward.command.empty() || !c.judge.model.empty() || c.self_judging.share > 0.0)
    return false;
  return !reward::runs_code(
      reward::chosen_verifier(c.reward, task::find_task(c.task.name).verifier));
}

std::vector<int> aggregators(const comm::StageLayout& layout, const std::vector<int>& ranks) {
  struct Place {
    int aggregator = 0;
    std::size_t ranks = kMostAggregated;
  };
  // [lowest rank of a node] the group that is being filled on that node
  std::vector<Place> places(ranks.empty() ? 0 : std::size_t(ranks.back()) + 1);
  std::vector<int> all;
  for (const int rank : ranks) {
    Place& place = places[std::size_t(layout.node_of(rank))];
    if (place.ranks == kMostAggregated) place = {rank, 0};
    ++place.ranks;
    all.push_back(place.aggregator);
  }
  return all;
}

}  // namespace rollcall::sizing
