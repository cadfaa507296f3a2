// The reference alone: where its weights come from, how they follow the policy, and when a
// checkpoint takes over the file of the one before.
#include "run/update/reference_model.hpp"

#include "io/sample_run.hpp"
#include "model/tensors/model_folder.hpp"
#include "run/checkpoint/part.hpp"
#include "run/small_job.hpp"

#include <gtest/gtest.h>

namespace rollcall::run {
namespace {

struct Reference : ::testing::Test {
  Reference() { open_policy(context, *alone); }

  /// Writes the reference into a checkpoint after `earlier`; returns whether it was taken over.
  bool save(const std::string& name, const std::string& earlier) {
    io::CheckpointShare share{.files = {}, .earlier = earlier, .unchanged = {}};
    reference.add_to(share, name);
    io::write_checkpoint(folder, name, share);
    return !share.unchanged.empty();
  }
  model::AlignedFloats saved(const std::string& name) {
    const io::StoredCheckpoint checkpoint(folder, name);
    return model::read_weights(context.store->config(),
                               checkpoint.verified(file_of(Part::reference)));
  }

  io::test::RunFolder folder;
  RunContext context = test::small_job(folder.path(), {"reference.decay=0.5"});
  std::unique_ptr<comm::Communicator> alone = comm::alone();
  ReferenceModel reference{context.config, *context.store};
};

TEST_F(Reference, IsThePolicyThatTrainingBeginsWith) {
  io::CheckpointShare share;
  reference.add_to(share, "sft_000001");
  EXPECT_TRUE(reference.takes_policy() && share.files.empty() && share.unchanged.empty());
  reference.begin_training();
  EXPECT_FALSE(reference.takes_policy());
  EXPECT_FALSE(save("train_000001", ""));
  const auto weights = saved("train_000001");
  const auto policy = std::as_const(*context.store).weights();
  EXPECT_TRUE(std::equal(policy.begin(), policy.end(), weights.span().begin()));
}

TEST_F(Reference, IsTakenOverUntilItChanges) {
  reference.begin_training();
  EXPECT_FALSE(save("train_000001", ""));
  EXPECT_TRUE(save("train_000002", "train_000001"));
  EXPECT_FALSE(save("train_000004", "train_000003")) << "that checkpoint has another reference";
  reference.after_step(1);
  EXPECT_FALSE(save("train_000005", "train_000004"));
}

TEST_F(Reference, FollowsThePolicyAsAMovingAverage) {
  reference.begin_training();
  const auto weights = context.store->weights();
  const std::vector<float> before(weights.begin(), weights.end());
  for (float& weight : weights) weight += 1.0F;
  ASSERT_TRUE(reference.changes(1));
  reference.after_step(1);
  save("train_000001", "");
  const auto after = saved("train_000001");
  for (std::size_t i = 0; i < before.size(); ++i)
    ASSERT_EQ(after.span()[i], float(0.5 * double(before[i]) + 0.5 * double(weights[i]))) << i;
}

TEST_F(Reference, BeginsAnewWhereACheckpointHasNone) {
  reference.begin_training();
  save("train_000001", "");
  io::write_checkpoint(folder, {"sft_000001", {{"config.json", "{}"}}});
  reference.restore(io::StoredCheckpoint(folder, "sft_000001"));
  EXPECT_TRUE(reference.takes_policy());
  reference.restore(io::StoredCheckpoint(folder, "train_000001"));
  EXPECT_FALSE(reference.takes_policy());
}

}  // namespace
}  // namespace rollcall::run
