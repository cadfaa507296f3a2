// Draws the arms of all bins jointly. The bins' weights are independent, but the draw is
// conditioned on the number of rollouts that all arms spend together.
#pragma once

#include "base/numbers/random.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// P(arms) ~ prod_b weight_b(arm_b), given that the total sum_b prompts_b count(arm_b) lies in
/// [budget - slack, budget + slack]. Exact, by forward filtering over bins x rollouts spent and
/// backward sampling (Chib 1996); marginals by forward-backward (Rabiner 1989). bins x arms x
/// rollouts operations.
class BudgetedArms {
 public:
  struct Bin {
    std::int64_t prompts = 0;      ///< the bin's prompts in the step, > 0; the next higher arm
                                   ///< costs this many more rollouts
    std::vector<double> weight{};  ///< [arms] >= 0, not normalised
  };
  /// Arm a of every bin is low + a rollouts per prompt. `most_slack`: the largest slack that
  /// condition() will be called with.
  BudgetedArms(std::vector<Bin> bins, std::int64_t low, std::int64_t budget,
               std::int64_t most_slack);
  /// The sum of the weights of all combinations with a total within `slack` of the budget. If all
  /// weights are 1, it is the number of such combinations.
  double mass(std::int64_t slack) const;
  /// Sets the slack of marginals() and draw(). It must be called before them, and mass(slack) must
  /// be positive.
  void condition(std::int64_t slack);
  /// [bins][arms] chance of each arm
  const std::vector<std::vector<double>>& marginals() const { return marginal_; }
  /// [bins] drawn arms. Random number `index` draws the total, `index` + 1 + b the arm of bin b;
  /// bins are drawn from the last to the first.
  std::vector<std::size_t> draw(const RandomStream& random, std::uint64_t index) const;

 private:
  std::size_t arms() const { return bins_.front().weight.size(); }
  std::vector<std::vector<double>> backward() const;
  std::vector<Bin> bins_;
  std::int64_t above_;  // budget minus the cost of the lowest arms, in rollouts
  std::int64_t slack_ = 0;
  // [bins + 1][s] Row b has the summed weight of all ways for the first b bins to spend s rollouts
  // more than their lowest arms cost. Each row is scaled by a power of two.
  std::vector<std::vector<double>> forward_;
  int exponent_ = 0;  // the last row is to be multiplied by 2^exponent_
  std::vector<std::vector<double>> marginal_;
};

}  // namespace rollcall::scheduling
