// Three ways to replace the results of a step.
#include "scheduling/trace/control.hpp"

#include "scheduling/prompts/outcomes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rollcall::scheduling {
namespace {

/// Fisher-Yates, from the last place down. Place i takes the random number first + i.
template <class T>
void shuffle(std::vector<T>& values, const RandomStream& random, std::uint64_t first) {
  for (std::uint64_t i = values.size(); i-- > 1;)
    std::swap(values[i], values[random.below(first + i, i + 1)]);
}

void exchange(std::vector<GroupReport>& reports, const RandomStream& random) {
  std::vector<std::pair<double, std::uint8_t>> rollouts;
  std::vector<std::pair<double, double>> groups;
  for (const GroupReport& r : reports) {
    for (std::size_t i = 0; i < r.rewards.size(); ++i)
      rollouts.emplace_back(r.rewards[i], r.correct[i]);
    groups.emplace_back(r.loss, r.mean_abs_advantage);
  }
  shuffle(rollouts, random, 0);
  shuffle(groups, random, std::uint64_t{1} << 32);
  auto next = rollouts.begin();
  auto group = groups.begin();
  for (GroupReport& r : reports) {
    for (std::size_t i = 0; i < r.rewards.size(); ++i, ++next)
      r.rewards[i] = next->first, r.correct[i] = next->second;
    r.loss = group->first, r.mean_abs_advantage = group->second, ++group;
  }
}

}  // namespace

void Control::bind(ConfigSchema& knobs) {
  knobs.bind(
      "control", &kind_,
      "makes the policy deaf, to compare with: what it hears of a step's results is constant, shuffled among its groups, or inverted",
      {}, {"none", "constant", "shuffled", "inverted"});
}

std::vector<GroupReport> Control::heard(std::vector<GroupReport> reports,
                                        const RandomStream& random) const {
  if (kind_ == "shuffled") exchange(reports, random);
  for (GroupReport& r : reports) {
    if (kind_ == "constant") {
      std::fill(r.rewards.begin(), r.rewards.end(), 0.5);
      std::fill(r.correct.begin(), r.correct.end(), std::uint8_t{1});
      r.loss = 0.0, r.mean_abs_advantage = 0.5;
    }
    if (inverted()) r.mean_abs_advantage = 1.0 - std::min(1.0, pay(r));
  }
  return reports;
}

}  // namespace rollcall::scheduling
