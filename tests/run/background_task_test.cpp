// Work on a thread of its own: its result or its error comes out once, and a wait for it ends.
#include "run/checkpoint/background_task.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <memory>

namespace rollcall::run {
namespace {

TEST(BackgroundTask, GivesItsResultOnce) {
  BackgroundTask<int> task;
  const auto gate = std::make_shared<std::latch>(1);
  EXPECT_FALSE(task.poll());
  task.start([gate] { return gate->wait(), 7; });
  EXPECT_TRUE(task.running());
  EXPECT_FALSE(task.poll());
  EXPECT_THROW(task.start([] { return 8; }), std::logic_error);
  gate->count_down();
  EXPECT_EQ(task.wait(60.0, "the seven"), 7);
  EXPECT_FALSE(task.running());
  task.start([] { return 9; });
  EXPECT_EQ(task.wait(60.0, "the nine"), 9);
}

TEST(BackgroundTask, HandsItsErrorOn) {
  BackgroundTask<int> task;
  task.start([]() -> int { throw StorageError("the disk is full"); });
  EXPECT_THROW(task.wait(60.0, "nothing"), StorageError);
  EXPECT_FALSE(task.running());
}

TEST(BackgroundTask, IsNotWaitedForForever) {
  const auto gate = std::make_shared<std::latch>(1);
  {
    BackgroundTask<int> task;
    task.start([gate] { return gate->wait(), 7; });
    try {
      task.wait(0.01, "checkpoint train_000002");
      FAIL() << "waited";
    } catch (const StorageError& error) {
      EXPECT_NE(std::string(error.what()).find("for checkpoint train_000002"), std::string::npos)
          << error.what();
    }
  }  // given up while it runs: this must not wait either
  gate->count_down();
}

}  // namespace
}  // namespace rollcall::run
