// A step's candidates: nothing else is chosen, just enough of them are all chosen, and any sampler
// obeys.
#include "scheduling/prompts/candidates.hpp"
#include "base/text/json.hpp"
#include "scheduling/sampler/uniform.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

namespace rollcall::scheduling {
namespace {

/// Knows nothing of candidates: the first prompts that the step does not hold.
class FirstOpen final : public Sampler {
 public:
  std::vector<PromptDraw> choose(const StepRequest& request,
                                 const std::vector<PromptId>& held) override {
    std::vector<PromptDraw> draws;
    for (std::uint64_t p = 0; std::int64_t(draws.size()) < request.prompts; ++p) {
      if (!std::binary_search(held.begin(), held.end(), PromptId{p})) draws.push_back({{p}});
    }
    return draws;
  }
};

std::vector<std::uint64_t> chosen(Sampler& sampler, const StepRequest& request,
                                  const std::vector<PromptId>& held = {}) {
  std::vector<std::uint64_t> prompts;
  for (const PromptDraw& draw : CandidateSampler(sampler, 10).choose(request, held))
    prompts.push_back(draw.prompt.value);
  return prompts;
}

TEST(Candidates, AnySamplerChoosesAmongThem) {
  FirstOpen sampler;
  using Ids = std::vector<std::uint64_t>;
  EXPECT_EQ(chosen(sampler, {.prompts = 2}), (Ids{0, 1}));
  EXPECT_EQ(chosen(sampler, {.prompts = 2, .candidates = {{3}, {5}, {9}}}), (Ids{3, 5}));
  EXPECT_EQ(chosen(sampler, {.prompts = 1, .candidates = {{3}, {5}, {9}}}, {{3}}), (Ids{5}));
  EXPECT_EQ(chosen(sampler, {.prompts = 3, .candidates = {{3}, {5}, {9}}}), (Ids{3, 5, 9}));
  // a refill gets what there is
  EXPECT_EQ(chosen(sampler, {.prompts = 4, .candidates = {{3}, {5}}}, {{5}}), (Ids{3}));
}

/// As without candidates: each comes once an epoch. The epochs of all prompts stay where they are.
TEST(Candidates, UniformGoesThroughThemOnceAnEpoch) {
  UniformSampler sampler(10, 7);
  std::map<std::uint64_t, int> counts;
  for (std::uint64_t step = 1; step <= 3000; ++step) {
    const auto prompts =
        chosen(sampler, {.step = step, .prompts = 2, .candidates = {{1}, {4}, {6}, {8}}});
    EXPECT_EQ(std::set<std::uint64_t>(prompts.begin(), prompts.end()).size(), 2U);
    for (const auto p : prompts) ++counts[p];
  }
  ASSERT_EQ(counts.size(), 4U);
  for (const auto& [p, count] : counts) EXPECT_EQ(count, 1500) << p;
  const auto state = sampler.save();
  EXPECT_EQ(state.at("cursor"), 0);
  EXPECT_EQ(state.at("epoch"), 0);
}

TEST(Candidates, EveryPolicyObeysAndSpendsItsBudgetOnThem) {
  for (const auto& name : policy_names()) {
    EXPECT_TRUE(rc::check(name, [&] {
      const auto policy = make_scheduler({.row = name}, {}, prompt_table(40), 3);
      for (std::uint64_t step = 1; step <= 4; ++step) {
        StepRequest request{.step = step,
                            .prompts = *rc::gen::inRange<std::int64_t>(1, 6),
                            .budget = 0,
                            .min_rollouts = 2,
                            .max_rollouts = 12};
        request.budget = request.prompts * 6;
        const auto ids = *rc::gen::unique<std::vector<std::uint64_t>>(
            std::size_t(*rc::gen::inRange<std::int64_t>(request.prompts, 20)),
            rc::gen::inRange<std::uint64_t>(0, 40));
        for (const auto id : std::set<std::uint64_t>(ids.begin(), ids.end()))
          request.candidates.push_back({id});
        for (const auto& decision : simulate_step(*policy, request)) {
          for (const auto& group : decision.groups)
            RC_ASSERT(std::binary_search(request.candidates.begin(), request.candidates.end(),
                                         group.id.prompt));
        }
      }
    })) << name;
  }
}

}  // namespace
}  // namespace rollcall::scheduling
