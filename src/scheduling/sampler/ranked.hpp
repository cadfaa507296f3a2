// Samplers that rank the prompts by a score: the largest first, or drawn without replacement with
// chances proportional to exp(score).
#pragma once

#include "scheduling/piece.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// Keeps the random numbers of the samplers apart; 0 belongs to the epochs of the uniform sampler.
enum class SamplerUse : std::uint64_t {
  rank = 11,
  repeat,
  arm,
  place,
  skip,
  pool,
  posterior,
  survive
};

enum class By { score, chance };

/// Up to `wanted` distinct prompts outside `held` (fewer when no more are left), equal scores in
/// random order; -infinity is taken only when nothing else is left. By chance: Gumbel keys
/// addressed by (step, prompt), so asking again within the step, with what was taken as `held`,
/// goes on where the first draw stopped (Kool et al. 2019, arXiv:1903.06059). The probability is
/// that of the prompt among those left when it was drawn.
std::vector<PromptDraw> take(const Knowledge& knowledge, std::uint64_t step, std::size_t wanted,
                             const std::vector<PromptId>& held, const std::vector<double>& score,
                             By by);

/// Whole passes over all prompts in random order until there are `wanted` draws: for steps that ask
/// for more prompts than there are.
void repeat(const Knowledge& knowledge, std::uint64_t step, std::size_t wanted,
            std::vector<PromptDraw>& draws);

/// `held` and the prompts of `draws`, ascending.
std::vector<PromptId> with(const std::vector<PromptId>& held, const std::vector<PromptDraw>& draws);

class RankedSampler : public Sampler {
 public:
  std::vector<PromptDraw> choose(const StepRequest& request,
                                 const std::vector<PromptId>& held) final;

 protected:
  explicit RankedSampler(const Knowledge& knowledge) : knowledge_(&knowledge) {}
  virtual std::vector<double> scores(const StepRequest& request) = 0;  ///< [prompts]
  virtual By by() const { return By::score; }
  const Knowledge& knowledge() const { return *knowledge_; }

 private:
  const Knowledge* knowledge_;
};

}  // namespace rollcall::scheduling
