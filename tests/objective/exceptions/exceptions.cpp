// Puts the exceptions together.
#include "exceptions.hpp"

namespace rollcall::objective::test {

const std::vector<Exception>& exceptions() {
  static const std::vector<Exception> all = [] {
    std::vector<Exception> joined;
    for (const auto& part : {
             excused_foundation,
             excused_clipping,
             excused_corrections,
             excused_offpolicy,
             excused_group_losses,
             excused_value,
             excused_baselines,
             excused_shaping,
             excused_credit,
             excused_updates,
             excused_turns,
         }) {
      for (auto& exception : part()) joined.push_back(std::move(exception));
    }
    return joined;
  }();
  return all;
}

}  // namespace rollcall::objective::test
