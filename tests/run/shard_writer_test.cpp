// Files that are written beside the rank: all there and told of at the end of the step, or a
// failure that is not overlooked.
#include "run/step/shard_writer.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "io/sample_run.hpp"

#include <gtest/gtest.h>

#include <future>

namespace rollcall::run {
namespace {

using io::test::RunFolder;

io::FileDraft draft(int number, const std::function<void()>& before = {}) {
  return {"shards/" + std::to_string(number), [number, before] {
            if (before) before();
            return "content " + std::to_string(number);
          }};
}

TEST(ShardWriter, TellsOfWhatItHasStoredOnce) {
  const RunFolder run;
  const auto alone = comm::alone();
  ShardWriter writer(run.path());
  EXPECT_TRUE(writer.finish(*alone, 10.0).empty());
  for (int step = 0; step < 3; ++step) {
    for (int file = 0; file < 4; ++file) writer.add(draft(10 * step + file));
    const auto stored = writer.finish(*alone, 60.0);
    EXPECT_FALSE(writer.writes());
    ASSERT_EQ(stored.size(), 4U);
    for (std::size_t file = 0; file < 4; ++file) {
      EXPECT_EQ(stored[file].path, "shards/" + std::to_string(10 * step + int(file)));
      const std::string there = read_file(run.path() / stored[file].path);
      EXPECT_EQ(stored[file].bytes, there.size());
      EXPECT_EQ(stored[file].checksum, checksum64(std::as_bytes(std::span(there))));
    }
  }
}

TEST(ShardWriter, TheRankGoesOnMeanwhile) {
  const RunFolder run;
  const auto alone = comm::alone();
  std::promise<void> held;
  ShardWriter writer(run.path());
  writer.add(draft(1, [&] { held.get_future().wait(); }));
  writer.add(draft(2));
  EXPECT_TRUE(writer.writes());
  EXPECT_THROW(writer.finish(*alone, 0.05), ProtocolError);
  held.set_value();
  EXPECT_EQ(writer.finish(*alone, 60.0).size(), 2U);
}

TEST(ShardWriter, AFailureIsToldAndNothingIsWrittenBehindIt) {
  const RunFolder run;
  const auto alone = comm::alone();
  ShardWriter writer(run.path());
  std::promise<void> held;
  writer.add(draft(1, [&] { held.get_future().wait(); }));
  writer.add({"shards", [] { return std::string("a file in place of the folder"); }});
  writer.add(draft(2));
  held.set_value();
  try {
    writer.finish(*alone, 60.0);
    ADD_FAILURE() << "a folder was replaced by a file";
  } catch (const StorageError& error) {
    EXPECT_NE(std::string(error.what()).find((run.path() / "shards").string()), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(std::filesystem::exists(run.path() / "shards" / "1"));
  EXPECT_FALSE(std::filesystem::exists(run.path() / "shards" / "2"));
}

TEST(ShardWriter, ItsEndWaitsForWhatIsBeingWritten) {
  const RunFolder run;
  {
    ShardWriter writer(run.path());
    for (int file = 0; file < 20; ++file) writer.add(draft(file));
  }
  for (int file = 0; file < 20; ++file)
    EXPECT_EQ(read_file(run.path() / "shards" / std::to_string(file)),
              "content " + std::to_string(file));
}

}  // namespace
}  // namespace rollcall::run
