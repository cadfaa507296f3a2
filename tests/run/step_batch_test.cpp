// A closed step read back: one order whatever ranks, rounds and files it was cut into;
// mini-batches; the control with shuffled rewards.
#include "run/random_batch.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace rollcall::run {
namespace {

using io::test::Dice;
using io::test::RunFolder;
using io::test::same;

template <class T>
void mix(std::vector<T>& values, Dice& dice) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[dice.below(i)]);
}

struct Piece {
  RolloutShard shard;
  ScoredShard scores;
};

/// Every rollout dealt to one of `files` files (rounds x producers), groups and samples in each in
/// any order.
std::vector<Piece> cut(const StepBatch& batch, std::size_t files, Dice& dice) {
  std::vector<std::pair<std::size_t, std::size_t>> rollouts;
  for (std::size_t g = 0; g < batch.groups.size(); ++g)
    for (std::size_t i = 0; i < batch.groups[g].rollouts.size(); ++i) rollouts.emplace_back(g, i);
  mix(rollouts, dice);
  std::vector<Piece> pieces(files);
  std::vector<std::map<std::size_t, std::size_t>> place(files);  // group -> position in the file
  for (const auto& [g, i] : rollouts) {
    const std::size_t f = dice.below(files);
    auto& [shard, scores] = pieces[f];
    const auto [at, fresh] = place[f].try_emplace(g, shard.groups.size());
    if (fresh)
      shard.groups.push_back({batch.groups[g].id, batch.groups[g].level, {}}),
          scores.scores.emplace_back();
    shard.groups[at->second].rollouts.push_back(batch.groups[g].rollouts[i]);
    scores.scores[at->second].push_back(batch.scores[g][i]);
  }
  for (std::size_t f = 0; f < files; ++f) {
    pieces[f].shard.step = pieces[f].scores.step = 3;
    pieces[f].shard.round = pieces[f].scores.round = std::uint32_t(f % 2);
    pieces[f].shard.producer = pieces[f].scores.producer = std::uint32_t(f / 2);
    pieces[f].scores.component_names = {"correct", "format"};
  }
  return pieces;
}

ScoredFile publish(const std::filesystem::path& run_dir, const Piece& piece) {
  const std::vector<io::ShardPrompt> prompts(piece.shard.groups.size(), {"prompt", "answer"});
  return {io::publish(run_dir, io::draft_shard(piece.shard, prompts, io::test::identity())),
          io::publish(run_dir, io::draft_scores(piece.scores, piece.shard, io::test::identity()))};
}

/// Prompt 1 was drawn twice, with four of its eight rollouts correct; prompt 2 has none of two.
TEST(StepBatch, APromptWithMoreRolloutsCountsNoMoreInThePassRate) {
  StepBatch batch;
  const auto add = [&](std::uint64_t prompt, std::uint32_t draw, std::vector<int> correct) {
    Group group{
        .id = {1, {prompt}, draw}, .level = 0, .rollouts = std::vector<Rollout>(correct.size())};
    batch.groups.push_back(std::move(group));
    auto& scores = batch.scores.emplace_back();
    for (const int is_correct : correct)
      scores.push_back({.components = {}, .correct = is_correct == 1});
  };
  add(1, 0, {1, 1, 1, 0}), add(1, 1, {1, 0, 0, 0}), add(2, 0, {0, 0});
  const auto metrics = rollout_metrics(batch);
  EXPECT_DOUBLE_EQ(metrics.at("train/pass_rate"), 0.25);
  EXPECT_DOUBLE_EQ(metrics.at("train/pass_rate_rollouts"), 0.4);
}

