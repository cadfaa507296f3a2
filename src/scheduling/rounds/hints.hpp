// The rounds `hints` (GHPO, Scaf-GRPO, ADHint): prompts that the policy fails at are asked again
// with help in their text.
#pragma once

#include "scheduling/piece.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::scheduling {

/// A group with help is a further draw of its parent's prompt, with a tier of help from 1 to
/// hint_tiers (GroupPlan::from). Its samples have their own numbers, so that it can train in its
/// parent's group. Prompts that have fewer tiers (PromptTable::tiers) get only those.
///
/// hint_by dead (arXiv:2507.10628, 2510.19807): round j asks tier j of every group of the task that
/// has a verdict and no correct rollout, unless one of its tiers below j has a correct one. A tier
/// without any verdict failed. A step draws sum_j (dead groups of round j) * hint_rollouts further
/// rollouts. If hint_rollouts is 0, each group with help has the size of its parent.
///
/// hint_by difficulty (arXiv:2512.13095): floor(hint_share * budget) rollouts are held back, as
/// long as each group keeps min_rollouts. One further round distributes them over the groups with d
/// = 1 - success > 0 in proportion to d, at most max_rollouts each, with tier ceil(d * hint_tiers).
/// Any that are left over continue the groups of the first round, one rollout each in their order.
class HintRounds final : public Rounds {
 public:
  explicit HintRounds(const Knowledge& knowledge) : knowledge_(&knowledge) {}
  void bind(ConfigSchema& knobs) override;
  StepRequest first(const StepRequest& request) const override;
  bool looks() const override { return true; }
  std::int64_t most_rounds() const override { return by_ == "difficulty" ? 2 : 1 + tiers_; }
  std::int64_t tiers() const override { return tiers_; }
  /// Throws ConfigError if a prompt would be drawn more often in the step than samples can be
  /// numbered.
  Decision next(const StepRequest& request, std::uint32_t round,
                const std::vector<GroupReport>& pool, Sampler& sampler) override;
  bool exact_total() const override { return by_ == "difficulty"; }
  std::int64_t hard_cap(const StepRequest& request) const override;
  /// A shortage if nothing could be held back.
  std::optional<Shortage> shortage(const StepRequest& request) const override;

 private:
  class Draws;
  bool gives_help(std::uint64_t step) const;
  std::int64_t kept_back(const StepRequest& request) const;
  std::int64_t tiers_of(PromptId prompt) const;
  GroupPlan with_help(const GroupReport& parent, std::int64_t tier, std::int64_t rollouts,
                      Draws& draws) const;
  std::vector<GroupPlan> ask_dead(std::int64_t tier, const std::vector<GroupReport>& pool) const;
  std::vector<GroupPlan> ask_difficult(const StepRequest& request,
                                       const std::vector<GroupReport>& pool) const;

  const Knowledge* knowledge_;
  std::int64_t tiers_ = 3;  // GHPO: 25, 50 and 75 % of the solution
  std::string by_ = "dead", placement_ = "replaces_parent";
  std::int64_t rollouts_ = 0, from_step_ = 0;
  double share_ = 0.25;  // this project's choice
};

}  // namespace rollcall::scheduling
