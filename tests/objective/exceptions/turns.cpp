// Exceptions of the rows that compare turns.
#include "exceptions.hpp"

namespace rollcall::objective::test {

std::vector<Exception> excused_turns() {
  return {
      {"recipe mapo-dialogue", "equal_group",
       "half of its advantage is measured against the turns of the whole step, above or below which a whole group may lie"},
  };
}

}  // namespace rollcall::objective::test
