// AdamW on parameters with gains that spread to neighbouring skills.
#include "scheduling/trace/learner.hpp"

#include "base/numbers/random.hpp"

#include <cmath>

namespace rollcall::scheduling {
namespace {

constexpr double kToNextLevel = 0.3, kToDomains = 0.1;  // share of a gain that reaches a
                                                        // neighbouring level, the same level of
                                                        // another domain
// Kingma and Ba 2015, and every library since
constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kAdamEpsilon = 1e-8;

/// The product M x, where M is its own transpose.
Skills transferred(const Skills& x) {
  Skills y{};
  for (std::int32_t d = 0; d < kSkillDomains; ++d) {
    for (std::int32_t l = 0; l < kSkillLevels; ++l) {
      const auto at = [&](std::int32_t domain, std::int32_t level) {
        return x[std::size_t(domain * kSkillLevels + level)];
      };
      double& sum = y[std::size_t(d * kSkillLevels + l)];
      sum = at(d, l);
      if (l > 0) sum += kToNextLevel * at(d, l - 1);
      if (l + 1 < kSkillLevels) sum += kToNextLevel * at(d, l + 1);
      for (std::int32_t other = 0; other < kSkillDomains; ++other)
        sum += other == d ? 0.0 : kToDomains * at(other, l);
    }
  }
  return y;
}

}  // namespace

double Learner::pass_probability(double difficulty, std::size_t cell) const {
  return 1.0 / (1.0 + std::exp(difficulty - skill_[cell]));
}

void Learner::step(const StepGradient& gradient) {
  const Skills signal = transferred(gradient.signal);
  const RandomStream xi(seed_, RandomPurpose::objective, ++steps_);
  const double deviation = noise_ * std::sqrt(gradient.squares);
  const double correct1 = 1.0 - std::pow(kBeta1, double(steps_)),
               correct2 = 1.0 - std::pow(kBeta2, double(steps_));
  for (std::size_t k = 0; k < parameter_.size(); ++k) {
    const double g = signal[k] + deviation * xi.normal(k);
    first_[k] = kBeta1 * first_[k] + (1.0 - kBeta1) * g;
    second_[k] = kBeta2 * second_[k] + (1.0 - kBeta2) * g * g;
    parameter_[k] +=
        rate_ * (first_[k] / correct1) / (std::sqrt(second_[k] / correct2) + kAdamEpsilon);
  }
  skill_ = transferred(parameter_);
}

}  // namespace rollcall::scheduling