/// Masses 0.5, 1 and 0.75 of three tokens in two turns, two of which have lists of 3 and 2 tokens.
TEST(StepBatch, SaysHowMuchTheDrawsKept) {
  const Turn prompt{Role::prompt, {1}};
  Turn first{Role::policy, {4, 5}, {{-1, -1}, {1, 1}}, {0, 0}, {0.5F, 1.0F}},
      second{Role::policy, {6}, {{-1}, {1}}, {0}, {0.75F}};
  first.kept.put(0, std::vector{3, 4, 7});
  second.kept.put(0, std::vector{6, 7});
  const Rollout rollout{
      .sample = 0, .finish = FinishReason::stop, .turns = {prompt, first, second}, .text = ""};
  StepBatch batch;
  batch.groups.push_back({.id = {1, {0}, 0}, .level = 0, .rollouts = {rollout}});
  batch.scores.push_back({Score{}});
  const auto metrics = rollout_metrics(batch);
  EXPECT_DOUBLE_EQ(metrics.at("rollout/kept_mass_mean"), 0.75);
  EXPECT_DOUBLE_EQ(metrics.at("rollout/kept_mass_min"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("rollout/kept_tokens_mean"), 2.5);
  for (auto& turn : batch.groups[0].rollouts[0].turns) turn.kept_mass.clear(), turn.kept = {};
  for (const auto& [name, value] : rollout_metrics(batch))
    EXPECT_FALSE(name.starts_with("rollout/")) << name;
}

/// Dropped: the step is what it would have been without them. Wrong: all of it stays (what it is
/// paid: undecided_test).
TEST(StepBatch, RolloutsWithoutAVerdictLeaveOrAreWrong) {
  EXPECT_TRUE(rc::check("only what was decided is left, in its order", [] {
    const StepBatch whole = random_batch(*rc::gen::inRange<std::uint64_t>(0, 1U << 30),
                                         *rc::gen::inRange<std::size_t>(0, 7));
    StepBatch dropped = whole, wrong = whole, expected = whole;
    settle_undecided(dropped, true), settle_undecided(wrong, false);
    RC_ASSERT(same(wrong.groups, whole.groups));
    expected.groups.clear(), expected.scores.clear();
    for (std::size_t g = 0; g < whole.groups.size(); ++g) {
      Group group = whole.groups[g];
      group.rollouts.clear();
      std::vector<Score> scores;
      for (std::size_t i = 0; i < whole.scores[g].size(); ++i)
        if (!whole.scores[g][i].undecided)
          group.rollouts.push_back(whole.groups[g].rollouts[i]),
              scores.push_back(whole.scores[g][i]);
      if (!scores.empty()) expected.groups.push_back(group), expected.scores.push_back(scores);
    }
    RC_ASSERT(same(dropped.groups, expected.groups) && same(dropped.scores, expected.scores));
  }));
}

/// Two prompts of one answer each, of which the second's greedy answer came to no verdict.
TEST(StepBatch, AGreedyAnswerWithoutAVerdictIsNoBaseline) {
  StepBatch batch = random_batch(5, 3);  // prompts 0, 0 and 3
  for (auto& scores : batch.scores)
    for (auto& score : scores) score.undecided = false;
  batch.greedy = {{{0}, 0.5},
                  {{3}, greedy_reward({.components = {}, .reward = 0.0, .undecided = true})}};
  StepBatch wrong = batch;
  settle_undecided(batch, true), settle_undecided(wrong, false);
  EXPECT_EQ(batch.groups.size(), 2U);
  EXPECT_EQ(batch.greedy, (std::map<PromptId, double>{{{0}, 0.5}}));
  EXPECT_EQ(wrong.groups.size(), 3U);
  double lowest = 1.0;
  for (const auto& scores : wrong.scores)
    for (const auto& score : scores) lowest = std::min(lowest, score.reward);
  EXPECT_EQ(wrong.greedy.at({3}), lowest);
}

TEST(StepBatch, HasOneOrderWhateverTheCut) {
  EXPECT_TRUE(rc::check("read_step of any cut is the step, on the ranks that are to have it", [] {
    const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1U << 30);
    StepBatch batch = random_batch(seed, std::size_t(*rc::gen::inRange(1, 7)));
    Dice dice(seed + 1);
    const RunFolder folder;
    std::vector<ScoredFile> files;
    for (const auto& piece : cut(batch, std::size_t(*rc::gen::inRange(1, 6)), dice)) {
      if (!piece.shard.groups.empty()) files.push_back(publish(folder, piece));
    }
    mix(files, dice);
    const auto at = *rc::gen::element(StepResidency::every_rank, StepResidency::leader);
    // [ranks], some of them without a file to read
    std::vector<StepBatch> read(std::size_t(*rc::gen::inRange(1, 5)));
    std::deque<ShardCache> kept;
    for (std::size_t rank = 0; rank < read.size(); ++rank) kept.emplace_back(folder);
    for (auto& file : files) {  // some have a rank that keeps them, and of these some cannot be
                                // read any more
      if (*rc::gen::arbitrary<bool>()) continue;
      file.cached_on_rank = std::int32_t(dice.below(read.size()));
      if (*rc::gen::arbitrary<bool>()) continue;  // the cached_on_rank has lost it
      kept[std::size_t(file.cached_on_rank)].keep(file.shard.path,
                                                  io::read_shard(folder, file.shard),
                                                  io::read_scores(folder, file.scores));
      std::filesystem::remove(std::filesystem::path(folder) / file.shard.path);
    }
    std::vector<int> readers(read.size());
    std::iota(readers.begin(), readers.end(), 0);
    const auto shares = shared_out(files, readers);
    comm::run_as_threads(int(read.size()), [&](comm::Communicator& ranks) {
      const auto rank = std::size_t(ranks.rank());
      read[rank] = read_step(folder, shares[rank], ranks, at, &kept[rank]);
    });
    for (std::size_t rank = 0; rank < kept.size(); ++rank)
      for (const auto& file : files) RC_ASSERT(!kept[rank].take(file.shard.path));
    for (auto& group : batch.groups)
      for (auto& rollout : group.rollouts) {
        rollout.text = {};  // texts and reasons stay in the archive
        for (auto& facts : rollout.facts) facts.reason = {};
      }
    for (std::size_t rank = 0; rank < read.size(); ++rank) {
      const bool here = at == StepResidency::every_rank || rank == 0;
      RC_ASSERT(same(read[rank].groups, here ? batch.groups : std::vector<Group>()));
      RC_ASSERT(same(read[rank].scores, here ? batch.scores : std::vector<std::vector<Score>>()));
    }
  }));
}

