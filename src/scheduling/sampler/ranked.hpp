// Samplers that score all prompts and take those with the largest scores, or draw without
// replacement with chances proportional to exp(score).
#pragma once

#include "scheduling/piece.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// Gives each sampler its own random numbers. The epochs of the uniform sampler use 0.
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

/// Up to `wanted` distinct prompts outside `held`, or fewer when none are left. Equal scores come
/// in random order, and prompts with the score -infinity are taken only when no others are left.
/// Draws by chance use Gumbel keys that are addressed by (step, prompt), so a second call within
/// the step, with the first draws as `held`, continues where the first call stopped (Kool et al.
/// 2019, arXiv:1903.06059). The stated probability is the prompt's chance among those that were
/// left when it was drawn.
std::vector<PromptDraw> take(const Knowledge& knowledge, std::uint64_t step, std::size_t wanted,
                             const std::vector<PromptId>& held, const std::vector<double>& score,
                             By by);

/// Adds whole passes over all prompts in random order until there are `wanted` draws, for steps
/// that want more prompts than there are.
void repeat(const Knowledge& knowledge, std::uint64_t step, std::size_t wanted,
            std::vector<PromptDraw>& draws);

/// The prompts of `held` and of `draws` together, ascending.
std::vector<PromptId> with(const std::vector<PromptId>& held, const std::vector<PromptDraw>& draws);

class RankedSampler : public Sampler {
 public:
  std::vector<PromptDraw> choose(const StepRequest& request,
                                 const std::vector<PromptId>& held) final;

 protected:
  explicit RankedSampler(const Knowledge& knowledge) : knowledge_(&knowledge) {}
  virtual std::vector<double> scores(const StepRequest& request) = 0;  ///< [prompts] the score of
                                                                       ///< each
  virtual By by() const { return By::score; }
  const Knowledge& knowledge() const { return *knowledge_; }

 private:
  const Knowledge* knowledge_;
};

}  // namespace rollcall::scheduling
