// A ten-line user of the installed libraries: a kernel, and a recipe with its tensors.
#include "kernels/kernel_set.hpp"
#include "objective/objective.hpp"

#include <cmath>
#include <cstdio>

int main() {
  rollcall::kernels::ExecutionContext context;
  const float x[] = {3, 4}, weight[] = {1, 1};
  float y[2];
  rollcall::kernels::selected_kernels().rms_norm(context, x, 1, 2, weight, 0, y);
  const bool right =
      std::abs(y[0] - 3 / std::sqrt(12.5F)) < 1e-6F && at::tensor({y[0], y[1]}).numel() == 2;
  std::puts(rollcall::objective::Objective("grpo").describe().c_str());
  return right ? 0 : 1;
}
