// Counts the groups that teach, and asks the sampler to fill the missing places.
#include "scheduling/rounds/refill.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

void RefillRounds::bind(ConfigSchema& s) {
  s.bind("refill_rounds", &rounds_, "rounds of a step at most, the first included", {1, 1000});
  s.bind("refill_margin", &margin_,
         "prompts asked for per prompt that is expected to be missing; 0: as many as are missing",
         {0, 100});
}

Decision RefillRounds::next(const StepRequest& request, std::uint32_t round,
                            const std::vector<GroupReport>& pool, Sampler& sampler) {
  std::vector<PromptId> held;
  std::int64_t usable = 0, spent = 0;
  for (const GroupReport& report : pool) {
    if (held.empty() || held.back() != report.id.prompt) held.push_back(report.id.prompt);
    usable += knowledge_->signals.teaches(report);
    spent += drawn(report);
  }
  const std::int64_t missing = request.prompts - usable, size = request.budget / request.prompts;
  if (missing <= 0 || std::int64_t(round) >= rounds_) return {};
  double wanted = double(missing);
  if (margin_ > 0)
    wanted =
        margin_ * double(missing) * double(pool.size()) / double(std::max<std::int64_t>(usable, 1));
  StepRequest more = request;
  more.prompts = std::int64_t(std::min(std::ceil(wanted), double(request.prompts)));
  more.prompts = std::min({more.prompts, std::int64_t(knowledge_->size() - held.size()),
                           (hard_cap(request) - spent) / size});
  if (more.prompts <= 0) return {};
  more.budget = more.prompts * size;
  Decision decision{.groups = {}, .last_round = std::int64_t(round) + 1 >= rounds_};
  for (const PromptDraw& draw : sampler.choose(more, held)) {
    decision.groups.push_back(
        {.id = {request.step, draw.prompt, draw.draw}, .count = std::uint32_t(size)});
    decision.probability.push_back(draw.probability);
  }
  if (std::any_of(decision.probability.begin(), decision.probability.end(),
                  [](double p) { return p < 0; }))
    decision.probability.clear();
  return decision;
}

}  // namespace rollcall::scheduling
