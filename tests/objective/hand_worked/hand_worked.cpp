// Puts the hand-worked numbers together.
#include "hand_worked.hpp"

#include <stdexcept>

namespace rollcall::objective::test {

const HandWorkedTable& hand_worked() {
  static const HandWorkedTable numbers = [] {
    HandWorkedTable all;
    for (const auto& part : {
             worked_foundation,
             worked_clipping,
             worked_corrections,
             worked_offpolicy,
             worked_group_losses,
             worked_regularizers,
             worked_value,
             worked_baselines,
             worked_shaping,
             worked_credit,
             worked_shares,
             worked_rewards,
             worked_second_pass,
             worked_turns,
             worked_conversations,
             worked_trees,
         }) {
      for (const auto& [name, worked] : part()) {
        if (!all.emplace(name, worked).second)
          throw std::logic_error(name + " is worked by hand twice");
      }
    }
    return all;
  }();
  return numbers;
}

}  // namespace rollcall::objective::test
