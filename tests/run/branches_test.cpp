// Forks of rollouts, with and without conversations: who may fork whom, what they share, and that
// threads and late answers change nothing.
#include "run/generation/branches.hpp"

#include "io/sample_run.hpp"
#include "run/driven.hpp"
#include "run/generation/generation.hpp"
#include "run/generation/session_replies.hpp"
#include "run/messages/actions.hpp"

#include <gtest/gtest.h>

namespace rollcall::run {
namespace {

using namespace test;

/// Parts at the beginning of each turn but the first, and in the middle of every turn.
class Halving final : public ForkRule {
 public:
  std::vector<std::size_t> places(const model::DecodedSequence& so_far, std::size_t begin,
                                  std::size_t end, std::uint32_t left,
                                  std::uint64_t) const override {
    EXPECT_EQ(end, so_far.tokens.size());
    std::vector<std::size_t> all;
    if (begin > 0) all.push_back(begin);
    if ((begin + end) / 2 > 0) all.push_back((begin + end) / 2);
    if (all.size() > left) all.resize(left);
    return all;
  }
};

/// The rollouts of a plan in which each group has seven, three of them from their beginning.
RolloutShard forked(RunContext& context, environment::Partner* partner) {
  StepPlan plan = driven_plan(context, 7);
  for (GroupPlan& group : plan.groups) group.unforked = 3;
  plan.groups[1].first_sample = 10;
  const RepeatedLosses losses(context);
  const Halving rule;
  const PromptBook book(context.texts, plan.derived);
  OpenRollouts open({&context, partner, &losses, &rule, {}}, plan, book,
                    make_openings(context)->of(plan, book));
  open.begin();
  EXPECT_TRUE(open.may_branch());
  const auto requests = open.requests();
  auto options = step_decode_options(context);
  options.replies = [&open] { return std::make_unique<SessionReplies>(open); };
  auto decoded = model::decode(context.store->policy(), requests, plan.sampling,
                               stop_rules(*context.texts.format, plan.sampling.stop), options);
  RolloutShard shard;
  shard.groups.resize(plan.groups.size());
  for (std::size_t r = 0; r < decoded.size(); ++r) {
    for (std::size_t s = 0; s < decoded[r].size(); ++s) {
      if (decoded[r][s].tokens.empty()) continue;
      const model::SequencePlace place{r, std::uint32_t(s)};
      const OpenGroup& group = open.groups()[open.in_shard(place).first];
      const OpenRollout& rollout = open.at(place);
      shard.groups[open.in_shard(place).first].rollouts.push_back(
          to_rollout(*context.texts.format, std::move(decoded[r][s]),
                     group.questions.at(rollout.question), rollout));
    }
  }
  for (Group& group : shard.groups)
    std::sort(group.rollouts.begin(), group.rollouts.end(),
              [](const Rollout& a, const Rollout& b) { return a.sample < b.sample; });
  return shard;
}

struct Said {
  std::vector<std::int32_t> tokens{};
  std::vector<float> logprob{};
};
/// The first `count` tokens of the policy.
Said said_by_policy(const Rollout& rollout, std::size_t count) {
  Said said;
  for (const Turn& turn : rollout.turns) {
    if (turn.role != Role::policy) continue;
    said.tokens.insert(said.tokens.end(), turn.tokens.begin(), turn.tokens.end());
    said.logprob.insert(said.logprob.end(), turn.columns.logprob.begin(),
                        turn.columns.logprob.end());
  }
  EXPECT_GE(said.tokens.size(), count);
  said.tokens.resize(std::min(count, said.tokens.size()));
  said.logprob.resize(said.tokens.size());
  return said;
}

/// The numbers of a group's rollouts count from `first`.
void expect_forks(const Group& group, std::uint32_t first) {
  // Four are left for three rollouts: two of the first one, one of each other.
  const std::uint32_t parents[] = {0, 0, 1, 2};
  EXPECT_LE(group.rollouts.size(), 7U);
  EXPECT_GE(group.rollouts.size(), 3U);
  for (const Rollout& rollout : group.rollouts) {
    const std::uint32_t number = rollout.sample - first;
    ASSERT_LT(number, 7U);
    if (number < 3) {
      EXPECT_EQ(rollout.parent, -1);
      continue;
    }
    const std::uint32_t parent = parents[number - 3];
    EXPECT_EQ(rollout.parent, std::int64_t(first + parent));
    ASSERT_GT(rollout.fork_token, 0);
    const auto shared = std::size_t(rollout.fork_token);
    const Said own = said_by_policy(rollout, shared),
               theirs = said_by_policy(group.rollouts.at(parent), shared);
    EXPECT_EQ(own.tokens, theirs.tokens);
    EXPECT_EQ(own.logprob, theirs.logprob);
  }
}

TEST(Branches, ForksShareTheBeginningOfTheirOwnParent) {
  const io::test::RunFolder folder;
  for (const bool talks : {false, true}) {
    std::optional<RolloutShard> calm;
    std::size_t forks = 0;
    for (const int threads : {1, 3}) {
      RunContext context =
          driven_job(folder.path(), threads, {"task.name=sorting", "environment.name=retry"});
      for (const std::uint64_t timing : {0U, 2U, 5U}) {
        Scripted partner(timing);
        RolloutShard shard = forked(context, talks ? &partner : nullptr);
        for (std::size_t g = 0; g < shard.groups.size(); ++g) {
          expect_forks(shard.groups[g], g == 1 ? 10U : 0U);
          forks += shard.groups[g].rollouts.size() - 3;
        }
        if (!calm) calm = std::move(shard);
        else expect_same(shard, *calm);
      }
    }
    EXPECT_GT(forks, 6U) << talks;
  }
}

/// Told again, the environment would answer a fork's turns with other seeds than its parent's.
TEST(Branches, WithoutAStateOnlyTheFirstTurnForks) {
  const io::test::RunFolder folder;
  RunContext context =
      driven_job(folder.path(), 2, {"task.name=sorting", "environment.name=retry"});
  Scripted partner;
  partner.keeps_state = true;
  std::size_t forks = 0, later = 0;
  for (const Group& group : forked(context, &partner).groups) {
    for (const Rollout& rollout : group.rollouts) {
      if (rollout.parent < 0) {
        later += actions_of(rollout).size() > 1 ? 1 : 0;
        continue;
      }
      ++forks;
      EXPECT_LT(std::size_t(rollout.fork_token), rollout.turns.at(1).tokens.size());
    }
  }
  EXPECT_GT(forks, 3U);
  EXPECT_GT(later, 0U) << "a later turn would have forked";
}

}  // namespace
}  // namespace rollcall::run
