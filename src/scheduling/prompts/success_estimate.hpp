// Estimates how likely a prompt is to be answered correctly: a fading Beta estimate for each level,
// refined by the prompt's own results.
#pragma once

#include "core/plan.hpp"
#include "scheduling/prompts/prompt_map.hpp"
#include "scheduling/prompts/prompt_rows.hpp"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace rollcall::scheduling {

/// All counts are pseudo-counts of rollouts. The policy changes while it learns, so every count
/// fades with the steps. As its counts fade, a prompt's estimate returns to that of its level, and
/// a level's estimate returns to the prior.
struct EstimateKnobs {
  double prior_success = 0.5;   ///< before any result; the success rate with the largest variance,
                                ///< so that an unknown level gets rollouts
  double prior_strength = 4.0;  ///< rollouts that the prior is worth; one step of a level has tens
                                ///< of rollouts and outweighs it
  double level_decay = 0.9;     ///< share kept per step: a memory of about 10 steps, long compared
                                ///< with the noise of a step, short compared with training
                                ///< (hundreds of steps)
  double prompt_decay = 0.99;   ///< share kept per step; a prompt is seen once per epoch (hundreds
                                ///< of steps), so it must fade more slowly than its level
  double level_strength = 8.0;  ///< rollouts that the level's estimate is worth against the
                                ///< prompt's own results; about one group
};

class SuccessEstimate {
 public:
  explicit SuccessEstimate(const EstimateKnobs& knobs) : knobs_(&knobs) {}
  /// Posterior mean of the success rate at `step`; strictly between 0 and 1 if the prior is. A
  /// prediction takes the place of the level's estimate.
  double success(std::uint64_t step, PromptId prompt, std::int32_t level,
                 std::optional<double> predicted = {}) const;
  void learn(const std::vector<GroupReport>& reports);
  nlohmann::json save() const;  ///< levels and prompts
  nlohmann::json save_levels() const;
  std::vector<SuccessRow> rows() const;  ///< of all prompts with results
  /// Rows of those prompts in the list that have results.
  std::vector<SuccessRow> rows(const std::vector<std::uint32_t>& prompts) const;
  void load(const nlohmann::json& levels, const std::vector<SuccessRow>& prompts);
  void expect(std::uint64_t prompts) { prompt_.expect(prompts); }
  void prefetch(PromptId prompt) const { prompt_.prefetch(prompt.value); }
  void renumber(const PromptMap& map);  ///< forgets the prompts that are gone

 private:
  struct Counts {
    double right = 0.0, wrong = 0.0;
    std::uint64_t step = 0;  // step of the last result, up to which the counts are faded
  };
  /// Counts by prompt id: an array of 20 bytes per prompt (2 GB for 10^8 prompts), without a
  /// search.
  class PromptCounts {
   public:
    void expect(std::uint64_t prompts);  ///< allocates for this number of prompts, so that learning
                                         ///< does not
    bool find(std::uint64_t prompt, Counts& counts) const;
    void set(std::uint64_t prompt, const Counts& counts);
    void clear();
    void prefetch(std::uint64_t prompt) const {
      __builtin_prefetch(&counts_[prompt], 1), __builtin_prefetch(&step_[prompt], 1);
    }
    template <class Act>
    void each(Act act) const;  ///< calls act(prompt, counts) for prompts with results, ascending

   private:
    static constexpr std::uint32_t kNever = 0xFFFFFFFF;
    std::vector<std::array<double, 2>> counts_;  // [prompts] right, wrong
    std::vector<std::uint32_t> step_;            // [prompts] step of the latest result; kNever:
                                                 // none
  };
  static Counts faded(const Counts& counts, double decay, std::uint64_t step);
  const EstimateKnobs* knobs_;
  std::map<std::int32_t, Counts> level_;  // saved state
  PromptCounts prompt_;                   // saved state
};

}  // namespace rollcall::scheduling
