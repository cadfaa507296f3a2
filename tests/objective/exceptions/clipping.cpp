// Exceptions of the rows that change how the ratio is bounded.
#include "exceptions.hpp"

namespace rollcall::objective::test {

std::vector<Exception> excused_clipping() {
  const std::string frozen =
      "its weight is a frozen function of the policy: the loss is a carrier of the derivative, not its antiderivative";
  const std::string weighted =
      "a bound limits a token's weight and leaves it a derivative, which is the method";
  const std::string rollout =
      "a rollout is bounded as a whole: its tokens keep or lose their derivative together";
  return {
      {"surrogate cispo", "trust_region", weighted},
      {"surrogate cispo", "numerical_derivative", frozen},
      {"surrogate cispo_upper", "trust_region", weighted},
      {"surrogate cispo_upper", "numerical_derivative", frozen},
      {"surrogate dispo", "trust_region", weighted},
      {"surrogate dispo", "numerical_derivative", frozen},
      {"surrogate gamma_weight", "trust_region",
       "the weight fades on both sides and never reaches 0"},
      {"surrogate gamma_weight", "numerical_derivative", frozen},
      {"surrogate gradient_preserving", "trust_region",
       "a bounded token keeps the derivative of its bound, which is the method"},
      {"surrogate gradient_preserving", "numerical_derivative",
       "beyond its bounds value and derivative are set apart by a stopped gradient"},
      {"surrogate flipped", "numerical_derivative", frozen},
      {"surrogate soft_gate", "trust_region", "the derivative fades on both sides and never stops"},
      {"surrogate hybrid", "trust_region",
       "a token bounded in one branch is still pushed by the other"},
      {"surrogate dynamic_clip", "trust_region",
       "its interval follows the token's probability: half a unit of log-ratio may be inside"},
      {"surrogate divergence_mask", "trust_region",
       "its interval is one of probability mass: half a unit of log-ratio may be inside"},
      {"surrogate divergence_mask", "numerical_derivative", frozen},
      {"surrogate unclipped", "trust_region",
       "it has no interval: something else keeps the policy near"},
      {"recipe clip_cov", "trust_region",
       "its widths of 1 leave ratios from 0 to 2 free, as in its scripts"},
      {"ratio sequence", "trust_region", rollout},
      {"ratio sequence_token", "trust_region", rollout},
      {"ratio prefix_min", "trust_region", "a token's bound depends on the tokens before it"},
      {"ratio prefix_min", "numerical_derivative", "the minimum over the prefix is frozen"},
  };
}

}  // namespace rollcall::objective::test
