// The cost of an objective does not grow with the number of rollouts but with that of tokens: every
// row dispatches as many tensor operations for 1,024 as for 64.
#include "evaluate_step.hpp"
#include "objective/recipes.hpp"

#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <atomic>

namespace rollcall::objective::test {
namespace {

std::atomic<int> dispatched{0};
std::unique_ptr<at::ObserverContext> count_one(const at::RecordFunction& /*operation*/) {
  ++dispatched;
  return nullptr;
}

/// A step in groups of four, and the whole of it as a micro-batch.
struct Size {
  explicit Size(std::size_t rollouts)
      : Size(random_step(std::vector<int>(rollouts / 4, 4), 1, 0.3)) {}
  explicit Size(const PlainStep& step)
      : columns(step.columns()), micro_batch(step.micro_batch(step.all())) {}
  StepColumns columns;
  MicroBatchColumns micro_batch;
};

/// Operations of `prepare` and of the derivative, the backward pass included.
int operations(const Objective& objective, const Size& size) {
  const auto counter = at::addGlobalCallback(
      at::RecordFunctionCallback(count_one).scopes({at::RecordScope::FUNCTION}));
  dispatched = 0;
  objective.evaluate(*objective.prepare(size.columns), size.micro_batch);
  at::removeCallback(counter);
  return dispatched;
}

TEST(Operations, DoNotGrowWithTheNumberOfRollouts) {
  const Size small(64), large(1024);
  for (const auto& name : recipe_names()) {
    const Objective objective(name);
    const int few = operations(objective, small);
    EXPECT_GT(few, 20) << name;
    EXPECT_EQ(operations(objective, large), few) << name;
  }
}

}  // namespace
}  // namespace rollcall::objective::test
