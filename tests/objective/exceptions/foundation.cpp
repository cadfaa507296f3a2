// Exceptions of the pieces that the common trainers share.
#include "exceptions.hpp"

namespace rollcall::objective::test {

std::vector<Exception> excused_foundation() {
  return {
      {"surrogate reinforce", "trust_region",
       "the plain policy gradient has no trust interval: it is meant for one update on its own samples"},
  };
}

}  // namespace rollcall::objective::test
