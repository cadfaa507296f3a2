// The rollout driver with conversations: the same bits whenever answers come and with any threads,
// turns that are those of the session, limits, losses, and no conversation that stays open.
#include "run/generation/rollout_driver.hpp"

#include "base/process/stop_signals.hpp"
#include "comm/activity.hpp"
#include "environment/environments.hpp"
#include "io/archive.hpp"
#include "io/sample_run.hpp"
#include "run/context/prompt_book.hpp"
#include "run/driven.hpp"
#include "run/generation/generation.hpp"
#include "run/messages/actions.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

namespace rollcall::run {
namespace {

using namespace test;
using environment::Loss;

/// An environment whose place the script takes.
const std::vector<std::string> kRetry{"task.name=sorting", "environment.name=retry"};

std::unique_ptr<const environment::Environment> key_door(const RunContext& context) {
  return environment::find_environment("key_door").make(context.config);
}

/// Rollouts with more than one action.
std::size_t long_ones(const RolloutShard& shard) {
  std::size_t count = 0;
  for (const Rollout* rollout : all_of(shard)) count += actions_of(*rollout).size() > 1 ? 1U : 0U;
  return count;
}

TEST(RolloutDriver, ThreadsChangeNothingInABuiltInWorld) {
  const io::test::RunFolder folder;
  std::optional<RolloutShard> first;
  for (const int threads : {1, 2, 5}) {
    for (const bool at_once : {true, false}) {
      RunContext context = driven_job(folder.path(), threads, {"task.name=key_door"});
      RolloutDriver driver(context, at_once ? environment::at_once(key_door(context))
                                            : environment::on_threads(key_door(context), 3));
      RolloutShard shard = driver.run(driven_plan(context, 4), 0);
      if (!first) first = std::move(shard);
      else expect_same(shard, *first);
    }
  }
  EXPECT_GT(long_ones(*first), 0U);
}

TEST(RolloutDriver, WhenAnswersComeChangesNothing) {
  const io::test::RunFolder folder;
  RunContext context = driven_job(folder.path(), 1, kRetry);
  const StepPlan plan = driven_plan(context, 5);
  const RolloutShard calm = RolloutDriver(context, std::make_unique<Scripted>()).run(plan, 0);
  EXPECT_GT(long_ones(calm), 3U);
  std::set<std::vector<std::int32_t>> prompts;
  for (const Rollout* rollout : all_of(calm)) prompts.insert(rollout->turns.front().tokens);
  EXPECT_GT(prompts.size(), 1U) << "groups begin as the environment says";
  for (const int threads : {1, 3}) {
    RunContext other = driven_job(folder.path(), threads, kRetry);
    for (const std::uint64_t timing : {1U, 2U, 5U}) {
      RolloutDriver driver(other, std::make_unique<Scripted>(timing));
      expect_same(driver.run(plan, 0), calm);
      expect_same(driver.run(plan, 0), calm);
      const DriverFigures figures = driver.take_figures();
      EXPECT_GT(figures.turns, 0);
      EXPECT_GT(figures.told_tokens, 0);
      EXPECT_EQ(driver.take_figures().turns, 0);
    }
  }
}

/// A rollout is one sequence of a session, to which what the environment says is appended.
TEST(RolloutDriver, TurnsAreThoseOfTheSession) {
  const io::test::RunFolder folder;
  RunContext context = driven_job(folder.path(), 1, kRetry);
  const StepPlan plan = driven_plan(context, 3);
  const RolloutShard shard = RolloutDriver(context, std::make_unique<Scripted>()).run(plan, 0);
  const auto stops = stop_rules(*context.texts.format, plan.sampling.stop);
  std::size_t later = 0;
  for (std::size_t g = 0; g < shard.groups.size(); ++g) {
    for (const Rollout& rollout : shard.groups[g].rollouts) {
      ASSERT_EQ(rollout.facts.size(), rollout.turns.size());
      model::Team team;
      model::DecodeSession session(context.store->policy(), plan.sampling, team,
                                   model::kMostCacheBytes);
      std::optional<model::DecodeSession::Id> id;
      std::size_t sampled = 0;
      for (std::size_t t = 1; t < rollout.turns.size(); ++t) {
        const Turn& turn = rollout.turns[t];
        if (turn.role != Role::policy) {
          EXPECT_EQ(rollout.turns[t - 1].role, Role::policy);
          EXPECT_NE(rollout.facts[t].state, 0U);
          continue;
        }
        const auto most = std::int64_t(turn.tokens.size());
        if (!id) {
          id = session.open({.prompt = rollout.turns.front().tokens,
                             .seed = std::uint64_t(context.config.run.seed),
                             .step = plan.step,
                             .prompt_address = prompt_address(plan, plan.groups[g]),
                             .first_sample = rollout.sample,
                             .most = most},
                            0, 1, stops);
        } else {
          ++later;
          session.append(*id, rollout.turns[t - 1].tokens, most);
        }
        while (!session.idle()) session.advance(context.store->policy());
        const model::DecodedSequence& so_far = session.at(*id);
        EXPECT_EQ(std::vector(so_far.tokens.begin() + std::ptrdiff_t(sampled), so_far.tokens.end()),
                  turn.tokens);
        EXPECT_EQ(std::vector(so_far.columns.logprob.begin() + std::ptrdiff_t(sampled),
                              so_far.columns.logprob.end()),
                  turn.columns.logprob);
        sampled = so_far.tokens.size();
      }
    }
  }
  EXPECT_GT(later, 3U);
}

/// The policy tokens of a rollout, and all tokens after its prompt.
std::pair<std::int64_t, std::int64_t> lengths(const Rollout& rollout) {
  std::pair<std::int64_t, std::int64_t> sums;
  for (std::size_t t = 1; t < rollout.turns.size(); ++t) {
    const auto tokens = std::int64_t(rollout.turns[t].tokens.size());
    sums.first += rollout.turns[t].role == Role::policy ? tokens : 0, sums.second += tokens;
  }
  return sums;
}

TEST(RolloutDriver, LimitsHoldForTheWholeRollout) {
  const io::test::RunFolder folder;
  const auto shard = [&](const std::vector<std::string>& limits) {
    std::vector<std::string> settings = kRetry;
    settings.insert(settings.end(), limits.begin(), limits.end());
    RunContext context = driven_job(folder.path(), 2, settings);
    return RolloutDriver(context, std::make_unique<Scripted>(3)).run(driven_plan(context, 6), 0);
  };
  std::set<FinishReason> seen;
  const RolloutShard turns = shard({"environment.max_turns=2"});
  for (const Rollout* rollout : all_of(turns)) {
    EXPECT_LE(actions_of(*rollout).size(), 2U);
    seen.insert(rollout->finish);
    if (rollout->finish == FinishReason::turns) {
      EXPECT_EQ(actions_of(*rollout).size(), 2U);
    }
  }
  EXPECT_TRUE(seen.contains(FinishReason::turns));
  EXPECT_TRUE(seen.contains(FinishReason::stop));
  seen.clear();
  const RolloutShard all = shard({"environment.max_tokens=26"});
  for (const Rollout* rollout : all_of(all)) {
    EXPECT_LE(lengths(*rollout).first, 24);
    EXPECT_LE(lengths(*rollout).second, 26);
    seen.insert(rollout->finish);
  }
  EXPECT_TRUE(seen.contains(FinishReason::length));
  const RolloutShard short_turns = shard({"sampling.turn_tokens=1"});
  for (const Rollout* rollout : all_of(short_turns))
    for (const Turn& turn : rollout->turns)
      if (turn.role == Role::policy) {
        EXPECT_EQ(turn.tokens.size(), 1U);
      }
}

TEST(RolloutDriver, ALossCostsItsRolloutAlone) {
  const io::test::RunFolder folder;
  RunContext context = driven_job(folder.path(), 2, kRetry);
  const StepPlan plan = driven_plan(context, 4);
  const RolloutShard whole = RolloutDriver(context, std::make_unique<Scripted>()).run(plan, 0);
  auto partner = std::make_unique<Scripted>(2);
  partner->losses = {{"train/9/0/0/2", {0, Loss::died}}, {"train/9/2/0/1", {1, Loss::clock}}};
  RolloutDriver driver(context, std::move(partner));
  const RolloutShard shard = driver.run(plan, 0);
  for (std::size_t g = 0; g < 3; ++g) {
    for (std::size_t i = 0; i < 4; ++i) {
      const Rollout& rollout = shard.groups[g].rollouts.at(i);
      if (g == 0 && i == 2) {
        EXPECT_EQ(rollout.finish, FinishReason::lost);
        ASSERT_EQ(rollout.turns.size(), 1U) << "it never began";
        EXPECT_EQ(rollout.facts.at(0).flags, turn_flag::ended);
        EXPECT_EQ(rollout.facts.at(0).reason, "as the script says");
      } else if (g == 2 && i == 1 && whole.groups[g].rollouts[i].facts.at(1).action != 0) {
        EXPECT_EQ(rollout.finish, FinishReason::lost);
        ASSERT_EQ(rollout.turns.size(), 2U) << "the policy has the last word";
        EXPECT_EQ(rollout.turns[1].tokens, whole.groups[g].rollouts[i].turns.at(1).tokens);
        EXPECT_EQ(rollout.facts.at(1).flags, turn_flag::ended | turn_flag::by_clock);
      } else {
        expect_same(rollout, whole.groups[g].rollouts[i]);
      }
    }
  }
  EXPECT_GT(driver.take_figures().lost, 0);
}

TEST(RolloutDriver, AFirstTextThatDoesNotFitLosesItsConversation) {
  const io::test::RunFolder folder;
  RunContext context = driven_job(folder.path(), 2, kRetry);
  auto partner = std::make_unique<Scripted>();
  partner->begins = std::string(300, 'a');
  RolloutDriver driver(context, std::move(partner));
  const RolloutShard shard = driver.run(driven_plan(context, 2), 0);
  for (const Rollout* rollout : all_of(shard)) {
    EXPECT_EQ(rollout->finish, FinishReason::lost);
    ASSERT_EQ(rollout->turns.size(), 1U);
    EXPECT_LT(rollout->turns[0].tokens.size(), 256U) << "the prompt, as of all that never began";
    EXPECT_NE(rollout->facts.at(0).reason.find("and the model 256 positions"), std::string::npos)
        << rollout->facts.at(0).reason;
  }
  EXPECT_EQ(driver.take_figures().lost, 6);
}

TEST(RolloutDriver, CountsConversationsThatWereNeverAsked) {
  const io::test::RunFolder folder;
  RunContext context = driven_job(folder.path(), 1, kRetry);
  StepPlan plan = driven_plan(context, 2);
  RolloutDriver driver(context, std::make_unique<Scripted>());
  (void)driver.run(plan, 0);
  DriverFigures figures = driver.take_figures();
  EXPECT_EQ(figures.conversations, 6);
  EXPECT_LT(figures.unasked, 6);
  plan.sampling.stop.clear(), plan.sampling.turn_tokens = 1;
  (void)driver.run(plan, 0);
  figures = driver.take_figures();
  EXPECT_EQ(figures.unasked, 6) << "a turn of one token has no end";
}

/// What a group of another draw meets, and what the greedy answers meet, is the same world.
TEST(RolloutDriver, FurtherDrawsBeginInTheWorldOfTheirParent) {
  const io::test::RunFolder folder;
  RunContext context = driven_job(folder.path(), 1, kRetry);
  StepPlan plan = driven_plan(context, 1);
  const GroupId parent = plan.groups[1].id;
  plan.groups.push_back(
      {.id = {9, parent.prompt, 7}, .from = {.kind = DerivedKind::pool, .parent = parent}});
  RolloutDriver driver(context, std::make_unique<Scripted>());
  const RolloutShard shard = driver.run(plan, 0);
  const auto asked = [](const RolloutShard& of, std::size_t g) {
    return of.groups.at(g).rollouts.at(0).turns.front().tokens;
  };
  EXPECT_EQ(asked(shard, 3), asked(shard, 1));
  plan.purpose = Purpose::greedy;
  EXPECT_EQ(asked(driver.run(plan, 0), 1), asked(shard, 1));
}

/// A conversation that a stop interrupted is lost again where it was lost, without being asked.
TEST(RolloutDriver, ALossBeforeAStopIsRepeated) {
  const io::test::RunFolder folder;
  RunContext context = driven_job(folder.path(), 2, kRetry);
  context.config.environment.command = {"a program"};
  const StepPlan plan = driven_plan(context, 3);
  const std::map<std::string, std::pair<std::size_t, Loss>> losses{
      {"train/9/0/0/1", {0, Loss::died}},
      {"train/9/1/0/0", {1, Loss::clock}},
      {"train/9/1/0/2", {1, Loss::told}}};
  // What this machine lost is asked again.
  auto with_fault = losses;
  with_fault["train/9/2/0/1"] = {0, Loss::machine};
  auto losing = std::make_unique<Scripted>();
  losing->losses = with_fault;
  const RolloutShard lost = RolloutDriver(context, std::move(losing)).run(plan, 0);
  ScoredShard scores{Purpose::train, 9, 0, 0, {"correct"}, {}};
  for (const Group& group : lost.groups)
    for (auto& made = scores.scores.emplace_back(); const Rollout& rollout : group.rollouts)
      made.push_back({.components = {0.0}, .undecided = rollout.finish == FinishReason::lost});
  const auto file =
      io::draft_scored(lost, PromptBook(context.texts, {}).stored(lost), scores, context.identity);
  (void)io::publish(folder.path(), file);
  ASSERT_GT(io::set_aside_unfinished(folder.path(), {}), 0);
  auto without_fault = std::make_unique<Scripted>();
  without_fault->losses = losses;
  const RolloutShard wanted = RolloutDriver(context, std::move(without_fault)).run(plan, 0);
  ASSERT_EQ(lost.groups[2].rollouts[1].finish, FinishReason::lost);
  ASSERT_NE(wanted.groups[2].rollouts[1].finish, FinishReason::lost);
  expect_same(RolloutDriver(context, std::make_unique<Scripted>(3)).run(plan, 0), wanted);

  // It is the same conversation only where the policy has said the same.
  const RepeatedLosses known(context);
  environment::Talk talk;
  talk.id = "train/9/0/0/1";
  ASSERT_TRUE(known.find(talk));
  EXPECT_EQ(known.find(talk)->loss, Loss::died);
  EXPECT_EQ(known.find(talk)->reason, "as the script says");
  talk.actions = {"another"};
  EXPECT_FALSE(known.find(talk));
}

/// Answers the first start once the watch is told that somebody waits for it.
class Watched final : public environment::Partner {
 public:
  explicit Watched(std::shared_ptr<comm::Activity> activity) : activity_(std::move(activity)) {}
  ~Watched() override {
    if (thread_.joinable()) thread_.join();
  }
  const environment::Traits& traits() const override { return inner_.traits(); }
  std::optional<environment::Answer> ask(const environment::Talk& talk, std::uint64_t conversation,
                                         environment::AnswerQueue& queue) override {
    auto answer = inner_.ask(talk, conversation, queue);
    if (asked_++ > 0) return answer;
    thread_ = std::thread([this, answer = std::move(*answer), conversation, &queue]() mutable {
      for (int looks = 0; looks < 2000 && seen.find("environment") == std::string::npos; ++looks) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        seen = activity_->look().activity;
      }
      queue.put(conversation, std::move(answer));
    });
    return std::nullopt;
  }
  void close(const environment::Talk& talk) override { inner_.close(talk); }

