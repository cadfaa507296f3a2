// Exceptions of the rows made for rollouts of older policies.
#include "exceptions.hpp"

namespace rollcall::objective::test {

std::vector<Exception> excused_offpolicy() {
  return {
      {"advantage fixed_baseline", "equal_rewards",
       "its baseline is a constant: equal rewards above or below it still teach, as on a store of single rollouts"},
      {"recipe rec_ring", "trust_region",
       "between its two ranges nothing is trained, not even tokens that their advantage would pull back"},
      {"surrogate minirl", "numerical_derivative", "its weight is a frozen function of the policy"},
  };
}

}  // namespace rollcall::objective::test
