// The model of a disk, on records short enough to work out by hand.
#include "faults/crash_states.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace rollcall::faults {
namespace {

using Kind = Operation::Kind;
using Files = std::map<std::string, std::string>;

Operation create(const std::string& path, std::uint64_t file) {
  return {Kind::create, path, {}, file, 0, {}};
}
Operation write(std::uint64_t file, std::uint64_t offset, const std::string& bytes) {
  return {Kind::write, {}, {}, file, offset, bytes};
}
Operation sync(std::uint64_t file) { return {Kind::sync, {}, {}, file, 0, {}}; }
Operation sync_folder(const std::string& path) { return {Kind::sync_folder, path, {}, 0, 0, {}}; }
Operation named(Kind kind, const std::string& path, const std::string& target = {}) {
  return {kind, path, target, 0, 0, {}};
}

/// All states that a number of draws finds behind the whole record.
std::set<Files> states(const std::vector<Operation>& record, std::uint64_t draws = 400) {
  const Disk disk(record);
  std::set<Files> found;
  for (std::uint64_t draw = 0; draw < draws; ++draw)
    found.insert(disk.cut(record.size(), draw, RandomStream(1, RandomPurpose::test, draw)).files);
  return found;
}

TEST(CrashStates, AFileNeedsBothItsContentAndItsName) {
  const std::vector<Operation> record{create("a", 1), write(1, 0, "xy")};
  EXPECT_EQ(states(record), (std::set<Files>{{}, {{"a", ""}}, {{"a", "xy"}}}));
  EXPECT_EQ(states({record[0], record[1], sync(1)}), (std::set<Files>{{}, {{"a", "xy"}}}));
  EXPECT_EQ(states({record[0], record[1], sync_folder(".")}),
            (std::set<Files>{{{"a", ""}}, {{"a", "xy"}}}));
  EXPECT_EQ(states({record[0], record[1], sync(1), sync_folder(".")}),
            (std::set<Files>{{{"a", "xy"}}}));
}

TEST(CrashStates, WritesAreTornAtBlocks) {
  const std::string old(1024, 'o'), fresh(1024, 'n');
  const auto found =
      states({create("a", 1), write(1, 0, old), sync(1), sync_folder("."), write(1, 0, fresh)});
  const std::string first = fresh.substr(0, 512) + old.substr(0, 512),
                    second = old.substr(0, 512) + fresh.substr(0, 512);
  EXPECT_EQ(found,
            (std::set<Files>{{{"a", old}}, {{"a", fresh}}, {{"a", first}}, {{"a", second}}}));
}

TEST(CrashStates, ALostBlockBelowTheEndReadsAsZeros) {
  const auto found =
      states({create("a", 1), sync_folder("."), write(1, 0, std::string(1024, 'n'))});
  EXPECT_TRUE(found.contains({{"a", std::string(512, '\0') + std::string(512, 'n')}}));
  EXPECT_TRUE(found.contains({{"a", std::string(512, 'n')}})) << "the end of the file may be lost";
}

TEST(CrashStates, NamesChangeInOrderWithinAFolder) {
  std::vector<Operation> record{create("new", 1), write(1, 0, "n"), sync(1),
                                create("old", 2), write(2, 0, "o"), sync(2),
                                sync_folder(".")};
  record.push_back(named(Kind::rename, "new", "old"));
  record.push_back(create("late", 3));
  EXPECT_EQ(states(record),
            (std::set<Files>{
                {{"new", "n"}, {"old", "o"}}, {{"old", "n"}}, {{"old", "n"}, {"late", ""}}}));
  record.push_back(sync_folder("."));
  EXPECT_EQ(states(record).size(), 1U);
}

TEST(CrashStates, ExchangesLinksAndFolders) {
  std::vector<Operation> record{named(Kind::mkdir, "d"), create("d/f", 1), write(1, 0, "f"),
                                sync(1), sync_folder("d")};
  EXPECT_EQ(states(record), (std::set<Files>{{}, {{"d/f", "f"}}}))
      << "a folder whose own name is lost is lost with all in it";
  record.push_back(sync_folder("."));
  record.push_back(named(Kind::mkdir, "e"));
  record.push_back(named(Kind::link, "d/f", "e/g"));
  EXPECT_EQ(states(record), (std::set<Files>{{{"d/f", "f"}}, {{"d/f", "f"}, {"e/g", "f"}}}));
  record.push_back(sync_folder("e")), record.push_back(sync_folder("."));
  record.push_back(named(Kind::exchange, "d", "e"));
  EXPECT_EQ(states(record),
            (std::set<Files>{{{"d/f", "f"}, {"e/g", "f"}}, {{"e/f", "f"}, {"d/g", "f"}}}));
}

TEST(CrashStates, PromisesAreTheLastOnesBeforeTheCut) {
  const Disk disk({named(Kind::mark, "", "checkpoint 2"), create("a", 1),
                   named(Kind::mark, "", "checkpoint 4")});
  EXPECT_EQ(disk.promised(0, "checkpoint"), 0);
  EXPECT_EQ(disk.promised(2, "checkpoint"), 2);
  EXPECT_EQ(disk.promised(3, "checkpoint"), 4);
}

}  // namespace
}  // namespace rollcall::faults
