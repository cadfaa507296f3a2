// Rows of prompts: what was taken in pieces is what would have been taken at once; foreign bytes
// are refused.
#include "scheduling/prompts/prompt_rows.hpp"

#include "base/errors/error.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace rollcall::scheduling {
namespace {

/// A policy that has trained for `steps` steps; after each, its rows may be taken.
template <class Take>
std::unique_ptr<Scheduler> trained(const std::string& row, std::uint64_t prompts,
                                   std::uint64_t steps, const Take& take) {
  PromptTable table = prompt_table(prompts);
  for (std::uint64_t p = 0; p < prompts; ++p) table.content.push_back(1000 + p);
  auto policy = make_scheduler({row}, {}, table, 1);
  for (std::uint64_t step = 0; step < steps; ++step) {
    simulate_step(
        *policy, {.step = step, .prompts = 4, .budget = 16, .min_rollouts = 1, .max_rollouts = 12});
    take(*policy, step);
  }
  return policy;
}

TEST(PromptRows, BaseAndChangesAreTheWholeState) {
  rc::check("a policy loaded from a base and its changes is the policy", [] {
    const auto row = *rc::gen::element<std::string>("gdro_both", "uniform_sqrt", "gdro_resample",
                                                    "ucb", "uniform", "gdro_sqrt");
    const auto prompts = *rc::gen::inRange<std::uint64_t>(5, 60),
               steps = *rc::gen::inRange<std::uint64_t>(1, 30);
    const auto every = *rc::gen::inRange<std::uint64_t>(1, 6);
    PromptRows rows;
    bool first = true;
    const auto policy = trained(row, prompts, steps, [&](Scheduler& p, std::uint64_t step) {
      if (step % every != 0) return;
      update(rows,
             rows_from_bytes(to_bytes(
                 p.save_parts(std::exchange(first, false) ? Rows::all : Rows::changed).rows)));
    });
    const PolicyParts last = policy->save_parts(Rows::changed);
    update(rows, last.rows);
    const auto resumed = make_scheduler({row}, {},
                                        {.level = prompt_table(prompts).level,
                                         .domain = {},
                                         .prior = {},
                                         .content = policy->content()},
                                        1);
    RC_ASSERT(resumed->load_parts({last.head, rows}, policy->content()).same_prompts);
    RC_ASSERT(resumed->save() == policy->save());
    RC_ASSERT(policy->save_parts(Rows::changed).rows.size() == 0U);  // nothing has changed since
    RC_ASSERT(to_bytes(resumed->save_parts(Rows::all).rows) ==
              to_bytes(policy->save_parts(Rows::all).rows));
  });
}

TEST(PromptRows, ChangesAreAsManyAsThePromptsTouched) {
  for (const std::uint64_t prompts : {100, 20000}) {
    std::size_t most = 0;
    trained("gdro_both", prompts, 40, [&](Scheduler& p, std::uint64_t) {
      most = std::max(most, p.save_parts(Rows::changed).rows.size());
    });
    EXPECT_GT(most, 0U);
    EXPECT_LE(most, 3U * 4U) << prompts;  // 4 prompts a step: a history each, and one neighbour in
                                          // the bin that each may have moved
  }
}

TEST(PromptRows, RefuseForeignBytes) {
  PromptRows rows;
  rows.history.push_back({3, {1, 2, 3, 4, 5, 0}, 6});
  rows.success.push_back({0.5, 1.5, 3, 7});
  const std::string good = to_bytes(rows);
  EXPECT_EQ(to_bytes(rows_from_bytes(good)), good);
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(rows_from_bytes(good.substr(0, size)), StorageError) << size;
  EXPECT_THROW(rows_from_bytes(good + "x"), StorageError);
  for (const std::size_t at : {0, 8, 12, 16}) {  // magic, format, number of tables, width of a row
    std::string bad = good;
    bad[at] = char(bad[at] + 1);
    EXPECT_THROW(rows_from_bytes(bad), StorageError) << at;
  }
  rows.history.push_back({2, {}, 0});
  EXPECT_THROW(rows_from_bytes(to_bytes(rows)), StorageError) << "prompts must ascend";
}

}  // namespace
}  // namespace rollcall::scheduling
