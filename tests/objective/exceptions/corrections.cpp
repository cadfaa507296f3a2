// Exceptions of the rows that correct for a sampler that is not the old policy.
#include "exceptions.hpp"

namespace rollcall::objective::test {

std::vector<Exception> excused_corrections() {
  return {
      {"ratio behaviour", "trust_region",
       "its interval lies around the policy that sampled, and the property moves tokens away from the old one"},
  };
}

}  // namespace rollcall::objective::test
