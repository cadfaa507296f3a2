// Exceptions of the rows that choose another baseline or spread.
#include "exceptions.hpp"

namespace rollcall::objective::test {

std::vector<Exception> excused_baselines() {
  const std::string lone =
      "a lone rollout's plain reward moves the step's mean, from which all advantages are measured";
  const std::string prior =
      "the baseline is not the group's mean, so equal rewards above or below it still teach";
  return {
      {"recipe reinforce_plus_plus_baseline", "equal_rewards", lone},
      {"advantage decoupled_norm", "equal_rewards", lone},
      {"advantage group_whiten", "equal_rewards", lone},
      {"advantage batch_whiten", "equal_group",
       "its baseline is the mean of the step, above or below which a whole group may lie"},
      {"recipe cgpo-mixture-of-judges", "equal_group",
       "its baseline is the mean of the step, above or below which a whole group may lie"},
      {"advantage consistency_blend", "equal_group",
       "a group that agrees is measured against the other groups: what the method is for"},
      {"recipe gppo-klear", "equal_rewards",
       "of a group with one finished answer, that answer keeps its plain reward, as in the released code"},
      {"recipe mssr", "equal_rewards", prior},
      {"recipe spo-single-stream", "equal_rewards", prior},
      {"recipe a-lol", "equal_rewards", prior},
      {"recipe remax", "equal_rewards", prior},
      {"advantage running_baseline", "equal_rewards", prior},
      {"advantage prior_shrinkage", "equal_rewards", prior},
      {"advantage outcome_weights", "equal_rewards",
       "there is no baseline: every failure is pushed down and every success up"},
      {"advantage paired_outcomes", "equal_group",
       "outcomes are pooled over the step, so a group that is all right or all wrong is measured against the others"},
      {"advantage virtual_best", "equal_rewards",
       "an all-wrong group is measured against a virtual success: what the method is for"},
      {"advantage bundle_risk", "equal_rewards",
       "a risk measure of the bundle's score is not centred within a group"},
      {"advantage best_of_group", "equal_rewards",
       "a group that is always right is learned from: maximum likelihood has no baseline"},
      {"advantage optimal_token_baseline", "equal_rewards",
       "where one rollout of the group is left there is nothing to compare with, and the reward stays"},
      {"advantage hybrid_modes", "equal_rewards",
       "at equal rewards the margin decides which mode wins"},
      {"recipe lhrm-hgpo", "trust_region",
       "its interval reaches down to 1 - 0.5, and the property probes at exp(-0.5) = 0.61, which lies inside"},
  };
}

}  // namespace rollcall::objective::test
