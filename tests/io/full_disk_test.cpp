// A disk that fills up: a StorageError, no file under a final name, and everything published before
// is intact.
#include "base/errors/error.hpp"
#include "io/checkpoint.hpp"
#include "io/sample_run.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

/// HDF5 cannot let go of a file whose last write failed: known to the leak sanitizer, which asks
/// for this by name.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace rollcall::io::test {
namespace {

namespace fs = std::filesystem;

/// Writes beyond `bytes` fail (EFBIG) for the life of the object: a full disk without a disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

bool empty(const fs::path& folder) { return !fs::exists(folder) || fs::is_empty(folder); }

TEST(FullDisk, ShardIsNotPublished) {
  const RunFolder run;
  const Sample s = sample(1, 2, 5);
  for (const rlim_t limit : {0, 100, 2000, 4000}) {
    const FileSizeLimit full(limit);
    EXPECT_NE(fault_of([&] { publish(run, draft_shard(s.shard, s.prompts, identity())); }), "")
        << limit;
    EXPECT_TRUE(empty(run.path() / "shards")) << limit;
  }
  EXPECT_EQ(fault_of([&] { write(run, s); }), "");
}

TEST(FullDisk, PackKeepsTheShards) {
  const RunFolder run;
  const std::vector<PackInput> inputs{write(run, sample(1, 1, 5)),
                                      write_in_one(run, sample(1, 2, 5))};
  const std::string content_hash = archive_sha256(run);
  const auto alone = comm::alone();
  for (const rlim_t limit : {0, 3000, 20000, 50000, 80000}) {
    const FileSizeLimit full(limit);
    EXPECT_NE(fault_of([&] { pack(*alone, run, "a", inputs, identity()); }), "") << limit;
    EXPECT_TRUE(empty(run.path() / "archive")) << limit;
  }
  EXPECT_EQ(archive_sha256(run), content_hash);
  EXPECT_EQ(fault_of([&] { pack(*alone, run, "a", inputs, identity()); }), "");
  EXPECT_EQ(archive_sha256(run), content_hash);
}

TEST(FullDisk, CheckpointLeavesTheOlderOne) {
  const RunFolder run;
  write_checkpoint(run, {"train_000001", {{"model.safetensors", std::string(1000, 'm')}}});
  {
    const FileSizeLimit full(5000);
    EXPECT_NE(
        fault_of([&] {
          write_checkpoint(run, {"train_000002", {{"model.safetensors", std::string(9000, 'm')}}});
        }),
        "");
    EXPECT_NE(
        fault_of([&] {
          write_checkpoint(run, {"train_000001", {{"model.safetensors", std::string(9000, 'm')}}});
        }),
        "");
  }
  EXPECT_EQ(list_checkpoints(run), std::vector<std::string>{"train_000001"});
  EXPECT_EQ(std::distance(fs::directory_iterator(run.path() / "checkpoints"), {}), 1)
      << "what could not be completed takes up space";
  EXPECT_EQ(read_checkpoint(run, "train_000001").files.at("model.safetensors"),
            std::string(1000, 'm'));
}

}  // namespace
}  // namespace rollcall::io::test