TEST(StepBatch, RefusesASampleThatCameTwice) {
  const StepBatch batch = random_batch(5, 3);
  Dice dice(1);
  Piece piece = cut(batch, 1, dice).front();
  const RunFolder folder;
  std::vector<ScoredFile> files{publish(folder, piece)};
  EXPECT_EQ(read_step(folder, files, *comm::alone()).groups.size(), 3U);
  piece.shard.producer = piece.scores.producer = 9;
  files.push_back(publish(folder, piece));
  EXPECT_THROW(read_step(folder, files, *comm::alone()), ProtocolError);
}

TEST(StepBatch, RefusesScoresOfAnotherShard) {
  const RunFolder folder;
  Dice dice(1);
  const auto one = publish(folder, cut(random_batch(5, 1), 1, dice).front());
  Piece other = cut(random_batch(6, 4), 1, dice).front();
  other.shard.producer = other.scores.producer = 2;
  EXPECT_THROW(read_step(folder, {{one.shard, publish(folder, other).scores}}, *comm::alone()),
               StorageError);
}

TEST(TrainBatch, ReadsWhatOthersSaidAndTrainsOnThePolicysTokens) {
  Rollout rollout;
  rollout.turns = {{Role::prompt, {10, 11}},
                   {Role::environment, {12, 13, 14}},
                   {Role::policy, {15, 16}, {{-1, -2}, {0, 0}}, {1, 1}}};
  StepBatch batch;
  batch.groups = {{{}, 0, {rollout, rollout}}};
  batch.scores = {{{{}, 0.0, false, {}}, {{}, 1.0, true, {}}}};
  const TrainBatch train = make_train_batch(batch, {0}, 100, 8);
  ASSERT_EQ(train.micro_batches.size(), 1U);
  EXPECT_EQ(train.micro_batches[0].micro_batch.tokens,
            (std::vector<std::int32_t>{10, 11, 12, 13, 14, 15, 16, 12, 13, 14, 15, 16}));
  EXPECT_EQ(train.micro_batches[0].micro_batch.targets, (std::vector<std::int64_t>{5, 6, 10, 11}));
  EXPECT_EQ(train.columns.old_logprob.size(), 4U);
  EXPECT_EQ(guide_tokens(batch.groups[0]), 3U);
  batch.groups[0].rollouts[0].turns.erase(batch.groups[0].rollouts[0].turns.begin() + 1);
  EXPECT_EQ(guide_tokens(batch.groups[0]), 0U);
}

