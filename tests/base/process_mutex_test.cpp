// A mutex among processes: it excludes them, and one that died with it is noticed.
#include "base/process/process_mutex.hpp"

#include "base/errors/error.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <mutex>
#include <new>

namespace rollcall {
namespace {

struct Counted {
  ProcessMutex mutex;
  volatile long count = 0;
};

/// In memory that children share.
class ProcessMutexTest : public ::testing::Test {
 protected:
  ProcessMutexTest()
      : pages_(::mmap(nullptr, sizeof(Counted), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                      -1, 0)),
        shared_(new (pages_) Counted) {}
  ~ProcessMutexTest() override { ::munmap(pages_, sizeof(Counted)); }
  void* pages_;
  Counted* shared_;
};

TEST_F(ProcessMutexTest, ExcludesOtherProcesses) {
  constexpr int kProcesses = 3;
  constexpr long kEach = 100'000;
  for (int p = 0; p < kProcesses; ++p) {
    if (::fork() != 0) continue;
    for (long i = 0; i < kEach; ++i) {
      const std::lock_guard lock(shared_->mutex);
      shared_->count = shared_->count + 1;
    }
    ::_exit(0);
  }
  for (int p = 0; p < kProcesses; ++p) ::wait(nullptr);
  EXPECT_EQ(shared_->count, kProcesses * kEach);
}

TEST_F(ProcessMutexTest, ThrowsWhereItsOwnerDied) {
  if (::fork() == 0) {
    shared_->mutex.lock();
    ::raise(SIGKILL);
  }
  ::wait(nullptr);
  EXPECT_THROW(shared_->mutex.lock(), ProtocolError);
  EXPECT_THROW(shared_->mutex.lock(), ProtocolError) << "it must stay unusable";
}

}  // namespace
}  // namespace rollcall
