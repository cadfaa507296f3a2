// Exceptions of the methods whose advantages come from a value head or a teacher.
#include "exceptions.hpp"

namespace rollcall::objective::test {

std::vector<Exception> excused_value() {
  const std::string critic =
      "the baseline is the value head's and not the group's: equal rewards may all be better than expected";
  return {
      {"advantage gae", "equal_rewards", critic},
      {"advantage macro_gae", "equal_rewards", critic},
      {"advantage teacher_gap", "equal_rewards", "the teacher speaks, not the rewards"},
      {"recipe ppo_kl_penalty", "trust_region", "the penalty takes the place of the clipping"},
  };
}

}  // namespace rollcall::objective::test
