// The table of scheduling policies: one paper, one row. METHODS.md has the same rows for people; scripts/check_policies compares the two.
#include "scheduling/policies.hpp"

namespace rollcall::scheduling {

const std::vector<PolicyRow>& policies() {
  // clang-format off
  static const std::vector<PolicyRow> table = {
    // name, title, paper, year,
    //   {row (empty), sampler, allocator, rounds, selection}, {settings that depart from the pieces' defaults}
    {"uniform", "Every prompt equally often, equal group sizes (GRPO, RLOO, ...)", "arXiv:2402.03300", 2024,
      {"", "uniform", "equal", "single", "all"}, {}},
    {"uniform_sqrt", "Square-root law of the variance proxy, per prompt", "arXiv:2601.19280", 2026,
      {"", "uniform", "square_root", "single", "all"}, {}},
    {"gdro_reweight", "Prompt-GDRO: advantages scaled by the weight of the prompt's difficulty bin", "arXiv:2601.19280", 2026,
      {"", "uniform", "equal", "single", "gdro_reweight"}, {}},
    {"gdro_resample", "Prompt-GDRO, by drawing prompts instead of scaling advantages", "arXiv:2601.19280", 2026,
      {"", "gdro_resample", "equal", "single", "all"}, {}},
    {"gdro_paper", "Prompt-GDRO as its paper states it: weighted by the surrogate loss", "arXiv:2601.19280", 2026,
      {"", "uniform", "equal", "single", "gdro_reweight"}, {{"signal", "surrogate_loss"}}},
    {"rollout_gdro", "Rollout-GDRO: rollout counts of all difficulty bins drawn together at the exact budget", "arXiv:2601.19280", 2026,
      {"", "uniform", "gdro", "single", "all"}, {}},
    {"gdro_paper_rollout", "Rollout-GDRO as its paper states it: an EXP3.P a bin, a shadow price", "arXiv:2601.19280", 2026,
      {"", "uniform", "gdro_paper", "single", "all"}, {{"arm_signal", "surrogate_loss"}}},
    {"gdro_both", "Prompt-GDRO and Rollout-GDRO together, which the paper leaves open", "arXiv:2601.19280", 2026,
      {"", "uniform", "gdro", "single", "gdro_reweight"}, {}},
    {"gdro_both_resample", "Both games together, prompts drawn instead of advantages scaled", "arXiv:2601.19280", 2026,
      {"", "gdro_resample", "gdro", "single", "all"}, {}},
    {"gdro_sqrt", "Square-root law of the variance proxy, per difficulty bin: the oracle of Rollout-GDRO", "arXiv:2601.19280", 2026,
      {"", "uniform", "bin_square_root", "single", "all"}, {}},

    // Which prompts.
    {"pcl", "Prompt Curriculum Learning: the nearest to success 1/2 in a random pool", "arXiv:2510.01135", 2025,
      {"", "target_difficulty", "equal", "single", "all"}, {{"pool_factor", "4"}}},
    {"dots_rr", "DOTS: drawn by the distance of the predicted success from 1/2", "arXiv:2506.05316", 2025,
      {"", "target_difficulty", "equal", "single", "all"}, {{"target_temperature", "0.001"}}},
    {"vade", "VADE: Thompson draws of the outcome variance, per prompt", "arXiv:2511.18902", 2025,
      {"", "thompson_variance", "equal", "single", "all"}, {}},
    {"spo", "Single-stream Policy Optimization: prompts by tracked deviation", "arXiv:2509.13232", 2025,
      {"", "tracked_deviation", "equal", "single", "all"}, {}},
    {"mmr1", "MMR1: variance-aware sampling, half by score and half shuffled", "arXiv:2509.21268", 2025,
      {"", "variance_mix", "equal", "single", "all"}, {}},
    {"sec", "Self-Evolving Curriculum: a softmax bandit over categories", "arXiv:2505.14970", 2025,
      {"", "bandit_softmax", "equal", "single", "all"}, {}},
    {"epsilon_greedy", "Epsilon-greedy bandit over difficulty bins", "Sutton and Barto", 2018,
      {"", "bandit_epsilon", "equal", "single", "all"}, {}},
    {"ucb", "Discounted UCB bandit over difficulty bins", "arXiv:0805.3415", 2008,
      {"", "bandit_ucb", "equal", "single", "all"}, {}},
    {"thompson", "Discounted Thompson sampling over difficulty bins", "arXiv:1111.1797", 2012,
      {"", "bandit_thompson", "equal", "single", "all"}, {}},
    {"rmt", "Reinforcement mid-training: from easy to hard levels by schedule", "arXiv:2509.24375", 2025,
      {"", "tier_schedule", "equal", "single", "all"}, {}},
    {"apriel_reasoner", "Apriel-Reasoner: domains keep their shares of what trains", "arXiv:2604.02007", 2026,
      {"", "domain_share", "equal", "single", "all"}, {}},
    {"wgrpo", "Positive-negative pairing of hard and easy prompts", "arXiv:2602.03452", 2026,
      {"", "pairs", "equal", "single", "all"}, {}},
    {"one_shot", "One-shot RLVR: the prompt of largest historical variance", "arXiv:2504.20571", 2025,
      {"", "historical_deviation", "equal", "single", "all"}, {}},
    // Refill, skipping and filters.
    {"dapo", "DAPO dynamic sampling: filter groups, refill the step", "arXiv:2503.14476", 2025,
      {"", "uniform", "equal", "refill", "informative"}, {}},
    {"dler", "DLER: dynamic sampling until the batch is full", "arXiv:2510.15110", 2025,
      {"", "uniform", "equal", "refill", "informative"}, {}},
    {"greso", "GRESO: skip prompts that taught nothing, refill in adaptive batches", "arXiv:2506.02177", 2025,
      {"", "skip_uninformative", "equal", "refill", "informative"}, {{"refill_margin", "1.25"}}},
    {"scalerl", "ScaleRL: no positive resampling, zero-variance filter", "arXiv:2510.13786", 2025,
      {"", "skip_solved", "equal", "single", "informative"}, {}},
    {"brorl", "BroRL: few prompts with hundreds of rollouts, zero-variance filter", "arXiv:2510.01180", 2025,
      {"", "uniform", "equal", "single", "informative"}, {}},
    // How many rollouts.
    {"knapsack", "Knapsack-RL: largest summed value under the exact budget", "arXiv:2509.25849", 2025,
      {"", "uniform", "knapsack", "single", "all"}, {}},
    {"v0", "V_0: budget by the value model's predicted success", "arXiv:2602.03584", 2026,
      {"", "uniform", "square_root", "single", "all"}, {{"prior_required", "true"}}},
    {"v0_5", "V_0.5: rollouts one by one where the prior is contradicted", "arXiv:2603.10848", 2026,
      {"", "uniform", "equal", "prior_test", "all"}, {{"prior_required", "true"}}},
    {"reinforce_ada", "Reinforce-Ada, balanced", "arXiv:2510.04996", 2025,
      {"", "uniform", "equal", "until_balanced", "balanced_keep"}, {}},
    {"reinforce_ada_positive", "Reinforce-Ada, positive-focused", "arXiv:2510.04996", 2025,
      {"", "uniform", "equal", "until_balanced", "balanced_keep"}, {{"ada_until", "positive"}}},
    {"dars_et", "DARS, equal treatment", "arXiv:2508.13755", 2025,
      {"", "uniform", "equal", "make_up", "informative"}, {}},
    {"dars_hw", "DARS, hardness-weighted", "arXiv:2508.13755", 2025,
      {"", "uniform", "equal", "make_up", "informative"}, {{"depth", "hardness"}, {"depth_limit", "64"}}},
    {"xrpo", "XRPO: phases that narrow the widest intervals", "arXiv:2510.06672", 2025,
      {"", "uniform", "equal", "widest_interval", "all"}, {}},
    // What trains.
    {"pods", "PODS: max-variance down-sampling of each group", "arXiv:2504.13818", 2025,
      {"", "uniform", "equal", "single", "max_variance"}, {}},
    {"d3s", "D3S: max-variance down-sampling of the step", "arXiv:2509.22115", 2025,
      {"", "uniform", "equal", "single", "extreme_advantages"}, {}},
    {"arrol", "ARRoL: pruning towards a balanced group", "arXiv:2603.24840", 2026,
      {"", "uniform", "equal", "single", "survivors"}, {}},
  };
  // clang-format on
  return table;
}

}  // namespace rollcall::scheduling
