// Machines that pay by chance: the step's seed decides whether the one that is pulled does.
#include "task/worlds/bandit.hpp"

#include "base/numbers/random.hpp"
#include "environment/worlds/world.hpp"
#include "environment/worlds/worlds.hpp"

#include <algorithm>

namespace rollcall::environment {
namespace {

class BanditWorld final : public World {
  std::optional<std::string> first_state(const Prompt& prompt, std::uint64_t seed) const override {
    auto bandit = task::read_bandit_reference(prompt.answer);
    if (!bandit) return std::nullopt;
    const RandomStream stream(seed, RandomPurpose::environment);
    bandit->best = std::int64_t(stream.below(0, bandit->arms.size()));
    return task::text_of(*bandit);
  }

  std::optional<std::string> seen(const std::string& state) const override {
    const auto bandit = task::read_bandit(state);
    if (!bandit) return std::nullopt;
    return task::view_of(*bandit);
  }

  Answer act(const std::string& state, const std::string& word, std::uint64_t seed) const override {
    auto bandit = *task::read_bandit(state);
    const auto named = std::find(bandit.arms.begin(), bandit.arms.end(), word);
    if (named == bandit.arms.end()) return {.state = state, .flags = turn_flag::invalid};
    const auto arm = std::size_t(named - bandit.arms.begin()), best = std::size_t(bandit.best);
    const double share = arm == best ? task::kBestPays : task::kOthersPay;
    const bool pays = RandomStream(seed, RandomPurpose::environment).uniform(0) < share;
    ++bandit.pulled[arm];
    bandit.paid[arm] += pays ? 1 : 0;
    Answer answer{.state = task::text_of(bandit),
                  .reward = pays ? 1.0 / double(bandit.pulls) : 0.0};
    answer.done = bandit.left() == 0;
    if (answer.done) {
      const auto most = std::max_element(bandit.pulled.begin(), bandit.pulled.end());
      answer.correct = *most == bandit.pulled[best] &&
                       std::count(bandit.pulled.begin(), bandit.pulled.end(), *most) == 1;
    }
    return answer;
  }

  /// The machine with the highest share of wins, where one win and one loss are added to each; of
  /// equal ones the first. So a machine is left when its share falls below 1/2.
  std::optional<std::string> expert_word(const std::string& state, std::uint32_t) const override {
    const auto bandit = *task::read_bandit(state);
    std::size_t best = 0;
    for (std::size_t arm = 1; arm < bandit.arms.size(); ++arm) {
      const bool is_better = (bandit.paid[arm] + 1) * (bandit.pulled[best] + 2) >
                             (bandit.paid[best] + 1) * (bandit.pulled[arm] + 2);
      if (is_better) best = arm;
    }
    return bandit.arms[best];
  }
};

}  // namespace

std::unique_ptr<const Environment> make_bandit(const RunConfig& config) {
  need_task(config, "bandit");
  return std::make_unique<BanditWorld>();
}

}  // namespace rollcall::environment
