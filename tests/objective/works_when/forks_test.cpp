// What tree_center promises of rollouts that share beginnings.
#include "objective/advantage/tree_center.hpp"
#include "plain/plain.hpp"
#include "works_when/small_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace rollcall::objective::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

PlainStep forked(PlainStep step, std::size_t fork, double parent, double token) {
  step.rollouts[fork].parent = parent, step.rollouts[fork].fork_token = token;
  return step;
}

/// A tree of two branchings with the leaves 1, 0, 0, 0: the first two share four tokens, the last
/// two as well, and all share two.
PlainStep binary_tree() {
  PlainStep step = answers({{0, 1.0, 6}, {0, 0.0, 6}, {0, 0.0, 6}, {0, 0.0, 6}});
  return forked(forked(forked(std::move(step), 1, 0, 4), 2, 0, 2), 3, 2, 4);
}

Column of_rollout(const PlainStep& step, const Column& all, std::size_t rollout) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < rollout; ++i) first += step.rollouts[i].length();
  const auto begin = all.begin() + std::ptrdiff_t(first);
  return {begin, begin + std::ptrdiff_t(step.rollouts[rollout].length())};
}

/// Values .25 | .5, 0 | 1, 0, 0, 0: the root is alone at its depth, half of .5 and half of 0 lie
/// .25 from their mean, and 1 lies .75 from that of the leaves. Spreads are .3536 and .5.
TEST(WorksWhen, branchgrpo_compares_stretches_of_one_depth) {
  const PlainStep step = binary_tree();
  TreeCenter each;
  each.shared = TreeCenter::Shared::each;
  const Column all = values(each(Step(step.columns())));
  const auto about = [](double x) { return DoubleNear(x, 1e-5); };
  const double first = 0.25 / std::sqrt(0.125);
  EXPECT_THAT(of_rollout(step, all, 0),
              ElementsAre(about(0), about(0), about(first), about(first), about(1.5), about(1.5)));
  EXPECT_THAT(of_rollout(step, all, 3), ElementsAre(about(0), about(0), about(-first),
                                                    about(-first), about(-0.5), about(-0.5)));
  // What n rollouts share trains as often as what one has alone.
  const Column once = values(TreeCenter()(Step(step.columns())));
  EXPECT_THAT(of_rollout(step, once, 0), ElementsAre(about(0), about(0), about(first / 2),
                                                     about(first / 2), about(1.5), about(1.5)));
}

TEST(WorksWhen, branchgrpo_sums_to_zero_at_each_depth) {
  const PlainStep step = binary_tree();
  const Column all = values(TreeCenter()(Step(step.columns())));
  for (const std::size_t token : {0U, 2U, 4U}) {
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) sum += of_rollout(step, all, i)[token];
    EXPECT_NEAR(sum, 0.0, 1e-12) << "token " << token;
  }
}

/// Without forks every rollout is a stretch, which group_norm compares.
TEST(WorksWhen, tree_center_is_group_norm_where_nothing_forked) {
  const PlainStep step = answers({{0, 1.0, 2}, {0, 0.0, 3}, {0, 0.5, 1}, {1, 1.0}, {1, 0.0}});
  EXPECT_THAT(values(TreeCenter()(Step(step.columns()))),
              Pointwise(testing::DoubleNear(1e-9), plain_advantage("group_norm", step)));
}

TEST(WorksWhen, tree_center_equals_its_plain_loops_over_trees) {
  std::mt19937 engine(5);
  const auto below = [&](std::size_t n) { return std::size_t(engine() % n); };
  for (int round = 0; round < 20; ++round) {
    std::vector<Answer> list;
    const std::size_t count = 3 + below(6);
    for (std::size_t i = 0; i < count; ++i)
      list.push_back({i < count / 3 ? 0 : 1, double(below(3)) / 2, 3 + below(4)});
    PlainStep step = answers(list);
    for (std::size_t i = 1; i < count; ++i) {
      const std::size_t parent = below(i);
      if (step.rollouts[parent].group != step.rollouts[i].group || below(4) == 0) continue;
      step.rollouts[i].parent = double(parent);
      step.rollouts[i].fork_token = double(1 + below(2));
    }
    for (const char* shared : {"once", "each"}) {
      step.knobs["tree_shared"] = shared;
      TreeCenter piece;
      if (std::string(shared) == "each") piece.shared = TreeCenter::Shared::each;
      EXPECT_THAT(values(piece(Step(step.columns()))),
                  Pointwise(testing::DoubleNear(1e-9), plain_advantage("tree_center", step)));
    }
  }
}

}  // namespace
}  // namespace rollcall::objective::test
