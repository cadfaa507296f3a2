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
  };
  // clang-format on
  return table;
}

}  // namespace rollcall::scheduling
