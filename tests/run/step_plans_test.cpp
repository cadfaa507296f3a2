// The plans of a step as rank 0 sends them: groups dealt in order and in balance, to each rank its
// own, and a cost that grows with the step plus the ranks.
#include "run/coordinator/steps/step_plans.hpp"

#include "core/derived_prompt.hpp"
#include "run/played_ranks.hpp"
#include "run/step/step_batch.hpp"
#include "support/allocated_bytes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <map>

namespace rollcall::run {
namespace {

TEST(Deal, CoversAllGroupsInOrderAndInBalance) {
  EXPECT_TRUE(rc::check("contiguous shares within one group of the mean", [] {
    const auto counts =
        *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(1, 40));
    const auto ranks = std::size_t(*rc::gen::inRange(1, 70));
    std::vector<GroupPlan> groups;
    std::uint64_t total = 0, largest = 0;
    for (const auto count : counts) {
      groups.push_back(
          {.id = {1, {groups.size()}, 0}, .level = 0, .first_sample = 0, .count = count});
      total += count, largest = std::max<std::uint64_t>(largest, count);
    }
    const auto shares = deal(groups, ranks);
    RC_ASSERT(shares.size() == ranks);
    std::uint64_t next = 0;
    for (const auto& share : shares) {
      std::uint64_t rollouts = 0;
      RC_ASSERT(share.empty() || share.data() == &groups[next]);  // a view, not a copy
      for (const auto& group : share) {
        RC_ASSERT(group.id.prompt.value == next);
        RC_ASSERT(group.count == counts[next]);
        rollouts += group.count, ++next;
      }
      RC_ASSERT(rollouts * ranks < total + (largest + 1) * ranks);
    }
    RC_ASSERT(next == groups.size());
  }));
}

TEST(Deal, GivesEqualGroupsEqually) {
  std::vector<GroupPlan> groups(12);
  for (auto& group : groups) group.count = 8;
  for (const auto& share : deal(groups, 4)) EXPECT_EQ(share.size(), 3U);
}

comm::StageLayout colocated(int ranks, int on_node) {
  auto layout = comm::make_layout("colocated", ranks);
  for (int rank = 0; rank < ranks; ++rank) layout.nodes.push_back(rank / on_node * on_node);
  return layout;
}

/// Groups of two rollouts. Every second one asks a judge task with a text of its own.
StepPlan round_of(std::size_t groups) {
  StepPlan plan{Purpose::train, Split::validation, 7, 3, PolicyVersion{5}, {}, {}};
  plan.sampling.max_new_tokens = 9;
  plan.sampling.stop = {"end"};
  for (std::size_t g = 0; g < groups; ++g) {
    const bool asked = g % 2 == 1;
    const PromptId prompt = asked ? derived_number(DerivedKind::verdict, 7, g) : PromptId{g};
    plan.groups.push_back({.id = {7, prompt, 0}, .count = 2});
    if (asked)
      plan.derived.push_back(
          {.prompt = {.id = prompt, .text = std::string(200, 'x'), .answer = {}, .solution = {}}});
  }
  return plan;
}

struct Told {
  std::map<int, std::vector<std::string>> messages;  ///< by rank
  test::PlayedRanks::Sent sent;
  std::size_t files = 0;
  std::size_t allocated = 0;  ///< bytes that were taken from the heap, freed or not
};

template <class Send>
Told told_by(const comm::StageLayout& layout, Tag tag, const Send& send) {
  Told told;
  test::PlayedRanks ranks(layout, {});
  ranks.see = [&](int rank, Tag of, const std::string& bytes) {
    EXPECT_EQ(of, tag);
    told.messages[rank].push_back(bytes);
  };
  Mailbox mail(ranks);
  told.files = send(mail);
  told.sent = ranks.sent[tag];
  ranks.see = [](int, Tag, const std::string&) {};
  const std::size_t before = rollcall::test::allocated_bytes();
  send(mail);
  told.allocated = rollcall::test::allocated_bytes() - before;
  return told;
}

Told round_told(int ranks, std::size_t groups, int on_node = 8) {
  const auto layout = colocated(ranks, on_node);
  return told_by(layout, Tag::plan, [&](Mailbox& mail) {
    return send_round(mail, layout, round_of(groups), {}, true,
                      round_of(groups).sampling.max_new_tokens);
  });
}

TEST(SendRound, GivesEachRankItsOwnShareAndTheHead) {
  const Told told = round_told(4, 10, 3);
  ASSERT_EQ(told.messages.size(), 4U);
  EXPECT_EQ(told.files, 2U) << "one of three ranks, and one of the fourth";
  const StepPlan whole = round_of(10);
  std::size_t next = 0;
  for (const auto& [rank, messages] : told.messages) {
    ASSERT_EQ(messages.size(), 1U);
    const auto plan = from_bytes<RoundPlan>(messages.front());
    EXPECT_EQ(plan.purpose, whole.purpose);
    EXPECT_EQ(plan.split, whole.split);
    EXPECT_EQ(plan.step, whole.step);
    EXPECT_EQ(plan.round, whole.round);
    EXPECT_EQ(plan.policy.value, whole.policy.value);
    EXPECT_EQ(plan.sampling.max_new_tokens, whole.sampling.max_new_tokens);
    EXPECT_EQ(plan.sampling.stop, whole.sampling.stop);
    EXPECT_EQ(plan.aggregator, rank < 3 ? 0 : 3);
    EXPECT_EQ(plan.aggregated, rank < 3 ? 3U : 1U);
    std::size_t tasks = 0;
    for (const GroupPlan& group : plan.groups) {
      EXPECT_EQ(group.id.prompt, whole.groups.at(next).id.prompt);
      if (next++ % 2 == 0) continue;
      ASSERT_LT(tasks, plan.derived.size());
      EXPECT_EQ(plan.derived[tasks].prompt.id, group.id.prompt);
      EXPECT_EQ(plan.derived[tasks++].prompt.text, std::string(200, 'x'));
    }
    EXPECT_EQ(tasks, plan.derived.size()) << "no text that the rank does not ask";
  }
  EXPECT_EQ(next, 10U);
}

TEST(SendRound, SaysNothingToRanksWithoutAShare) {
  const Told told = round_told(8, 2, 1);
  EXPECT_EQ(told.messages.size(), 2U);
  EXPECT_EQ(told.sent.messages, 2U);
  EXPECT_EQ(told.files, 2U);
}

/// Of a cost that is the ranks' plus the step's, many of both take less than many of either.
void expect_a_sum(const std::function<Told(int ranks, std::size_t step)>& cost) {
  constexpr int kFew = 64, kMany = 1024;
  constexpr std::size_t kShort = 2048, kLong = 16384;
  const Told both = cost(kMany, kLong), ranks = cost(kMany, kShort), step = cost(kFew, kLong);
  EXPECT_EQ(both.sent.messages, std::size_t(kMany));
  EXPECT_LT(both.sent.bytes, ranks.sent.bytes + step.sent.bytes);
  EXPECT_LT(both.allocated, 2 * (ranks.allocated + step.allocated))
      << "copies, with buffers that double as they grow";
}

TEST(SendRound, CostsTheGroupsPlusTheRanks) {
  expect_a_sum([](int ranks, std::size_t groups) { return round_told(ranks, groups); });
}

ScoredFile file_of(std::size_t number, std::int32_t cached_on_rank) {
  const io::PublishedFile file{fmt::format("shards/train-000007-00-{:06}-scored.h5", number)};
  return {file, file, cached_on_rank};
}

/// Each third file has no cached_on_rank. The update ranks are those of the world from 2 on.
Told update_told(int ranks, std::size_t files) {
  const auto layout = comm::make_layout("colocated", ranks + 2);
  std::vector<int> updating;
  for (int rank = 2; rank < ranks + 2; ++rank) updating.push_back(rank);
  std::vector<ScoredFile> all;
  std::vector<scheduling::GroupTraining> training;
  for (std::size_t i = 0; i < files; ++i) {
    all.push_back(file_of(i, i % 3 == 0 ? -1 : updating[i % updating.size()]));
    training.push_back({.id = {7, {i}, 0}, .weight = 0.5, .keep = {1, 0}});
  }
  return told_by(layout, Tag::update, [&](Mailbox& mail) {
    send_update(mail, updating,
                UpdatePlan{.step = 7, .lr = 0.25, .progress = 0.5, .steps = 9.0, .files = {}}, all,
                training);
    return std::size_t(0);
  });
}

TEST(SendUpdate, EveryFileHasOneReaderAndTheFirstRankKnowsAll) {
  for (const std::size_t files : {0U, 3U, 20U}) {
    Told told = update_told(5, files);
    ASSERT_EQ(told.messages.size(), 5U);
    std::map<std::string, int> readers;
    for (const auto& [rank, messages] : told.messages) {
      ASSERT_EQ(messages.size(), 1U);
      const auto plan = from_bytes<UpdatePlan>(messages.front());
      EXPECT_EQ(plan.step, 7U);
      EXPECT_EQ(plan.lr, 0.25);
      EXPECT_EQ(plan.progress, 0.5);
      EXPECT_EQ(plan.steps, 9.0);
      for (const auto& file : plan.files) {
        EXPECT_TRUE(readers.try_emplace(file.shard.path, rank).second)
            << file.shard.path << " is read twice";
        EXPECT_TRUE(file.cached_on_rank < 0 || file.cached_on_rank == rank)
            << file.shard.path << " is read by another than its keeper";
      }
      EXPECT_EQ(plan.training.size(), rank == 2 ? files : 0U);
      EXPECT_EQ(plan.files.size() + plan.others.size(), rank == 2 ? files : plan.files.size());
    }
    EXPECT_EQ(readers.size(), files);
  }
}

TEST(SendUpdate, CostsTheFilesPlusTheRanks) { expect_a_sum(update_told); }

TEST(SharedOut, GivesFilesWithoutAKeeperOutInTurn) {
  std::vector<ScoredFile> files;
  for (std::size_t i = 0; i < 8; ++i) files.push_back(file_of(i, i < 2 ? 9 : -1));
  const auto shares = shared_out(files, {4, 9, 11});
  EXPECT_EQ(shares[0].size(), 2U);
  EXPECT_EQ(shares[1].size(), 2U + 2U);
  EXPECT_EQ(shares[2].size(), 2U);
  EXPECT_THROW(shared_out({file_of(0, 5)}, {4, 9}), std::logic_error)
      << "nobody else has what rank 5 keeps";
}

TEST(Mailbox, TheFirstHasTheWholeAndTheOthersShareTheRest) {
  const std::vector<int> ranks{1, 2, 4};
  const Told told = told_by(comm::make_layout("colocated", 5), Tag::supervise, [&](Mailbox& mail) {
    const SupervisePlan plan{.step = 3, .prompts = std::vector<PromptId>(1000)};
    mail.send_led(ranks, Tag::supervise, plan, [](SupervisePlan& p) { p.prompts.clear(); });
    return std::size_t(0);
  });
  ASSERT_EQ(told.messages.size(), 3U);
  for (const auto& [rank, messages] : told.messages) {
    const auto plan = from_bytes<SupervisePlan>(messages.front());
    EXPECT_EQ(plan.step, 3U);
    EXPECT_EQ(plan.prompts.size(), rank == 1 ? 1000U : 0U);
  }
  EXPECT_EQ(told.sent.messages, 3U);
  EXPECT_EQ(told.sent.bytes,
            told.messages.at(1).front().size() + told.messages.at(2).front().size());
}

}  // namespace
}  // namespace rollcall::run
