// Weight drop_flagged: conversations with a turn of a bad kind are not trained on.
//   keep_it = 0 where a turn of rollout i has the flag drop_flag, else 1
// Source: SimpleTIR, arXiv:2509.02479 (void turns: neither a whole call nor an answer).
// Shapes: column turn/flags [K] -> [N].   Knobs: drop_flag.
// What differs from none: such rollouts leave loss, regularizers and denominators, regardless of
//   their rewards. Their rewards still count in the advantages of their group, which are computed
//   before.
#pragma once

#include "core/rollout.hpp"
#include "objective/pieces.hpp"

#include <array>

namespace rollcall::objective {

struct DropFlagged {
  static constexpr std::string_view name = "drop_flagged",
                                    formula = "keep_it = no turn of i has the flag drop_flag";
  enum class Flag { void_turn, invalid, error, repeated } flag = Flag::void_turn;

  void bind(Knobs& knobs) {
    knobs.choice("drop_flag", flag, {"void", "invalid", "error", "repeated"},
                 "turns that nothing is learnt from: neither call nor answer, not readable, a call "
                 "that failed, or one that the conversation had before");
    knobs.needs.column(column::turn_flags);
  }

  TokenWeight operator()(const Step& step) const {
    constexpr std::array kBits{turn_flag::void_turn, turn_flag::invalid, turn_flag::error,
                               turn_flag::repeated};
    const at::Tensor flagged =
        step.turns.numbers(step.named(column::turn_flags)).bitwise_and(kBits[std::size_t(flag)]) !=
        0;
    const at::Tensor bad = step.turns.rollout_sum(flagged.to(at::kDouble)) > 0;
    return {{}, step.shape.over_tokens(bad.logical_not().to(at::kDouble))};
  }
};

}  // namespace rollcall::objective
