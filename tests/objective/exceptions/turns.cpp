// Exceptions of the rows that compare turns.
#include "exceptions.hpp"

namespace rollcall::objective::test {

std::vector<Exception> excused_turns() {
  return {
      {"recipe mapo-dialogue", "equal_group",
       "half of its advantage is measured against the turns of the whole step, above or below which a whole group may lie"},
      {"reward coverage", "equal_rewards",
       "the verifier's rewards are not read: visited states differ where they are equal"},
      {"recipe datamind", "policy_gradient",
       "own rollouts have the share of the loss that the likelihood of solutions leaves, a tenth of it at first"},
  };
}

}  // namespace rollcall::objective::test
