// Samplers that go through the uniform order and skip some prompts: `skip_uninformative` (GRESO)
// and `skip_solved` (ScaleRL).
#pragma once

#include "scheduling/sampler/uniform.hpp"

#include <map>

namespace rollcall::scheduling {

/// A skipped prompt has used its turn in this epoch. When every prompt has been offered and the
/// step is not full, the skipped prompts are taken in the order in which they were offered.
class SkippingSampler : public Sampler {
 public:
  std::vector<PromptDraw> choose(const StepRequest& request,
                                 const std::vector<PromptId>& held) final;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;

 protected:
  explicit SkippingSampler(const Knowledge& knowledge)
      : knowledge_(&knowledge), order_(knowledge.size(), knowledge.seed) {}
  virtual bool skips(std::uint64_t step, PromptId prompt) const = 0;
  const Knowledge& knowledge() const { return *knowledge_; }
  std::uint64_t epoch() const { return order_.epoch(); }

 private:
  const Knowledge* knowledge_;
  UniformSampler order_;  // saved state
};

/// Skips a prompt with the chance 1 - max(p^z, 0.01). z counts the prompt's latest consecutive
/// groups in which rewards did not differ. Such a group is easy if at least half of its rollouts
/// are right (p = p_easy), else hard (p = p_hard). After each step from the second epoch on, p_easy
/// falls by 0.01 when the share of easy such groups reaches a third of zero_variance_target, and
/// rises by 0.01 otherwise. p_hard changes in the same way, at two thirds. Both stay within 0.05 ..
/// 0.95 (arXiv:2506.02177 and its published code).
class SkipUninformativeSampler final : public SkippingSampler {
 public:
  explicit SkipUninformativeSampler(Knowledge& knowledge) : SkippingSampler(knowledge) {
    knowledge.signals.use_outcomes();
  }
  void bind(ConfigSchema& knobs) override;
  void learn(const std::vector<GroupReport>& reports) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  /// Metrics named greso/p_easy and greso/p_hard.
  std::vector<std::pair<std::string, double>> metrics() const override;
  bool hears_rewards() const override { return true; }
  double skip_chance(PromptId prompt) const;

 private:
  bool skips(std::uint64_t step, PromptId prompt) const override;
  double p_easy_ = 0.5, p_hard_ = 0.5;  // saved state; starts as in the published code
  double target_ = 0.25;                // zero_variance_target, as in the published code
  // saved state: z by prompt, positive for easy groups, negative for hard ones
  std::map<std::uint64_t, std::int32_t> in_a_row_;
};

/// No positive resampling: a prompt whose pass rate over the run is `solved_at` or more is not
/// drawn again while there are enough unsolved ones to fill the step (arXiv:2510.13786).
class SkipSolvedSampler final : public SkippingSampler {
 public:
  explicit SkipSolvedSampler(Knowledge& knowledge) : SkippingSampler(knowledge) {
    knowledge.signals.use_outcomes();
  }
  void bind(ConfigSchema& knobs) override;
  void learn(const std::vector<GroupReport>& reports) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;

 private:
  bool skips(std::uint64_t step, PromptId prompt) const override;
  double solved_at_ = 0.9;
  // saved state, by prompt: numbers of right rollouts and of all rollouts
  std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> seen_;
};

}  // namespace rollcall::scheduling
