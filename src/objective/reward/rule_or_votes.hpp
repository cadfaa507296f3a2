// Reward rule_or_votes: an answer is right if the rule or most judgements accept it.
//   r_i = max(correct_i, [component/votes > 1/2]);  component/votes: the share of judgements that
//   say yes
// Source: SPELL, arXiv:2509.23863 (the responder's reward: cover match or the majority of G
//   judgements).
// Shapes: [B] columns correct, component/votes -> [B].   Knobs: none.
// What differs: it replaces the reward. A right answer in other words than the reference still
//   counts. A tie of votes counts as no.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct RuleOrVotes {
  static constexpr std::string_view name = "rule_or_votes",
                                    formula =
                                        "r_i = 1 where correct or component/votes > 1/2, else 0";
  static constexpr const char* votes_column = "component/votes";

  void bind(Knobs& knobs) {
    knobs.needs.column(column::correct);
    knobs.needs.column(votes_column);
  }

  ShapedReward operator()(const Step& step) const {
    return {(step.named(column::correct) > 0)
                .logical_or(step.named(votes_column) > 0.5)
                .to(at::kDouble),
            {},
            {}};
  }
};

}  // namespace rollcall::objective
