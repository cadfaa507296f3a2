// Ranks the samples of a pool by reward and number.
#include "run/coordinator/steps/pool_rounds.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace rollcall::run {
namespace {

struct Sample {
  std::uint32_t number = 0;
  bool decided = false;
  double reward = 0.0;
};

/// The samples of a pool, ascending.
std::vector<Sample> samples_of(const GroupPlan& pool, const std::vector<Specimen>& specimens) {
  std::vector<Sample> all;
  for (std::uint32_t i = 0; i < pool.count; ++i) all.push_back({pool.first_sample + i});
  const auto found =
      std::lower_bound(specimens.begin(), specimens.end(), pool.id,
                       [](const Specimen& group, const GroupId& id) { return group.id < id; });
  if (found == specimens.end() || found->id != pool.id) return all;
  for (const Exhibit& exhibit : found->exhibits) {
    const std::uint32_t place = exhibit.sample - pool.first_sample;
    if (exhibit.sample < pool.first_sample || place >= all.size()) continue;  // of another round
    all[place].decided = true, all[place].reward = exhibit.reward;
  }
  return all;
}

}  // namespace

std::vector<GroupPlan> PoolRounds::pools(const std::vector<GroupPlan>& groups) {
  std::vector<GroupPlan> pools;
  for (const GroupPlan& group : groups) {
    require<ConfigError>(
        group.id.draw < kFirstPool,
        fmt::format("a step draws prompt {} more than {} times", group.id.prompt.value, kFirstPool),
        "further draws have the numbers of pools",
        "use more training prompts, or leave second_pass.kind out");
    // 50 * 1.1 is above 55 in doubles
    const auto count = std::uint32_t(std::ceil(double(group.count) * factor_ - 1e-9));
    std::uint32_t& next = next_[group.id];
    GroupPlan pool{.id = {group.id.step, group.id.prompt, group.id.draw + kFirstPool},
                   .level = group.level,
                   .first_sample = next,
                   .count = count,
                   .bin = group.bin,
                   .from = {.kind = DerivedKind::pool,
                            .parent = group.id,
                            .parent_sample = Derivation::kWholeGroup,
                            .tier = 0,
                            .placement = Placement::trains_nowhere}};
    pool.stream_draw = std::int64_t(group.id.draw), pool.start = group.start;
    next += count;
    pools.push_back(std::move(pool));
  }
  return pools;
}

void PoolRounds::choose(std::vector<GroupPlan>& groups, const std::vector<GroupPlan>& pools,
                        const std::vector<Specimen>& specimens) const {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    GroupPlan& group = groups[g];
    auto samples = samples_of(pools[g], specimens);
    // A stable sort keeps equal samples in the order of their numbers.
    const std::size_t best = (group.count + 1) / 2, worst = group.count / 2;
    std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
      return std::pair(b.decided, b.reward) < std::pair(a.decided, a.reward);
    });
    std::stable_sort(samples.begin() + std::ptrdiff_t(best), samples.end(),
                     [](const Sample& a, const Sample& b) {
                       if (a.decided != b.decided) return a.decided;
                       return a.reward != b.reward ? a.reward < b.reward : a.number < b.number;
                     });
    group.samples.clear();
    for (std::size_t i = 0; i < best + worst; ++i) group.samples.push_back(samples[i].number);
    std::sort(group.samples.begin(), group.samples.end());
  }
}

}  // namespace rollcall::run
