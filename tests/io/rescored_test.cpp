// Verdicts beside an archive: written whole or not at all, read back, and those of steps that were
// set aside.
#include "io/rescored.hpp"

#include "base/errors/error.hpp"
#include "io/run_files.hpp"
#include "io/sample_run.hpp"
#include "io/stored_verdicts.hpp"

#include <gtest/gtest.h>

namespace rollcall::io {
namespace {

namespace fs = std::filesystem;
using namespace test;

Rescored rescored_of(const Sample& s) {
  Rescored made{
      .purpose = s.shard.purpose, .component_names = s.scores.component_names, .groups = {}};
  for (std::size_t g = 0; g < s.shard.groups.size(); ++g)
    made.groups.push_back({s.shard.groups[g], s.scores.scores[g]});
  return made;
}

TEST(Rescored, ComesBackWithSamplesAndScores) {
  const RunFolder run;
  const Sample train = sample(1, 2, 3), eval = sample(1, 2, 2, 0, 1, Purpose::eval);
  write_rescored(run, "again", {rescored_of(train), rescored_of(eval)}, "./grade --strict",
                 identity());
  const Rescored back = read_rescored(run, "again", Purpose::train);
  EXPECT_EQ(back.purpose, Purpose::train);
  EXPECT_EQ(back.component_names, train.scores.component_names);
  ASSERT_EQ(back.groups.size(), 3U);
  for (std::size_t g = 0; g < 3; ++g) {
    EXPECT_EQ(back.groups[g].group.id, train.shard.groups[g].id);
    EXPECT_TRUE(same(back.groups[g].scores, train.scores.scores[g]));
    for (std::size_t i = 0; i < back.groups[g].scores.size(); ++i)
      EXPECT_EQ(back.groups[g].group.rollouts[i].sample, train.shard.groups[g].rollouts[i].sample);
  }
  EXPECT_TRUE(
      same(read_rescored(run, "again", Purpose::eval).groups[0].scores, eval.scores.scores[0]));
}

TEST(Rescored, IsNeverOverwrittenNorHalfThere) {
  const RunFolder run;
  put(run.path() / "rescored/.again.partial/train.h5", "of a command that was killed");
  EXPECT_THROW(read_rescored(run, "again", Purpose::train), InputError);
  write_rescored(run, "again", {rescored_of(sample(1, 2, 3))}, "x", identity());
  EXPECT_FALSE(fs::exists(run.path() / "rescored/.again.partial"));
  EXPECT_THROW(write_rescored(run, "again", {}, "y", identity()), InputError);
  try {
    read_rescored(run, "agian", Purpose::train);
    FAIL() << "a name that is not there was read";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean again"), std::string::npos) << e.what();
  }
  const fs::path file = rescored_folder(run, "again") / "train.h5";
  std::string bytes = content(file);
  bytes[bytes.size() / 2] = char(~bytes[bytes.size() / 2]);
  const std::string broken = bytes.substr(0, bytes.size() / 2);
  put(file, broken);
  EXPECT_NE(fault_of([&] { read_rescored(run, "again", Purpose::train); }), "");
}

/// The earliest folder first, and what cannot be read is named.
TEST(StoredVerdicts, AreThoseOfStepsThatWereSetAside) {
  const RunFolder run;
  Sample s = sample(1, 2, 2);
  for (auto& group : s.scores.scores)
    for (auto& score : group) score.undecided = score.clock_ended = false;
  auto& flagged = s.scores.scores[1][0];
  flagged.undecided = true, flagged.correct = false, flagged.reason = "no verdict after 5 s";
  write(run, s);
  Sample decided = sample(1, 3, 2);
  for (auto& group : decided.scores.scores)
    for (auto& score : group) score.undecided = score.clock_ended = false;
  decided.scores.scores[1][0].clock_ended = true;
  write_in_one(run, decided);
  std::vector<std::string> unreadable;
  EXPECT_TRUE(verdicts_to_repeat(run, unreadable).empty())
      << "what is not set aside is not drawn again";
  EXPECT_EQ(set_aside_unfinished(run, {}), 3);
  put(run.path() / "set_aside/1/train-000004-00-0001-scores.h5", "damaged");
  const auto stored = verdicts_to_repeat(run, unreadable);
  ASSERT_EQ(stored.size(), 2U);
  EXPECT_TRUE(stored[0].score.clock_ended || stored[1].score.clock_ended);
  EXPECT_EQ(stored[stored[0].score.clock_ended ? 0 : 1].sample,
            decided.shard.groups[1].rollouts[0].sample);
  const auto& undecided = stored[stored[0].score.undecided ? 0 : 1];
  EXPECT_EQ(undecided.group, s.shard.groups[1].id);
  EXPECT_EQ(undecided.sample, s.shard.groups[1].rollouts[0].sample);
  EXPECT_EQ(undecided.response, s.shard.groups[1].rollouts[0].text);
  EXPECT_EQ(undecided.prompt, s.prompts[1].text);
  EXPECT_EQ(undecided.score.reason, "no verdict after 5 s");
  EXPECT_EQ(undecided.score.components, flagged.components);
  ASSERT_EQ(unreadable.size(), 1U);
  EXPECT_NE(unreadable[0].find("train-000004-00-0001-scores.h5"), std::string::npos);
}

}  // namespace
}  // namespace rollcall::io
