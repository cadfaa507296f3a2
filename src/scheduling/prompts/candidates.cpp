// Passes all prompts that a step may not choose to the sampler as held.
#include "scheduling/prompts/candidates.hpp"

#include <algorithm>
#include <iterator>

namespace rollcall::scheduling {

std::vector<PromptDraw> CandidateSampler::choose(const StepRequest& request,
                                                 const std::vector<PromptId>& held) {
  if (request.candidates.empty()) return sampler_->choose(request, held);
  std::vector<PromptId> open;
  std::set_difference(request.candidates.begin(), request.candidates.end(), held.begin(),
                      held.end(), std::back_inserter(open));
  std::vector<PromptDraw> draws;
  if (std::int64_t(open.size()) <= request.prompts) {
    for (const PromptId prompt : open) draws.push_back({prompt});
    return draws;
  }
  std::vector<PromptId> closed;
  auto next = open.begin();
  for (std::uint64_t p = 0; p < prompts_; ++p) {
    if (next != open.end() && next->value == p) ++next;
    else closed.push_back({p});
  }
  return sampler_->choose(request, closed);
}

}  // namespace rollcall::scheduling
