// A step's candidates as samplers see them: any sampler chooses among a few prompts, without
// knowing that there are others.
#pragma once

#include "scheduling/piece.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// Passes a request on as it is when it names no candidates. Otherwise all other prompts count as
/// held by the step, which a sampler does not draw while there are others; and where no more
/// candidates are left than are wanted, those are the choice, ascending, each once, and the sampler
/// is not asked.
class CandidateSampler final : public Sampler {
 public:
  CandidateSampler(Sampler& sampler, std::uint64_t prompts)
      : sampler_(&sampler), prompts_(prompts) {}
  std::vector<PromptDraw> choose(const StepRequest& request,
                                 const std::vector<PromptId>& held) override;

 private:
  Sampler* sampler_;
  std::uint64_t prompts_;  // in the table
};

}  // namespace rollcall::scheduling
