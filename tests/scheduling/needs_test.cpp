// What a policy cannot do without is told by the policy, as its knobs are set.
#include "base/error.hpp"
#include "scheduling/policy.hpp"

#include <gtest/gtest.h>

#include <map>

namespace rollcall::scheduling {
namespace {

std::string needs_of(const PolicyChoice& choice, const Knobs& knobs = {}) {
  std::string fields;
  for (const Need& need : make_policy(choice, knobs, PromptTable{.level = {1, 2, 3}}, 1)->needs()) {
    EXPECT_FALSE(need.reason.empty());
    fields += (fields.empty() ? "" : " ") + need.field;
  }
  return fields;
}

TEST(Needs, OfEveryRow) {
  const std::map<std::string, std::string> needs = {{"apriel_reasoner", "domain"}, {"v0", "prior"}, {"v0_5", "prior"}, {"arrol", "predicted"}};
  for (const auto& row : policy_names()) EXPECT_EQ(needs_of({row}), needs.contains(row) ? needs.at(row) : "") << row;
}

TEST(Needs, FollowKnobsAndPieces) {
  EXPECT_EQ(needs_of({"sec"}, {{"arms", "domain"}}), "domain");
  EXPECT_EQ(needs_of({"sec"}, {{"arms", "level_domain"}}), "domain");
  EXPECT_EQ(needs_of({"mmr1"}, {{"diversity_weight", "0.5"}}), "diversity");
  EXPECT_EQ(needs_of({"v0"}, {{"prior_required", "false"}}), "");
  EXPECT_EQ(needs_of({.row = "apriel_reasoner", .selection = "survivors"}), "domain predicted");
}

}  // namespace
}  // namespace rollcall::scheduling
