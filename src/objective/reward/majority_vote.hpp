// Reward majority_vote: instead of a verifier's verdict, the answer that most rollouts of the group
// give counts as right.
//   r_i = 1 where v(a_i) = max_b v(b) >= 2, else 0;  v(a) the number of the group's
//   rollouts with answer a
// Source: TTRL, arXiv:2504.16084, whose labels ETTRL, arXiv:2508.11356, keeps; SPELL,
//   arXiv:2509.23863, rewards its verifier role so. From summaries.
// Shapes: column answer [B] -> [B].   Knobs: none.
// What differs from answer_share: it is a label, 0 or 1. Answers that tie are all right, and a
//   group without two equal answers teaches nothing. Both are this project's choices. A rollout
//   without an answer neither votes nor earns, because otherwise giving no answer could win. If the
//   majority is wrong, it trains towards the wrong answer, which component `correct` shows.
#pragma once

#include "objective/answers.hpp"

#include <algorithm>

namespace rollcall::objective {

struct MajorityVote {
  static constexpr std::string_view
      name = "majority_vote",
      formula = "r_i = 1 where no answer of the group has more votes than a_i, and a_i two";

  void bind(Knobs& knobs) { knobs.needs.column(column::answer); }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor reward = at::zeros({step.shape.rollouts}, at::kDouble);
    const auto answer = step.named(column::answer).accessor<double, 1>();
    auto out = reward.accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    const auto given = votes(step);
    for (std::size_t g = 0; g < given.size(); ++g) {
      double most = 2.0;
      for (const auto& [a, count] : given[g]) most = std::max(most, a == kNoAnswer ? 0.0 : count);
      for (auto i = begin[g]; i < begin[g + 1]; ++i)
        out[i] = answer[i] != kNoAnswer && given[g].at(answer[i]) == most ? 1.0 : 0.0;
    }
    return {reward, {}, {}};
  }
};

}  // namespace rollcall::objective
