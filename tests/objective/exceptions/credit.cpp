// Exceptions of the pieces that charge or weigh single tokens.
#include "exceptions.hpp"

namespace rollcall::objective::test {

std::vector<Exception> excused_credit() {
  return {
      {"advantage entropy_charged", "equal_rewards",
       "undecided rollouts are charged for their entropy whatever the rewards"},
      {"advantage step_potential", "equal_rewards",
       "what a reasoning step gained counts whatever the rewards"},
  };
}

}  // namespace rollcall::objective::test
