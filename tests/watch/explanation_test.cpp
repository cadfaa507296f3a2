// What is said of records made by hand: who is suspected, who waits, and when nothing is said.
#include "watch/explanation.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace rollcall::watch {
namespace {

constexpr double kNow = 1'000'000.0, kWatch_s = 60.0;

WatchRecord waiting(int rank, int ranks, double silent_s = 90.0) {
  WatchRecord r{.rank = rank,
                .ranks = ranks,
                .node = "n1",
                .pid = 100 + rank,
                .stages = "update",
                .activity = "update of step 5",
                .waits = "in MPI_Iallreduce"};
  r.waits_s = r.silent_s = silent_s, r.beat_unix_s = kNow - 2;
  return r;
}
WatchRecord working(int rank, int ranks, double still_s = 90.0) {
  WatchRecord r = waiting(rank, ranks, still_s);
  r.waits.clear(), r.waits_s = 0, r.still_s = still_s;
  r.threads = {{"main", "in read", {"read", "rollcall::run::read_step()"}}};
  return r;
}
WatchRecord stopped(int rank, int ranks, double since_s = 100.0) {
  WatchRecord r = working(rank, ranks, 0.5);
  r.beat_unix_s = kNow - since_s, r.threads.clear();
  return r;
}

WatchFile file(std::vector<WatchRecord> records) {
  WatchFile f{.records = std::move(records)};
  for (const auto& r : f.records) f.ranks = std::max(f.ranks, r.ranks);
  return f;
}
std::vector<std::string> lines(std::vector<WatchRecord> records) {
  return explain(file(std::move(records)), kNow, kWatch_s).lines;
}
using Lines = std::vector<std::string>;

TEST(Explanation, NothingIsSaidWhileSomebodyGetsOn) {
  EXPECT_FALSE(explain(file({waiting(0, 2), working(1, 2, 10.0)}), kNow, kWatch_s).silent);
  EXPECT_EQ(lines({waiting(0, 2), working(1, 2, 10.0)}), Lines{});
  EXPECT_FALSE(explain(file({waiting(0, 2), waiting(1, 2, 30.0)}), kNow, kWatch_s).silent);
  EXPECT_FALSE(explain(file({}), kNow, kWatch_s).silent);
  EXPECT_FALSE(explain(file({waiting(0, 1)}), kNow, 0.0).silent);
  EXPECT_NEAR(explain(file({waiting(0, 2), working(1, 2, 10.0)}), kNow, kWatch_s).quiet_s, 12.0,
              1e-9);
}

TEST(Explanation, TheOneThatWorksIsNamedWithItsStack) {
  EXPECT_EQ(
      lines({waiting(0, 3), working(1, 3), waiting(2, 3)}),
      (Lines{
          "no progress for 92 s:",
          "  rank 1 on n1 (update) in the update of step 5: nothing done for 92 s: computing or stuck",
          "    main: in read", "      at read", "      at rollcall::run::read_step()",
          "  ranks 0,2 wait in MPI_Iallreduce in the update of step 5"}));
}

TEST(Explanation, TheOneThatNoLongerWritesIsNamedWithWhatItDid) {
  EXPECT_EQ(
      lines({waiting(0, 3), stopped(1, 3), waiting(2, 3)}),
      (Lines{
          "no progress for 92 s:",
          "  rank 1 on n1 (update), last seen in the update of step 5: no sign of life for 100 s: stopped, dead, or its node or file system is unreachable",
          "  ranks 0,2 wait in MPI_Iallreduce in the update of step 5"}));
  // Its last word was just before the silence began: it is late, not busy.
  EXPECT_NE(
      lines({waiting(0, 2, 61.0), stopped(1, 2, 62.0)}).at(1).find("no sign of life for 62 s"),
      std::string::npos);
}

TEST(Explanation, AWaitInWhichNobodyPollsIsStuck) {
  auto held = waiting(1, 2);
  held.still_s = 90.0;
  EXPECT_NE(
      lines({waiting(0, 2), held})
          .at(1)
          .find(
              "rank 1 on n1 (update) in the update of step 5, waiting in MPI_Iallreduce: nothing done for 92 s"),
      std::string::npos);
}

TEST(Explanation, AllWait) {
  auto writer = waiting(0, 2);
  writer.waits = "for the writing of a checkpoint";
  writer.threads = {{"thread 7", "in openat", {"open64", "rollcall::io::write()"}}};
  const auto said = lines({writer, waiting(1, 2)});
  EXPECT_EQ(said.at(0),
            "no progress for 92 s; all ranks wait for each other or for threads of their own:");
  EXPECT_EQ(said.at(1), "  rank 0 waits for the writing of a checkpoint in the update of step 5");
  EXPECT_EQ(said.at(2), "  rank 1 waits in MPI_Iallreduce in the update of step 5");
  EXPECT_EQ(said.at(3), "  rank 0 waits, but its other threads do something:");
  EXPECT_EQ(said.at(4), "    thread 7: in openat");
  EXPECT_EQ(lines({waiting(0, 1)}).at(0), "no progress for 92 s; the only rank waits:");
}

TEST(Explanation, ManyRanksAreFewLines) {
  constexpr int kRanks = 4096;
  std::vector<WatchRecord> records;
  for (int rank = 0; rank < kRanks; ++rank) {
    records.push_back(rank == 77     ? working(rank, kRanks)
                      : rank >= 4000 ? stopped(rank, kRanks)
                                     : waiting(rank, kRanks));
    records.back().node = fmt::format("n{}", rank / 8);
    for (auto& t : records.back().threads) t.thread = "main";
  }
  const auto said = lines(records);
  ASSERT_EQ(said.size(), 7U);
  EXPECT_EQ(
      said.at(1),
      "  ranks 4000-4095 on 12 nodes (update), last seen in the update of step 5: no sign of life for 100 s: stopped, dead, or its node or file system is unreachable");
  EXPECT_EQ(
      said.at(2),
      "  rank 77 on n9 (update) in the update of step 5: nothing done for 92 s: computing or stuck");
  EXPECT_EQ(said.at(6), "  ranks 0-76,78-3999 wait in MPI_Iallreduce in the update of step 5");
  for (int rank = 0; rank < kRanks; ++rank)
    records[std::size_t(rank)].waits = fmt::format("for {}", rank),
    records[std::size_t(rank)].activity = std::to_string(rank);
  EXPECT_LT(lines(records).size(), 30U);
}

TEST(Explanation, WorkersOfOneStackAreOneLine) {
  auto r = working(0, 1);
  r.threads = {{"main", "in futex", {"WorkerPool::run()"}},
               {"thread 5", "running", {"f()"}},
               {"thread 6", "running", {"f()"}},
               {"thread 9", "in the kernel, not to be interrupted", {}}};
  const auto said = lines({r});
  EXPECT_EQ(Lines(said.begin() + 4, said.end()),
            (Lines{"    thread 5 and 1 more: running", "      at f()",
                   "    thread 9: in the kernel, not to be interrupted, no stack"}));
}

TEST(Explanation, WhoHasEndedIsNoSuspectAndWhoNeverSpokeIs) {
  auto ended = working(0, 2);
  ended.ended = true;
  EXPECT_FALSE(explain(file({ended}), kNow + 1000, kWatch_s).silent);
  EXPECT_EQ(lines({ended, waiting(1, 2)}).size(), 2U);
  const auto said = lines({waiting(0, 4), waiting(2, 4)});
  EXPECT_EQ(said.at(1), "  ranks 1,3: nothing was ever heard of them");
}

TEST(Explanation, AReadersClockThatIsWrongByLessStopsNobody) {
  const auto two = file({waiting(0, 2), working(1, 2, 1.0)});
  EXPECT_EQ(time_of(two, kNow + 50, kWatch_s), kNow - 2);
  EXPECT_EQ(time_of(two, kNow - 500, kWatch_s), kNow - 2) << "of a clock that is slow";
  EXPECT_EQ(time_of(two, kNow + 70, kWatch_s), kNow + 70);
  EXPECT_FALSE(explain(two, time_of(two, kNow + 50, kWatch_s), kWatch_s).silent);
  const auto all_old = explain(two, time_of(two, kNow + 70, kWatch_s), kWatch_s).lines;
  ASSERT_EQ(all_old.size(), 3U);
  EXPECT_NE(all_old.at(1).find("no sign of life for 72 s"), std::string::npos);
}

TEST(SilenceTeller, SaysItOnceAndAgainWhenTheSilenceHasDoubled) {
  SilenceTeller teller;
  const auto at = [&](double quiet_s) {
    Explanation e{.silent = true, .quiet_s = quiet_s, .lines = {"x"}};
    return teller.tell(e).size();
  };
  EXPECT_EQ(teller.tell({}).size(), 0U);
  EXPECT_EQ(at(61), 1U);
  EXPECT_EQ(at(66), 0U);
  EXPECT_EQ(at(121), 0U);
  EXPECT_EQ(at(122), 1U);
  EXPECT_EQ(at(200), 0U);
  EXPECT_EQ(teller.tell({}), Lines{"the run makes progress again, after 200 s without"});
  EXPECT_EQ(teller.tell({}).size(), 0U);
  EXPECT_EQ(at(61), 1U);
}

TEST(LastSeen, OfARunThatIsNoMore) {
  auto ended = working(2, 3);
  ended.ended = true;
  EXPECT_EQ(last_seen(file({working(0, 3), waiting(1, 3), ended})),
            (Lines{"rank 2 ended in order", "rank 0 in the update of step 5",
                   "rank 1 in the update of step 5, waiting in MPI_Iallreduce"}));
}

}  // namespace
}  // namespace rollcall::watch
