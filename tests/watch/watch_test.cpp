// Slots of RUN/watch: there and back, what does not fit, and whatever else may lie there.
#include "watch/watch.hpp"

#include "base/files/file.hpp"
#include "base/text/json.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <tuple>

namespace rollcall::watch {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::path(::testing::TempDir()) / ("watch_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

WatchRecord record(int rank, int ranks = 3) {
  WatchRecord r{.rank = rank,
                .ranks = ranks,
                .node = "n1",
                .pid = 4711,
                .stages = "generation, update",
                .activity = "update of step 5",
                .waits = "for \"x\""};
  r.activity_s = 1.5, r.waits_s = 0.5, r.silent_s = 61.2, r.still_s = 3.0,
  r.pulses = 12345678901234, r.beat_unix_s = 1764000000.125;
  r.threads = {{"main", "in read", {"read", "f()"}}, {"thread 9", "running", {}}};
  return r;
}

void write_raw(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(WatchFile, ASlotIsOneLineOfJson) {
  const std::string slot = to_slot(record(1));
  EXPECT_EQ(slot.size(), kWatchSlot);
  EXPECT_EQ(slot.find('\n'), kWatchSlot - 1);
  EXPECT_EQ(nlohmann::json::parse(slot).at("activity"), "update of step 5");
  const auto back = from_slot(slot, 1);
  ASSERT_TRUE(back);
  const auto sent = record(1);
  EXPECT_EQ(back->threads, sent.threads);
  EXPECT_EQ(std::tie(back->rank, back->ranks, back->node, back->pid, back->stages, back->activity,
                     back->waits, back->pulses, back->beat_unix_s, back->silent_s),
            std::tie(sent.rank, sent.ranks, sent.node, sent.pid, sent.stages, sent.activity,
                     sent.waits, sent.pulses, sent.beat_unix_s, sent.silent_s));
  EXPECT_FALSE(from_slot(slot, 2)) << "of another rank";
}

TEST(WatchFile, WhatDoesNotFitLosesItsOuterFrames) {
  auto r = record(0);
  r.activity = std::string(100'000, '\xff');  // not UTF-8
  for (auto& t : r.threads) t.frames.assign(25, std::string(150, 'f'));
  r.threads.front().frames.front() = "innermost";
  const std::string slot = to_slot(r);
  ASSERT_EQ(slot.size(), kWatchSlot);
  const auto back = from_slot(slot, 0);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->threads.front().frames.front(), "innermost");
  r.threads.assign(1, {"main", std::string(10'000, 's'), {}});
  EXPECT_TRUE(from_slot(to_slot(r), 0)) << "a state is no longer than its slot";
}

TEST(WatchFile, RanksWriteInAnyOrder) {
  const Folder folder;
  EXPECT_FALSE(read_watch(folder.path));
  ASSERT_EQ(write_record(folder.path, record(2)), "");
  auto file = read_watch(folder.path);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->ranks, 3);
  ASSERT_EQ(file->records.size(), 1U);
  EXPECT_EQ(file->records.front().rank, 2);
  EXPECT_EQ(file->unreadable, 0) << "a slot that nobody has written is none";
  for (const int rank : {1, 0, 1}) ASSERT_EQ(write_record(folder.path, record(rank)), "");
  EXPECT_EQ(read_watch(folder.path)->records.size(), 3U);
  EXPECT_EQ(read_watch(folder.path, 1)->records.size(), 1U);
  EXPECT_EQ(fs::file_size(watch_file(folder.path)), 3 * kWatchSlot);
}

TEST(WatchFile, TellsHowLongARankStoodStill) {
  auto self = record(0), other = record(1), third = record(2);
  EXPECT_EQ(longest_standstill({{self, other, third}, 3, 0}, 0, 0.0), 0.0);
  self.stood_still_s = 900.0, self.moved_unix_s = 2000.0;
  other.stood_still_s = 400.0, other.moved_unix_s = 1000.0;
  third.stood_still_s = 300.0, third.moved_unix_s = 2000.0;
  const WatchFile file{{self, *from_slot(to_slot(other), 1), third}, 3, 0};
  EXPECT_EQ(longest_standstill(file, 0, 500.0), 400.0) << "the longest of the others";
  EXPECT_EQ(longest_standstill(file, 0, 1500.0), 300.0)
      << "the other one was over before the wait began";
  EXPECT_EQ(longest_standstill(file, 0, 2500.0), 0.0);
}

TEST(WatchFile, TroubleIsTextAndNeverThrows) {
  const Folder folder;
  EXPECT_NE(write_record(folder.path / "none", record(0)).find("No such file"), std::string::npos);
  fs::create_directory(watch_file(folder.path));
  EXPECT_NE(write_record(folder.path, record(0)), "");
  const auto file = read_watch(folder.path);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->records.empty());
  EXPECT_EQ(file->unreadable, 1);
}

TEST(WatchFile, TornAndForeignFilesAreRead) {
  const Folder folder;
  const std::string three = to_slot(record(0)) + to_slot(record(1)) + to_slot(record(2));
  const auto read = [&](const std::string& text) {
    write_raw(watch_file(folder.path), text);
    return *read_watch(folder.path);
  };
  EXPECT_TRUE(read("").records.empty());
  EXPECT_EQ(read("hello\n").unreadable, 1);
  EXPECT_EQ(read(three.substr(0, 2 * kWatchSlot + 100)).records.size(), 2U);
  EXPECT_EQ(read(three.substr(0, 2 * kWatchSlot + 100)).unreadable, 1);
  EXPECT_EQ(read(three.substr(100)).records.size(), 0U);
  EXPECT_LT(read(std::string(5'000'000, 'x')).records.size(), 1U);
  auto many = record(0);
  many.ranks = 2'000'000'000;
  EXPECT_EQ(read(to_slot(many)).records.size(), 0U);
}

TEST(WatchFile, ManyChangesDoNoHarm) {
  std::mt19937 random(1);
  const std::string good = to_slot(record(0));
  const std::size_t text = good.find_last_not_of(" \n") + 1;
  int still_good = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string slot = good.substr(0, text);
    for (unsigned n = 1 + random() % 3; n > 0; --n) {
      const std::size_t at = random() % slot.size();
      switch (random() % 3) {
        case 0: slot[at] = char(random()); break;
        case 1: slot.erase(at, random() % 20); break;
        default:
          slot.insert(at, 1 + random() % 3, "{}[]\",:0123456789eE-.ntf"[random() % 24]);
          break;
      }
      if (slot.empty()) break;
    }
    still_good += from_slot(slot, 0).has_value() ? 1 : 0;
  }
  EXPECT_GT(still_good, 100);
  EXPECT_LT(still_good, 90'000);
}

}  // namespace
}  // namespace rollcall::watch
