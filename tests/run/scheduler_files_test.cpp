// The scheduler in checkpoints: what is read is what was saved, however many checkpoints lie
// between, and a checkpoint costs what changed.
#include "run/checkpoint/scheduler_files.hpp"

#include "base/errors/error.hpp"
#include "io/sample_run.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

namespace rollcall::run {
namespace {

using io::test::RunFolder;
using scheduling::make_scheduler;

std::unique_ptr<scheduling::Scheduler> policy(std::uint64_t prompts) {
  auto table = scheduling::prompt_table(prompts);
  for (std::uint64_t p = 0; p < prompts; ++p) table.content.push_back(p * p + 1);
  return make_scheduler({"gdro_both"}, {}, table, 1);
}

void train(scheduling::Scheduler& p, std::uint64_t step, std::int64_t prompts) {
  scheduling::simulate_step(p, {.step = step,
                                .prompts = prompts,
                                .budget = 4 * prompts,
                                .min_rollouts = 1,
                                .max_rollouts = 12});
}

/// Writes a checkpoint; returns the bytes of the files that were written rather than taken over.
std::uint64_t save(const RunFolder& run, SchedulerFiles& files, scheduling::Scheduler& p,
                   const std::string& name, std::string& earlier) {
  io::CheckpointShare share{.files = {}, .earlier = earlier, .unchanged = {}};
  files.add_to(share, p);
  std::uint64_t bytes = 0;
  for (const auto& [file, bytes_of] : share.files) bytes += bytes_of().size();
  io::end_checkpoint(run, name, io::write_share(run, name, share));
  io::prune_checkpoints(run, 1, {});
  earlier = name;
  return bytes;
}

TEST(SchedulerFiles, AreTheStateAfterAnyNumberOfCheckpoints) {
  const RunFolder run;
  const auto p = policy(3000);
  SchedulerFiles files;
  std::string earlier;
  std::size_t bases = 0;
  for (std::uint64_t step = 0; step < 150; ++step) {  // long enough for several bases: each holds
                                                      // at most 64 row files
    train(*p, step, 40);
    save(run, files, *p, "train_" + std::to_string(step), earlier);
    if (step % 7 != 0) continue;
    const io::StoredCheckpoint read(run, earlier);
    bases += read.files().contains("scheduler-000002.rows") ? 0 : 1;
    const auto resumed = policy(3000);
    SchedulerFiles again;
    again.load(*resumed, read);
    ASSERT_EQ(resumed->save(), p->save()) << step;
    files = again;  // a resumed run goes on with what it found
  }
  EXPECT_LT(bases, 10U);
}

TEST(SchedulerFiles, CostWhatChanged) {
  std::vector<double> bytes;
  for (const std::int64_t prompts_a_step : {32, 256}) {
    const RunFolder run;
    const auto p = policy(50000);
    SchedulerFiles files;
    std::string earlier;
    for (std::uint64_t step = 0; step < 40; ++step) train(*p, step, 1024);  // much is known before
    save(run, files, *p, "base", earlier);
    std::uint64_t sum = 0;
    for (std::uint64_t step = 40; step < 50; ++step) {
      train(*p, step, prompts_a_step);
      sum += save(run, files, *p, "train_" + std::to_string(step), earlier);
    }
    bytes.push_back(double(sum) / 10);
  }
  EXPECT_LT(bytes[0], 32 * 2.5 * 20 + 4000);  // 20 bytes a row, a neighbour now and then, and the
                                              // head
  EXPECT_GT(bytes[1], 4 * bytes[0] - 4 * 4000);
  EXPECT_LT(bytes[1], 256 * 2.5 * 20 + 4000);
}

TEST(SchedulerFiles, BeginAnewWhenThePromptsHaveChanged) {
  const RunFolder run;
  const auto p = policy(50), other = policy(60);
  SchedulerFiles files;
  std::string earlier;
  for (std::uint64_t step = 0; step < 5; ++step)
    train(*p, step, 8), save(run, files, *p, "train_" + std::to_string(step), earlier);
  EXPECT_EQ(files.load(*other, io::StoredCheckpoint(run, earlier)).fresh, 10U);
  save(run, files, *other, "changed", earlier);
  EXPECT_FALSE(io::StoredCheckpoint(run, "changed").files().contains("scheduler-000002.rows"));
  auto lacking = io::read_checkpoint(run, "changed");
  lacking.name = "lacking", lacking.files.erase("scheduler.prompts");
  io::write_checkpoint(run, lacking);
  EXPECT_THROW(files.load(*other, io::StoredCheckpoint(run, "lacking")), StorageError);
}

}  // namespace
}  // namespace rollcall::run
