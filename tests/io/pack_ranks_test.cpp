// Packing by several ranks through parallel HDF5: the same bytes as by one rank, and a fault of one
// rank is everybody's.
#include "base/errors/error.hpp"
#include "io/sample_run.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <memory>

namespace rollcall::io::test {
namespace {

namespace fs = std::filesystem;

class Pack : public ::testing::Test {
 protected:
  Pack() : scope_(nullptr, nullptr), world_(scope_.world()) {
    if (world_->rank() == 0) own_ = std::make_unique<RunFolder>();
    std::string path = own_ ? own_->path().string() : "";
    path = world_->gather_all(path)[0];
    run_ = path;
  }
  ~Pack() override { world_->barrier(); }  // rank 0's folder outlives everyone's last look

  /// Rank 0 writes `steps` uneven steps; all ranks learn of the files.
  std::vector<PackInput> write_steps(std::uint64_t steps) {
    std::vector<PackInput> inputs;
    for (std::uint64_t step = 0; step < steps; ++step)
      for (std::uint32_t round : {0U, 1U}) {
        const Sample s = sample(5, step, 1 + step % 4, round);
        inputs.push_back(
            rank0([&] { return s.shard.step % 2 == 0 ? write(run_, s) : write_in_one(run_, s); }));
      }
    return inputs;
  }

  void expect_bytes_of_one_rank(const std::string& name, const std::vector<Sample>& samples);

  template <class F>
  PackInput rank0(const F& f) {
    PackInput files;
    if (world_->rank() == 0) files = f();
    const auto share = [&](PublishedFile& file) {
      const std::string bytes = world_->gather_all(file.path + " " + std::to_string(file.bytes) +
                                                   " " + std::to_string(file.checksum))[0];
      const auto first = bytes.find(' '), second = bytes.rfind(' ');
      file = {bytes.substr(0, first), std::stoull(bytes.substr(first)),
              std::stoull(bytes.substr(second))};
    };
    share(files.shard);
    share(files.scores);
    return files;
  }

  comm::MpiScope scope_;
  std::unique_ptr<comm::Communicator> world_;
  std::unique_ptr<RunFolder> own_;
  fs::path run_;
};

TEST_F(Pack, BytesAreThoseOfOneRank) {
  for (const std::uint64_t steps : {1, 2, 7}) {
    const auto inputs = write_steps(steps);
    const std::string before = archive_sha256(run_);
    world_->barrier();
    const ArchiveEntry entry =
        pack(*world_, run_, "steps" + std::to_string(steps), inputs, identity());
    EXPECT_EQ(archive_sha256(run_), before);
    // The same shards packed alone, in a folder of each rank's own.
    const RunFolder alone;
    std::vector<PackInput> copies;
    for (std::uint64_t step = 0; step < steps; ++step)
      for (std::uint32_t round : {0U, 1U})
        copies.push_back(write(alone, sample(5, step, 1 + step % 4, round)));
    EXPECT_EQ(pack(*comm::alone(), alone, "x", copies, identity()).file.checksum,
              entry.file.checksum);
    world_->barrier();
    if (world_->rank() == 0) fs::remove_all(run_ / "archive");
    world_->barrier();
  }
}

/// Packed together, and by the first rank alone in another folder.
void Pack::expect_bytes_of_one_rank(const std::string& name, const std::vector<Sample>& samples) {
  std::vector<PackInput> inputs, copies;
  for (const Sample& s : samples)
    inputs.push_back(
        rank0([&] { return s.shard.step % 2 == 0 ? write(run_, s) : write_in_one(run_, s); }));
  const ArchiveEntry entry = pack(*world_, run_, name, inputs, identity());
  if (world_->rank() != 0) return;
  const RunFolder alone;
  for (const Sample& s : samples) copies.push_back(write(alone, s));
  EXPECT_EQ(pack(*comm::alone(), alone, name, copies, identity()).file.checksum,
            entry.file.checksum);
}

/// nobody answered: text/extracted has no byte
Sample unanswered(std::uint64_t step) {
  Sample s = sample(5, step, 3);
  for (auto& group : s.scores.scores)
    for (Score& score : group) score.answer.clear();
  return s;
}

TEST_F(Pack, WhatOpenMpiLeftOfAStoppedPackIsRemoved) {
  const auto inputs = write_steps(2);
  const fs::path left = run_ / "archive" / "again.h5.partial.data.7",
                 other = run_ / "archive" / "other.h5.partial.data.7";
  if (world_->rank() == 0) put(left, ""), put(other, "");
  world_->barrier();
  pack(*world_, run_, "again", inputs, identity());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(Pack, ColumnsMayBeEmptyOnSomeRanks) {
  expect_bytes_of_one_rank("first",
                           {unanswered(1), unanswered(2), sample(5, 3, 9), sample(5, 4, 9)});
  expect_bytes_of_one_rank("last",
                           {sample(5, 5, 9), sample(5, 6, 9), unanswered(7), unanswered(8)});
}

/// More than a piece of policy versions on every rank (8 MiB), so that each writes its own; and in
/// the next file on the first rank only.
TEST_F(Pack, LongStretchesAreWrittenInPieces) {
  const auto lengthen = [](Sample s, std::size_t tokens) {
    Turn& turn = s.shard.groups[0].rollouts[0].turns[1];
    turn.tokens.assign(tokens, 7), turn.columns.logprob.assign(tokens, -0.5F),
        turn.columns.entropy.assign(tokens, 0.5F), turn.policy_version.resize(tokens);
    turn.kept_mass.clear(), turn.kept = {};
    for (std::size_t i = 0; i < tokens; ++i) turn.policy_version[i] = i * s.shard.step;
    return s;
  };
  constexpr std::size_t kLong = (std::size_t{9} << 20U) / sizeof(std::uint64_t);
  std::vector<Sample> all;
  for (std::uint64_t step = 1; step <= 4; ++step)
    all.push_back(lengthen(sample(5, step, 2), kLong + step));
  expect_bytes_of_one_rank("all", all);
  expect_bytes_of_one_rank("one",
                           {lengthen(sample(5, 5, 2), kLong), sample(5, 6, 2), sample(5, 7, 2)});
}

TEST_F(Pack, ColumnsMayBeEmptyOnEveryRank) {
  const Sample s = unanswered(1);
  std::vector<PackInput> inputs{rank0([&] { return write(run_, s); })};
  EXPECT_EQ(pack(*world_, run_, "unanswered", inputs, identity()).groups, 3U);
  inputs = {rank0([&] { return write(run_, sample(5, 2, 0)); })};
  EXPECT_EQ(pack(*world_, run_, "nothing", inputs, identity()).groups, 0U);
}

TEST_F(Pack, AFaultOnOneRankIsThrownOnAll) {
  const auto inputs = write_steps(5);
  const std::string damaged = inputs.back().shard.path;  // read by the last rank with a share
  if (world_->rank() == 0) {
    std::string bytes = content(run_ / damaged);
    bytes[bytes.size() / 2] = char(bytes[bytes.size() / 2] ^ 1);
    put(run_ / damaged, bytes);
  }
  world_->barrier();
  const std::string fault = fault_of([&] { pack(*world_, run_, "x", inputs, identity()); });
  EXPECT_NE(fault.find(damaged + ": its checksum"), std::string::npos) << fault;
  EXPECT_FALSE(fs::exists(run_ / "archive" / "x.h5"));
  EXPECT_TRUE(fs::exists(run_ / inputs.front().shard.path));
}

}  // namespace
}  // namespace rollcall::io::test
