// Takes right and wrong rollouts by quota.
#include "scheduling/selection/balanced_keep.hpp"

#include "scheduling/prompts/outcomes.hpp"

namespace rollcall::scheduling {

std::vector<GroupTraining> BalancedKeepSelection::select(const StepRequest&,
                                                         const std::vector<GroupReport>& reports) {
  std::vector<GroupTraining> groups;
  for (const GroupReport& report : reports) {
    const auto n = std::int64_t(report.correct.size()), passed = std::int64_t(right(report)),
               failed = n - passed;
    if (n <= keep_) continue;
    std::int64_t want_right = std::min(keep_ / 2, passed),
                 want_wrong = std::min(keep_ - want_right, failed);
    want_right = std::min(keep_ - want_wrong, passed);
    GroupTraining group{.id = report.id, .weight = 1.0, .keep = {}};
    for (const std::uint8_t c : report.correct) {
      std::int64_t& wanted = c != 0 ? want_right : want_wrong;
      group.keep.push_back(wanted > 0);
      wanted -= wanted > 0;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace rollcall::scheduling
