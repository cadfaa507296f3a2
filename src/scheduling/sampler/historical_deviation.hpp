// The sampler `historical_deviation`: after a look at all prompts, the few whose accuracy varied
// most over the epochs, again and again.
#pragma once

#include "scheduling/sampler/uniform.hpp"

#include <map>

namespace rollcall::scheduling {

/// Until `rank_after` of the run the uniform order; then the `prompts_kept` prompts of largest
/// standard deviation of the group accuracies seen so far (arXiv:2504.20571), copied to fill the
/// step. The paper ranks in a separate run of 500 steps.
class HistoricalDeviationSampler final : public Sampler {
 public:
  explicit HistoricalDeviationSampler(Knowledge& knowledge)
      : knowledge_(&knowledge), order_(knowledge.size(), knowledge.seed()) {
    knowledge.use_outcomes();
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
  UniformSampler order_;                    // state
  std::map<std::uint64_t, Series> series_;  // state
  std::vector<std::uint64_t> ranked_;       // state: what was kept; empty before
};

}  // namespace rollcall::scheduling
