// What a rank says of itself, by whom it is changed, and that waits of all kinds are told.
#include "comm/activity.hpp"

#include "base/errors/error.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_groups.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace rollcall::comm {
namespace {

TEST(Activity, CountsWorkAndKeepsTheWaitWhileItLasts) {
  Activity activity;
  activity.begin("update of step 5");
  const auto before = activity.look();
  EXPECT_EQ(before.activity, "update of step 5");
  EXPECT_EQ(before.waits, "");
  activity.waits("for the plan of step 6"), activity.waits("for the plan of step 6");
  auto seen = activity.look();
  EXPECT_EQ(seen.waits, "for the plan of step 6");
  EXPECT_EQ(seen.polls, before.polls + 2);
  EXPECT_EQ(seen.pulses, before.pulses) << "who waits gets no further";
  activity.wait_ended();
  seen = activity.look();
  EXPECT_EQ(seen.waits, "");
  EXPECT_EQ(seen.waits_s, 0.0);
  EXPECT_EQ(seen.pulses, before.pulses + 1);
}

TEST(Activity, AWaitOfACommunicatorIsSeenFromAnotherThread) {
  const auto world = alone();
  const auto part = world->split(0);
  EXPECT_EQ(part->roll()->activity, world->roll()->activity);
  bool done = false;
  const auto before = world->roll()->activity->look();
  std::string seen;
  part->wait(
      [&] {
        std::thread([&] { seen = world->roll()->activity->look().waits; }).join();
        return std::exchange(done, !seen.empty());
      },
      10.0, "the end of the test");
  EXPECT_EQ(seen, "for the end of the test");
  const auto after = world->roll()->activity->look();
  EXPECT_EQ(after.waits, "");
  EXPECT_GT(after.pulses, before.pulses);
  EXPECT_GT(after.polls, before.polls);
}

TEST(RankGroups, OneWordingForOneRankAndForMany) {
  EXPECT_EQ(name_ranks({3}), "rank 3");
  EXPECT_EQ(name_ranks({0, 1, 2, 5}), "ranks 0-2,5");
  EXPECT_EQ(wait_within("in MPI_Iallreduce", "update of step 2"),
            "in MPI_Iallreduce in the update of step 2");
  EXPECT_EQ(wait_within("for the plan", ""), "for the plan");
  EXPECT_EQ(waiting_sentences({{"for a", {1}}, {"for b", {0, 2}}}),
            (std::vector<std::string>{"rank 1 waits for a", "ranks 0,2 wait for b"}));
}

TEST(Activity, SaysWhatHoldsATaskUp) {
  Activity activity;
  activity.begin("generation of step 5");
  const auto pulses = activity.look().pulses;
  activity.held_up("waiting for the environment: 3 conversations");
  EXPECT_EQ(activity.what(), "generation of step 5, waiting for the environment: 3 conversations");
  EXPECT_EQ(activity.look().activity, activity.what());
  EXPECT_EQ(activity.look().pulses, pulses) << "it is no progress";
  activity.held_up("");
  EXPECT_EQ(activity.what(), "generation of step 5");
  activity.held_up("waiting");
  activity.begin("update of step 5");
  EXPECT_EQ(activity.what(), "update of step 5");
}

}  // namespace
}  // namespace rollcall::comm
