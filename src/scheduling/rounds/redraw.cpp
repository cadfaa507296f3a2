// One round of further draws.
#include "scheduling/rounds/redraw.hpp"

#include "scheduling/prompts/outcomes.hpp"

namespace rollcall::scheduling {

Decision RedrawRounds::next(const StepRequest& request, std::uint32_t,
                            const std::vector<GroupReport>& pool, Sampler&) {
  const std::int64_t size = request.budget / request.prompts;
  std::vector<const GroupReport*> valuable;
  std::vector<std::int64_t> room;  // draws that a group may still get
  for (const GroupReport& report : pool) {
    if (informative(report)) valuable.push_back(&report);
  }
  std::int64_t missing = std::int64_t(pool.size() - valuable.size());
  const auto value = [](const GroupReport& report) {
    return success(report) * (1.0 - success(report));
  };
  std::stable_sort(valuable.begin(), valuable.end(),
                   [&](const auto* a, const auto* b) { return value(*a) > value(*b); });
  for (const auto* report : valuable)
    room.push_back(std::min(most_, (request.max_rollouts - drawn(*report)) / size));
  std::vector<std::int64_t> draws(valuable.size(), 0);
  for (bool given = true; missing > 0 && given;) {
    given = false;
    for (std::size_t i = 0; i < valuable.size() && missing > 0; ++i) {
      if (draws[i] < room[i]) ++draws[i], --missing, given = true;
    }
  }
  Decision decision;
  for (std::size_t i = 0; i < valuable.size(); ++i) {
    const auto have = std::uint32_t(drawn(*valuable[i]));
    if (draws[i] > 0)
      decision.groups.push_back({.id = valuable[i]->id,
                                 .level = valuable[i]->level,
                                 .first_sample = have,
                                 .count = std::uint32_t(draws[i] * size)});
  }
  return decision;
}

}  // namespace rollcall::scheduling
