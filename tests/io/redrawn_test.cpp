// An archive file gives way to shards that hold its steps with another content, and to no others.
#include "io/redrawn.hpp"

#include "io/difference.hpp"
#include "io/sample_run.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::io::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "eval_000002-000006";

Sample evaluation(std::uint64_t seed, std::uint64_t step) {
  return sample(seed, step, 5, 0, 1, Purpose::eval);
}

std::vector<ArchivedGroup> groups_of_step(const fs::path& run_dir, std::uint64_t step) {
  std::vector<ArchivedGroup> groups;
  for (auto& group : read_archive(run_dir, read_manifest(run_dir).at(0)))
    if (group.step == step) groups.push_back(std::move(group));
  return groups;
}

TEST(Redrawn, AnEvaluationIsReplacedAndItsNeighbourStays) {
  const RunFolder run;
  const auto ranks = comm::alone();
  pack(*ranks, run, kName,
       {write_in_one(run, evaluation(1, 2)), write_in_one(run, evaluation(1, 6))}, identity());
  const auto neighbour = groups_of_step(run, 2), before = groups_of_step(run, 6);
  std::vector<PackInput> shards{write_in_one(run, evaluation(2, 6))};
  EXPECT_EQ(give_way_to(shards, run), 0) << "step 2 would be lost";
  for (const auto& [step, file] : publish_neighbours(run, Purpose::eval, 6, identity())) {
    EXPECT_EQ(step, 2U);
    shards.push_back({file, file});
  }
  ASSERT_EQ(shards.size(), 2U);
  std::swap(shards[0], shards[1]);
  EXPECT_EQ(give_way_to(shards, run), 1);
  EXPECT_TRUE(read_manifest(run).empty());
  EXPECT_FALSE(fs::exists(fs::path(run) / "archive" / (std::string(kName) + ".h5")));
  pack(*ranks, run, kName, shards, identity());
  const auto now = groups_of_step(run, 2);
  ASSERT_EQ(now.size(), neighbour.size());
  for (std::size_t g = 0; g < now.size(); ++g)
    EXPECT_EQ(first_difference(now[g], neighbour[g]), "");
  const auto after = groups_of_step(run, 6);
  ASSERT_EQ(after.size(), before.size());
  EXPECT_NE(first_difference(after[0], before[0]), "");
  EXPECT_EQ(give_way_to(shards, run), 0) << "the shards are gone: they are what was packed";
}

TEST(Redrawn, TheSameContentStays) {
  const RunFolder run;
  const auto ranks = comm::alone();
  pack(*ranks, run, kName,
       {write_in_one(run, evaluation(1, 2)), write_in_one(run, evaluation(1, 6))}, identity());
  EXPECT_EQ(
      give_way_to({write_in_one(run, evaluation(1, 2)), write_in_one(run, evaluation(1, 6))}, run),
      0);
  pack(*ranks, run, "train_000001-000001", {write_in_one(run, sample(1, 1, 4))}, identity());
  EXPECT_EQ(give_way_to({write_in_one(run, sample(2, 1, 4))}, run), 0)
      << "what was trained on is no evaluation";
  EXPECT_EQ(read_manifest(run).size(), 2U);
}

}  // namespace
}  // namespace rollcall::io::test
