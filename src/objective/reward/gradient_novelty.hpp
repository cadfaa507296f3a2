// Reward gradient_novelty: an answer gains more the less it would change the policy in the
// directions of its group's other answers.
//   r = +-1 by the verdict; S_ij the cosine between the gradients of two answers with respect to
//   the states that the head reads; w_ij = exp(r_j) / sum_{k != i} exp(r_k);
//   nu_i = max(1 - sum_{j != i} w_ij S_ij^2, 0); nubar_i = (nu_i - min_g nu) / (max_g nu - min_g
//   nu), 0 where they are equal
//   spared: r_i = r (1 + novelty_lambda r nubar_i);  punished: r_i = r (1 + novelty_lambda
//   nubar_i);  within +-novelty_limit
// Source: G2RL, arXiv:2512.15687. Its formula is `spared`, which equals r + lambda nubar; its text
//   punishes novel mistakes more, which is `punished`. lambda was not found in the sources at hand;
//   1 is this project's choice.
// Shapes: [B] column correct, column gradient_cosine -> [B].   Knobs: novelty_lambda,
//   novelty_limit, novel_mistakes, novelty_control.
// What differs from weight novelty: gradients are compared instead of likelihoods, and mistakes are
//   compared as well. Answers without tokens have no gradient; in a group with two answers both are
//   equally novel. Cosines are fp32, so scores that differ by less than 1e-6 count as equal.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rollcall::objective {

struct GradientNovelty {
  static constexpr std::string_view
      name = "gradient_novelty",
      formula =
          "r_i = r (1 + lambda r nubar_i), r = +-1, nubar_i by how unlike the group its gradient is";
  static constexpr std::uint64_t purpose = 0x6F2A;  // address of the control's random numbers
  enum class Mistakes { spared, punished };
  enum class Control { none, shuffled };
  double lambda = 1.0, limit = 3.0;
  Mistakes mistakes = Mistakes::spared;
  Control control = Control::none;

  void bind(Knobs& knobs) {
    knobs.number("novelty_lambda", lambda, {0.0, 1e6},
                 "reward gained by the group's most novel answer");
    knobs.number("novelty_limit", limit, {1.0, 1e6}, "largest absolute reward");
    knobs.choice("novel_mistakes", mistakes, {"spared", "punished"},
                 "whether a wrong answer gains or loses by its novelty");
    knobs.choice("novelty_control", control, {"none", "shuffled"},
                 "shuffled, a control: answers take the gradients of others of their group");
    knobs.needs.column(column::correct);
    knobs.needs.column(column::gradient_cosine);
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor verdict =
                         at::where(step.named(column::correct) > 0, 1.0, -1.0).to(at::kDouble),
                     novel = at::zeros_like(verdict);
    const at::Tensor drawn = step.uniform_rollouts(purpose);
    const auto r = verdict.accessor<double, 1>(), length = step.shape.length.accessor<double, 1>(),
               draw = drawn.accessor<double, 1>();
    // points to the present group's matrix, and moves on at the end of the loop
    const double* cosines = step.named(column::gradient_cosine).const_data_ptr<double>();
    auto out = novel.accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      const std::int64_t n = begin[g + 1] - begin[g];
      std::vector<std::int64_t> own;
      for (auto i = begin[g]; i < begin[g + 1]; ++i)
        if (length[i] > 0) own.push_back(i);
      auto taken = own;  // the answers whose gradients are used
      if (control == Control::shuffled)
        std::sort(taken.begin(), taken.end(), [&](auto i, auto j) { return draw[i] < draw[j]; });
      std::vector<double> signs, squares;
      for (std::size_t i = 0; i < own.size(); ++i) {
        signs.push_back(r[own[i]]);
        for (const auto j : taken)
          squares.push_back(std::pow(cosines[(taken[i] - begin[g]) * n + j - begin[g]], 2));
      }
      const auto nu = scores(signs, squares);
      const auto [least, most] = std::minmax_element(nu.begin(), nu.end());
      for (std::size_t i = 0; i < own.size(); ++i)
        out[own[i]] = *most - *least < 1e-6 ? 0.0 : (nu[i] - *least) / (*most - *least);
      cosines += n * n;
    }
    const at::Tensor gain = lambda * (mistakes == Mistakes::spared ? novel : verdict * novel);
    return {(verdict + gain).clamp(-limit, limit), {}, {}};
  }

  /// [n] nu of the answers, from r [n] and S^2 [n, n]; 1 for a single answer.
  static std::vector<double> scores(const std::vector<double>& r,
                                    const std::vector<double>& squares) {
    std::vector<double> nu;
    for (std::size_t i = 0; i < r.size(); ++i) {
      double weight = 0.0, alike = 0.0;
      for (std::size_t j = 0; j < r.size(); ++j) {
        if (j != i) weight += std::exp(r[j]), alike += std::exp(r[j]) * squares[i * r.size() + j];
      }
      nu.push_back(weight > 0 ? std::max(1.0 - alike / weight, 0.0) : 1.0);
    }
    return nu;
  }
};

}  // namespace rollcall::objective