TEST(TrainBatch, NumbersTheAnswersOfAGroupAndKnowsWhereNoneWasFound) {
  StepBatch batch;
  for (const auto& answers :
       {std::vector<std::string>{"7", "", "12", "7", ""}, std::vector<std::string>{"", "7"}}) {
    batch.groups.emplace_back(), batch.scores.emplace_back();
    for (const auto& answer : answers) {
      batch.groups.back().rollouts.emplace_back().turns = {{Role::prompt, {10}},
                                                           {Role::policy, {15}, {{-1}, {0}}, {1}}};
      batch.scores.back().push_back(
          {.components = {}, .reward = 0.0, .correct = false, .answer = answer});
    }
  }
  const auto columns = make_train_batch(batch, {0, 1}, 100, 8).columns;
  EXPECT_EQ(columns.named.at(method::column::answer),
            (std::vector<double>{0, -1, 1, 0, -1, -1, 0}));
}

TEST(MiniBatch, DealsEveryGroupOnce) {
  EXPECT_TRUE(rc::check("mini-batches partition the step and differ by one group at most", [] {
    const auto groups = *rc::gen::inRange(1, 40), count = *rc::gen::inRange(1, 12);
    StepBatch batch;
    batch.groups.resize(std::size_t(groups), Group{.id = {}, .rollouts = std::vector<Rollout>(1)});
    std::multiset<std::size_t> dealt;
    for (std::int64_t index = 0; index < count; ++index) {
      const auto mine = mini_batch(batch, index, count);
      RC_ASSERT(std::is_sorted(mine.begin(), mine.end()));
      RC_ASSERT(mine.size() == std::size_t(groups / count) ||
                mine.size() == std::size_t(groups / count + 1));
      dealt.insert(mine.begin(), mine.end());
    }
    RC_ASSERT(dealt.size() == std::size_t(groups));
    RC_ASSERT(std::set(dealt.begin(), dealt.end()).size() == dealt.size());
    RC_ASSERT(*dealt.rbegin() == std::size_t(groups - 1));
  }));
}

/// `keep` of each group's two rollouts.
StepBatch selected(const std::vector<std::vector<std::uint8_t>>& keep) {
  StepBatch batch;
  for (const auto& group : keep) {
    batch.groups.push_back(
        {.id = {3, {batch.groups.size()}, 0}, .rollouts = std::vector<Rollout>(2)});
    batch.scores.emplace_back(2);
    batch.training.push_back({.id = batch.groups.back().id, .keep = group});
  }
  return batch;
}

/// Thirteen groups of which eight train, two of them in part: two a mini-batch. Dealt with the
/// others they fell as 1, 1, 2, 4.
TEST(MiniBatch, DealsOnlyWhatTrainsAndEvenly) {
  const std::vector<std::uint8_t> none{0, 0}, some{0, 1};
  const StepBatch batch =
      selected({none, none, {}, {}, none, some, none, {1, 1}, none, {}, some, {1, 1}, {}});
  const auto dealt = [&](std::int64_t count) {
    std::vector<std::vector<std::size_t>> all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(mini_batch(batch, i, count));
    return all;
  };
  EXPECT_EQ(dealt(4), (std::vector<std::vector<std::size_t>>{{2, 9}, {3, 10}, {5, 11}, {7, 12}}));
  EXPECT_EQ(dealt(1).front(), (std::vector<std::size_t>{2, 3, 5, 7, 9, 10, 11, 12}));
  EXPECT_TRUE(mini_batch(selected({none, none}), 0, 1).empty()) << "nothing trains";
  StepBatch expert = selected({none});
  expert.groups[0].rollouts.push_back({.sample = kExpertSample, .turns = {}, .text = {}});
  EXPECT_EQ(trained_rollouts(expert, 0), 1U) << "the scheduler has not heard of an expert's";
}

