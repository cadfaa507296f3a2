// The sampler `uniform`: every prompt once per epoch in an addressed random order, without a list
// of the prompts in memory.
#pragma once

#include "scheduling/piece.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

namespace rollcall::scheduling {

/// A step that ends one epoch and begins the next skips prompts that it already holds. They are
/// deferred to the next step of their epoch. So a prompt repeats within a step only when the step
/// wants more prompts than there are. Each whole pass over the prompts then has its own draw
/// number. Steps with candidates have their own epochs: a candidate that was drawn is not drawn
/// again until all other candidates have had their turn. Such steps do not move the position.
class UniformSampler final : public Sampler {
 public:
  bool needs_more_prompts() const override { return false; }
  UniformSampler(std::uint64_t population, std::uint64_t seed)
      : population_(population), seed_(seed) {}
  std::vector<PromptDraw> choose(const StepRequest& request,
                                 const std::vector<PromptId>& held) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  std::uint64_t epoch() const { return epoch_; }
  /// Begins the next epoch, because the saved position belongs to other prompts.
  bool load_changed(const nlohmann::json& state, const PromptMap& map) override;

 private:
  std::vector<PromptDraw> among(const StepRequest& request, const std::vector<PromptId>& held);
  /// The next `prompts` of the order, distinct and outside `held`.
  std::vector<std::uint64_t> pass(std::uint64_t prompts, const std::vector<PromptId>& held);
  std::uint64_t population_, seed_;
  std::uint64_t epoch_ = 0, cursor_ = 0;  // saved state: the next position of the epoch's order
  std::vector<std::uint64_t> deferred_;  // saved state: prompts of this epoch that were passed over
  std::uint64_t candidate_epoch_ = 0;    // saved state: epoch of steps with candidates
  std::set<std::uint64_t> passed_;       // saved state: prompts that were drawn in that epoch
};

}  // namespace rollcall::scheduling
