// Restricts any sampler to a step's candidates, without the sampler knowing about them.
#pragma once

#include "scheduling/piece.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// Passes a request without candidates to the sampler as it is. Otherwise it marks all other
/// prompts as held by the step, because a sampler does not draw held prompts while others are left.
/// If the step wants at least the number of candidates that are left, all of them are chosen, once
/// each in ascending order, and the sampler is not called.
class CandidateSampler final : public Sampler {
 public:
  CandidateSampler(Sampler& sampler, std::uint64_t prompts)
      : sampler_(&sampler), prompts_(prompts) {}
  std::vector<PromptDraw> choose(const StepRequest& request,
                                 const std::vector<PromptId>& held) override;

 private:
  Sampler* sampler_;
  std::uint64_t prompts_;  // number of prompts in the table
};

}  // namespace rollcall::scheduling
