// Reading a run that another process writes and packs: nothing is missed, nothing comes twice,
// nothing is called damaged.
#include "io/run_files.hpp"
#include "io/sample_run.hpp"
#include "io/source.hpp"
#include "io/verify.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <map>

namespace rollcall::io::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSteps = 120, kPackEvery = 3;
constexpr std::size_t kGroups = 2;

/// Steps that were published before the call.
std::uint64_t published(const fs::path& run) {
  return fs::exists(run / "published") ? std::stoull(content(run / "published")) : 0;
}

void write_and_pack(const fs::path& run) {
  std::vector<PackInput> waiting;
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    waiting.push_back(step % 2 == 0 ? write(run, sample(1, step, kGroups))
                                    : write_in_one(run, sample(1, step, kGroups)));
    put(run / "published.partial", std::to_string(step));
    fs::rename(run / "published.partial", run / "published");
    if (step % kPackEvery != 0) continue;
    pack(*comm::alone(), run, "train_" + std::to_string(step), waiting, identity());
    waiting.clear();
  }
}

void expect_all_steps(const fs::path& run) {
  const std::uint64_t before = published(run);
  std::vector<std::uint64_t> steps;
  each_group(run, {}, [&](const ArchivedGroup& group, const auto&) {
    return steps.push_back(group.step), true;
  });
  ASSERT_GE(steps.size(), before * kGroups);
  for (std::size_t i = 0; i < steps.size(); ++i)
    ASSERT_EQ(steps[i], 1 + i / kGroups) << "of " << before << " steps";
}

/// Every step of before is packed or has its shards, and not both.
RunFiles expect_each_step_once(const fs::path& run) {
  const std::uint64_t before = published(run);
  const RunFiles files = list_files(run);
  std::map<std::uint64_t, int> held;
  for (const ArchiveEntry& entry : files.packed)
    for (std::uint64_t step = entry.first_step; step <= entry.last_step; ++step) ++held[step];
  for (const RunFile& file : files.others)
    if (file.state == FileState::shard && file.path.find("-scores") == std::string::npos)
      ++held[std::stoull(fs::path(file.path).filename().string().substr(6, 6))];
  for (std::uint64_t step = 1; step <= before; ++step)
    EXPECT_EQ(held[step], 1) << "step " << step << " of " << before;
  return files;
}

void expect_no_damage(const fs::path& run) {
  const RunFiles files = expect_each_step_once(run);
  for (const ArchiveEntry& entry : files.packed)
    EXPECT_TRUE(verify_archive(run, entry).empty()) << entry.file.path;
  for (const RunFile& file : files.others) {
    if (file.state != FileState::shard) continue;
    const auto faults = verify_shard(run, file.path, std::nullopt);
    EXPECT_TRUE(faults.empty() || !fs::exists(run / file.path))
        << file.path << ": " << faults.front().problem;
  }
}

TEST(LiveRead, EveryPublishedGroupIsThereOnceAndWhole) {
  const RunFolder run;
  const pid_t writer = ::fork();
  if (writer == 0) {
    try {
      write_and_pack(run);
      ::_exit(0);
    } catch (...) {
      ::_exit(1);
    }
  }
  int reads = 0, status = 0;
  while (::waitpid(writer, &status, WNOHANG) == 0) {
    if (published(run) == 0) continue;
    // the moments between folder and manifest are short
    for (int again = 0; again < 40 && !HasFailure(); ++again) expect_each_step_once(run);
    expect_all_steps(run);
    expect_no_damage(run);
    if (HasFailure()) break;
    ++reads;
  }
  if (HasFailure()) ::waitpid(writer, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_GE(reads, 3);
  EXPECT_EQ(published(run), kSteps);
}

}  // namespace
}  // namespace rollcall::io::test
