// The learner of a simulation: 40 skills that AdamW moves along noisy policy gradients.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rollcall::scheduling {

constexpr std::int32_t kSkillDomains = 8, kSkillLevels = 5;
/// [cells] a cell is domain * kSkillLevels + level
using Skills = std::array<double, std::size_t(kSkillDomains* kSkillLevels)>;

/// Sums over a step's trained rollouts; w is the weight of a group, A an advantage, r a reward, p
/// the chance of success.
struct StepGradient {
  Skills signal{};       ///< [cells] sum of w A (r - p): the gradient w.r.t. the cell's skill
  double squares = 0.0;  ///< sum of (w A)^2, to which the variance of the noise is proportional
};

/// Skills are s = M theta. Each cell has a parameter theta, and M says how much a gain in one cell
/// is worth in the others. The gradient with respect to theta is M^T signal + noise sqrt(squares)
/// xi, where xi is standard normal in every coordinate. AdamW with its usual constants and no decay
/// takes a step along it, so the scale of a gradient does not matter.
class Learner {
 public:
  Learner(double rate, double noise, std::uint64_t seed)
      : rate_(rate), noise_(noise), seed_(seed) {}
  double skill(std::size_t cell) const { return skill_[cell]; }
  double pass_probability(double difficulty, std::size_t cell) const;
  void step(const StepGradient& gradient);

 private:
  double rate_, noise_;
  std::uint64_t seed_, steps_ = 0;
  Skills parameter_{}, first_{}, second_{}, skill_{};  // theta, moments of its gradient, M theta
};

}  // namespace rollcall::scheduling
