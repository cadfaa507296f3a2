// Follows the expert for as many actions as the schedule says.
#include "run/coordinator/steps/start_states.hpp"

#include "base/numbers/random.hpp"
#include "environment/chosen.hpp"
#include "environment/expert_way.hpp"
#include "run/generation/conversation_seeds.hpp"
#include "run/step/step_batch.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace rollcall::run {
namespace {

constexpr std::int64_t kLongestWay = 1024;  // actions; longer expert conversations are cut there
/// Larger than the number of any turn, because turns number the seed's other draws.
constexpr std::uint64_t kDepthDraw = std::numeric_limits<std::uint32_t>::max();

}  // namespace

std::int64_t start_depth(const EnvironmentSection& section, std::int64_t actions,
                         std::uint64_t step, std::int64_t left, std::uint64_t seed) {
  const std::int64_t most = actions - 1;
  if (section.start_depth == "backward")
    return std::max<std::int64_t>(0, most - std::int64_t(step - 1) / section.start_every);
  if (section.start_depth == "success") return std::clamp<std::int64_t>(actions - left, 0, most);
  if (section.start_depth == "random")
    return std::int64_t(
        RandomStream(seed, RandomPurpose::environment).below(kDepthDraw, std::uint64_t(actions)));
  return 0;
}

std::int64_t actions_left_after(const EnvironmentSection& section, std::int64_t left,
                                const std::vector<GroupReport>& reports) {
  std::int64_t right = 0, all = 0;
  for (const GroupReport& report : reports) {
    if (!is_plain(report.from)) continue;
    right += std::count(report.correct.begin(), report.correct.end(), std::uint8_t{1});
    all += std::int64_t(report.correct.size());
  }
  const bool is_enough = all > 0 && double(right) >= section.start_success * double(all);
  return is_enough ? left + 1 : left;
}

StartStates::StartStates(const RunConfig& config, const RunTexts& texts)
    : config_(&config), texts_(&texts) {
  if (config.environment.start_depth != "own")
    environment_ = environment::make_environment(config, *texts.format);
}

void StartStates::set(std::vector<GroupPlan>& groups, std::int64_t left) const {
  if (!environment_) return;
  for (GroupPlan& group : groups) {
    const GroupId world = is_plain(group.from) ? group.id : group.from.parent;
    const auto seeds = conversation_seeds(
        std::uint64_t(config_->run.seed),
        {Split::train, world, {}, world.prompt.value | std::uint64_t(world.draw) << 40U},
        kExpertSample);
    const Prompt& prompt = texts_->prompts.train.at(std::size_t(world.prompt.value));
    const auto way = environment::expert_way(*environment_, prompt, seeds, kLongestWay);
    if (way.states.empty()) continue;
    const std::int64_t depth = start_depth(config_->environment, std::int64_t(way.states.size()),
                                           world.step, left, seeds.turns);
    if (depth > 0) group.start = way.states[std::size_t(depth)];
  }
}

}  // namespace rollcall::run
