// Reward answer_share: instead of a verifier's reward, an answer earns the share of the group that
// gave it, minus the group's disagreement.
//   r_i = p(a_i) - share_entropy H(p) / ln M;  p the answers' shares in the group, M the number of
//   different answers; one answer: H = 0
// Source: TTRV, arXiv:2510.06783, and its released reward (0.75 of the normalised entropy).
// Shapes: column answer [B] -> [B].   Knobs: share_entropy.
// What differs: the verifier's reward is not read, so it trains on prompts without a solution. The
//   entropy is one number per group. A baseline of the group cancels it, so it counts only across
//   groups. If the majority is wrong, it trains towards a wrong answer, which component `correct`
//   shows.
#pragma once

#include "objective/answers.hpp"

#include <cmath>

namespace rollcall::objective {

struct AnswerShare {
  static constexpr std::string_view
      name = "answer_share",
      formula = "r_i = p(a_i) - share_entropy H(p) / ln M, p the shares of the group's answers";
  double entropy = 0.75;

  void bind(Knobs& knobs) {
    knobs.number("share_entropy", entropy, {0.0, 1e6},
                 "weight of the group's entropy over answers, as a share of the largest");
    knobs.needs.column(column::answer);
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor reward = at::empty({step.shape.rollouts}, at::kDouble);
    const auto answer = step.named(column::answer).accessor<double, 1>();
    auto out = reward.accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    const auto given = votes(step);
    for (std::size_t g = 0; g < given.size(); ++g) {
      const double n = double(begin[g + 1] - begin[g]);
      const double least = given[g].size() > 1 ? entropy * entropy_of(given[g], n) /
                                                     std::log(double(given[g].size()))
                                               : 0.0;
      for (auto i = begin[g]; i < begin[g + 1]; ++i) out[i] = given[g].at(answer[i]) / n - least;
    }
    return {reward, {}, {}};
  }
};

}  // namespace rollcall::objective
