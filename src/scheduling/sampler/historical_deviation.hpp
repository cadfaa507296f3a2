// The sampler `historical_deviation`: first all prompts are drawn. After that, every step draws the
// few prompts that varied most in accuracy over the epochs.
#pragma once

#include "scheduling/sampler/uniform.hpp"

#include <map>

namespace rollcall::scheduling {

/// Prompts come in the uniform order until the share `rank_after` of the run is done. Then the
/// `prompts_kept` prompts with the largest standard deviation of their group accuracies so far
/// (arXiv:2504.20571) are repeated until the step is full. The paper ranks prompts in a separate
/// run of 500 steps.
class HistoricalDeviationSampler final : public Sampler {
 public:
  bool needs_more_prompts() const override { return false; }  // it draws copies
  explicit HistoricalDeviationSampler(Knowledge& knowledge)
      : knowledge_(&knowledge), order_(knowledge.size(), knowledge.seed) {
    knowledge.signals.use_outcomes();
  }
  void bind(ConfigSchema& knobs) override;
  std::vector<PromptDraw> choose(const StepRequest& request,
                                 const std::vector<PromptId>& held) override;
  void learn(const std::vector<GroupReport>& reports) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  std::vector<PromptId> ranking() const;  ///< prompts with results, largest deviation first, ties
                                          ///< by id

 private:
  struct Series {
    double count = 0.0, sum = 0.0, squares = 0.0;
  };
  const Knowledge* knowledge_;
  std::int64_t kept_ = 1;
  double rank_after_ = 0.5;
  UniformSampler order_;                    // saved state
  std::map<std::uint64_t, Series> series_;  // saved state
  std::vector<std::uint64_t> ranked_;  // saved state: the kept prompts; empty before the ranking
};

}  // namespace rollcall::scheduling
