// The table of recipes: one paper, one row. METHODS.md has the same rows for people; scripts/check_methods compares the two.
#include "objective/recipes.hpp"

namespace rollcall::objective {

const std::vector<Recipe>& recipes() {
  // clang-format off
  static const std::vector<Recipe> table = {
    // name, title, paper, year,
    //   {reward, advantage, ratio, surrogate, weight, aggregate, regularizer}, {settings that depart from the pieces' defaults}
    {"grpo", "Group Relative Policy Optimization (DeepSeekMath)", "arXiv:2402.03300", 2024,
      {"none", "group_norm", "token", "clip", "none", "seq-mean-token-mean", "none"}, {}},
    {"dr_grpo", "Understanding R1-Zero-Like Training: GRPO done right", "arXiv:2503.20783", 2025,
      {"none", "group_center", "token", "clip", "none", "seq-mean-token-sum-norm", "none"}, {}},
    {"dapo", "Decoupled Clip and Dynamic Sampling Policy Optimization", "arXiv:2503.14476", 2025,
      {"none", "group_norm", "token", "clip", "none", "token-mean", "none"}, {{"clip_high", "0.28"}}},
    {"rloo", "Back to Basics: REINFORCE Leave-One-Out", "arXiv:2402.14740", 2024,
      {"none", "leave_one_out", "token", "reinforce", "none", "seq-mean-token-sum", "none"}, {}},
    {"reinforce_plus_plus", "REINFORCE++: critic-free policy optimization with global normalization", "arXiv:2501.03262", 2025,
      {"none", "batch_whiten", "token", "clip", "none", "token-mean", "none"}, {}},
  };
  // clang-format on
  return table;
}

}  // namespace rollcall::objective