/// As an archive brings them: one `keep` a rollout, those without a verdict included.
TEST(SettleUndecided, TakesWhatWasStoredOfTheRolloutAlong) {
  StepBatch batch = selected({{0, 1}, {1, 0}, {1, 1}});
  batch.scores[0][0].undecided = batch.scores[1][0].undecided = batch.scores[1][1].undecided = true;
  settle_undecided(batch, true);
  ASSERT_EQ(batch.groups.size(), 2U);
  ASSERT_EQ(batch.training.size(), 2U);
  EXPECT_EQ(batch.training[0].keep, std::vector<std::uint8_t>{1});
  EXPECT_EQ(batch.training[1].keep, (std::vector<std::uint8_t>{1, 1}));
  EXPECT_EQ(batch.training[1].id, batch.groups[1].id);
}

std::vector<double> rewards(const StepBatch& batch) {
  std::vector<double> all;
  for (const auto& group : batch.scores)
    for (const auto& score : group) all.push_back(score.reward);
  return all;
}

TEST(ShuffledRewards, AreThePermutationOfSeedAndStep) {
  const StepBatch batch = random_batch(7, 20);
  const auto shuffled = [&](StepBatch copy, std::uint64_t seed, std::uint64_t step) {
    shuffle_rewards(copy, seed, step);
    return copy;
  };
  const StepBatch once = shuffled(batch, 1, 3);
  const auto before = rewards(batch), after = rewards(once);
  EXPECT_NE(before, after);
  EXPECT_TRUE(std::is_permutation(before.begin(), before.end(), after.begin(), after.end()));
  const auto without_pay = [](std::vector<Group> groups) {
    for (Group& group : groups)
      for (Rollout& rollout : group.rollouts)
        for (TurnFacts& facts : rollout.facts) facts.reward = 0.0;
    return groups;
  };
  EXPECT_FALSE(same(once.groups, batch.groups)) << "what turns were paid goes with the verdict";
  EXPECT_TRUE(same(without_pay(once.groups), without_pay(batch.groups)));
  std::map<double, const Score*> by_reward;  // rewards are drawn, so each names its verdict
  for (const auto& group : batch.scores)
    for (const Score& score : group) by_reward[score.reward] = &score;
  for (const auto& group : once.scores)
    for (const Score& score : group) {  // a verdict travels as a whole
      const Score& own = *by_reward.at(score.reward);
      EXPECT_EQ(score.answer, own.answer);
      EXPECT_EQ(score.correct, own.correct);
      EXPECT_EQ(score.components, own.components);
    }

  StepBatch one_group{.groups = {}, .scores = {{}}};  // the same rewards under other identities
  for (const double reward : before)
    one_group.scores[0].push_back(
        {.components = {}, .reward = reward, .correct = false, .answer = {}});
  EXPECT_EQ(rewards(shuffled(one_group, 1, 3)), after);
  EXPECT_NE(rewards(shuffled(batch, 2, 3)), after);
  EXPECT_NE(rewards(shuffled(batch, 1, 4)), after);
}

/// No column that an objective may read says who was right: each is the verdicts' permutation, and
/// so are the prompts' greedy rewards.
TEST(ShuffledRewards, ReachEveryColumnOfVerdicts) {
  StepBatch batch = random_batch(8, 60);
  for (const Group& group : batch.groups)
    batch.greedy[group.id.prompt] = double(group.id.prompt.value % 2);
  StepBatch shuffled = batch;
  shuffle_rewards(shuffled, 1, 3);
  std::vector<std::size_t> all(batch.groups.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto before = make_train_batch(batch, all, 1000, 8).columns,
             after = make_train_batch(shuffled, all, 1000, 8).columns;
  EXPECT_NE(before.reward, after.reward);
  for (const auto* name :
       {"correct", "component/correct", "component/format", "answer", "greedy_reward"})
    EXPECT_NE(before.named.at(name), after.named.at(name)) << name;
  const auto pairs = [](const method::StepColumns& c) {  // reward and verdict of a rollout stay
                                                         // together
    std::multiset<std::tuple<double, double, double>> kept;
    for (std::size_t i = 0; i < c.reward.size(); ++i)
      kept.emplace(c.reward[i], c.named.at("correct")[i], c.named.at("component/format")[i]);
    return kept;
  };
  EXPECT_EQ(pairs(before), pairs(after));
}

}  // namespace
}  // namespace rollcall::run
