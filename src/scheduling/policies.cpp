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
    {"rollout_gdro", "Rollout-GDRO: a bandit a difficulty bin over rollout counts", "arXiv:2601.19280", 2026,
      {"", "uniform", "gdro", "single", "all"}, {}},
    {"gdro_both", "Prompt-GDRO and Rollout-GDRO together, which the paper leaves open", "arXiv:2601.19280", 2026,
      {"", "uniform", "gdro", "single", "gdro_reweight"}, {}},
    {"gdro_both_resample", "Both games together, prompts drawn instead of advantages scaled", "arXiv:2601.19280", 2026,
      {"", "gdro_resample", "gdro", "single", "all"}, {}},
    {"gdro_sqrt", "Square-root law of the variance proxy, per difficulty bin: the oracle of Rollout-GDRO", "arXiv:2601.19280", 2026,
      {"", "uniform", "bin_square_root", "single", "all"}, {}},
  };
  // clang-format on
  return table;
}

}  // namespace rollcall::scheduling
