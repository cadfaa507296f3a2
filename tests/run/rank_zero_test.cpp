// What rank 0 sends in whole steps grows with the step plus the ranks, and not with their product:
// the coordinator is the real one, the ranks that it speaks to are played.
#include "base/files/file.hpp"
#include "io/sample_run.hpp"
#include "run/coordinator/coordinator.hpp"
#include "run/coordinator/kept_folder.hpp"
#include "run/played_ranks.hpp"
#include "run/small_job.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

namespace rollcall::run {
namespace {

struct Enough {};  // the second step begins

struct Told {
  std::map<Tag, test::PlayedRanks::Sent> sent;
  std::size_t most_held = 0;
};

/// A supervised step, a checkpoint and a training step with four groups for each rank.
Told two_steps(const std::string& layout, int ranks) {
  const io::test::RunFolder folder;
  const FolderLock held(folder.path(), "a test");
  RunContext context = test::small_job(
      folder.path(), {"task.max_level=8", fmt::format("task.train_prompts={}", 4 * ranks),
                      "sft.steps=1", fmt::format("sft.batch_size={}", 4 * ranks), "train.steps=2",
                      fmt::format("train.prompts_per_step={}", 4 * ranks),
                      "train.rollouts_per_prompt=2", "eval.before=false"});
  context.rank_zero.lock = std::make_shared<LockFile>(folder.path());
  context.layout = comm::make_layout(layout, ranks);
  for (int rank = 0; rank < ranks; ++rank) context.layout.nodes.push_back(rank / 8 * 8);
  std::vector<int> all(context.layout.nodes.size());
  std::iota(all.begin(), all.end(), 0);
  test::PlayedRanks played(context.layout, [](const StepPlan& plan, const GroupPlan& group) {
    if (plan.step > 1) throw Enough{};
    return GroupReport{.id = group.id,
                       .level = group.level,
                       .rewards = {0.0, 1.0},
                       .correct = {0, 1},
                       .lengths = {3, 4}};
  });
  Mailbox mail(played);
  {
    Coordinator coordinator(context, mail, [&](const std::string&) { return played.next(); }, all,
                            {});
    EXPECT_THROW(coordinator.train(), Enough);
  }
  return {played.sent, played.most_held};
}

TEST(RankZero, SendsWhatTheStepAndTheRanksComeToAndNotTheirProduct) {
  for (const char* layout : {"colocated", "disaggregated"}) {
    constexpr int kFew = 32, kMany = 512;
    Told few = two_steps(layout, kFew), many = two_steps(layout, kMany);
    const double most = 1.25 * kMany / kFew;
    const auto messages =
        std::size_t(comm::make_layout(layout, kMany).of(comm::Stage::update).size());
    for (const auto& [tag, name] : std::map<Tag, const char*>{
             {Tag::plan, "plan"}, {Tag::supervise, "supervise"}, {Tag::update, "update"}}) {
      EXPECT_GT(few.sent[tag].bytes, 0U) << layout << " " << name;
      EXPECT_LT(double(many.sent[tag].bytes), most * double(few.sent[tag].bytes))
          << layout << " " << name;
    }
    for (const Tag tag : {Tag::supervise, Tag::update, Tag::save})
      EXPECT_EQ(many.sent[tag].messages, messages) << layout << " " << int(tag);
    EXPECT_EQ(many.sent[Tag::save].bytes, few.sent[Tag::save].bytes)
        << "all ranks share one request";
    EXPECT_EQ(many.sent[Tag::weights].bytes, few.sent[Tag::weights].bytes) << "and one version";
    EXPECT_LT(double(many.most_held), most * double(few.most_held)) << layout;
  }
}

}  // namespace
}  // namespace rollcall::run