  std::string seen{};

 private:
  std::shared_ptr<comm::Activity> activity_;
  Scripted inner_;
  int asked_ = 0;
  std::thread thread_;
};

TEST(RolloutDriver, TheWatchIsToldWhoIsWaitedFor) {
  const io::test::RunFolder folder;
  RunContext context = driven_job(folder.path(), 1, kRetry);
  const auto activity = std::make_shared<comm::Activity>();
  context.threads.pool->report_to(activity);
  activity->begin("generation of step 9");
  auto partner = std::make_unique<Watched>(activity);
  const Watched& watched = *partner;
  RolloutDriver driver(context, std::move(partner));
  (void)driver.run(driven_plan(context, 2), 0);
  EXPECT_EQ(watched.seen, "generation of step 9, waiting for the environment: 1 conversation");
  EXPECT_EQ(activity->look().activity, "generation of step 9");
}

/// The partner of this driver checks that nothing is open when it goes.
TEST(RolloutDriver, AnExceptionLeavesNothingOpen) {
  const io::test::RunFolder folder;
  RunContext context = driven_job(folder.path(), 2, kRetry);
  for (const int last : {2, 17}) {  // among the starts, and among the turns
    auto partner = std::make_unique<Scripted>(4);
    partner->on_ask = [last](int asked) {
      if (asked == last) throw std::runtime_error("the partner is gone");
    };
    RolloutDriver driver(context, std::move(partner));
    EXPECT_THROW(driver.run(driven_plan(context, 4), 0), std::runtime_error);
  }
}

/// In a process of its own, since a signal that has come cannot be taken back. From question `last`
/// on nothing is answered that waits.
void check_cut(const std::filesystem::path& folder, int last) {
  note_stop_signals();
  RunContext context = driven_job(folder, 2, kRetry);
  auto partner = std::make_unique<Scripted>(4);
  Scripted& watched = *partner;
  partner->on_ask = [&watched, last](int asked) {
    if (asked != last) return;
    watched.answers = false;
    std::raise(SIGTERM);
  };
  RolloutDriver driver(context, std::move(partner));
  if (!driver.run(driven_plan(context, 4), 0).groups.empty()) std::_Exit(2);
  if (!watched.open.empty()) std::_Exit(3);
  std::_Exit(context.threads.cut->wanted() ? 0 : 4);
}

TEST(RolloutDriverDeathTest, ACutStepClosesEveryConversation) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const io::test::RunFolder folder;
  EXPECT_EXIT(check_cut(folder.path(), 3), testing::ExitedWithCode(0), "") << "among the starts";
  EXPECT_EXIT(check_cut(folder.path(), 20), testing::ExitedWithCode(0), "") << "among the turns";
}

}  // namespace
}  // namespace rollcall::run
