// Asks the expert and the environment in turn.
#include "environment/expert_way.hpp"

#include "environment/chosen.hpp"
#include "environment/environments.hpp"
#include "task/task.hpp"

#include <utility>

namespace rollcall::environment {

ExpertWay expert_way(const Environment& environment, const Prompt& prompt, const Seeds& seeds,
                     std::int64_t most) {
  ExpertWay way;
  Answer answer = environment.start(prompt, "", seeds.start);
  for (std::uint32_t turn = 0; std::int64_t(turn) < most; ++turn) {
    if (answer.loss != Loss::none || !answer.state) break;
    std::string state = std::move(*answer.state);
    auto action = environment.expert(prompt, state, turn);
    if (!action) break;
    answer = environment.step(prompt, state, *action, step_seed(seeds, turn), turn);
    if (answer.loss != Loss::none) break;
    way.states.push_back(std::move(state));
    way.actions.push_back(std::move(*action));
    way.said.push_back(answer.text);
    way.ends = answer.done;
    if (way.ends) break;
  }
  return way;
}

bool has_expert(const RunConfig& config) {
  const std::string name = task::built_in_environment(config);
  return !name.empty() && name != kToolsName && find_environment(name).task != nullptr;
}

}  // namespace rollcall::environment
