// A queue of files, the thread that writes them, and the first failure.
#include "run/step/shard_writer.hpp"

#include <sys/resource.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace rollcall::run {

struct ShardWriter::Shared {
  explicit Shared(std::filesystem::path folder) : run_dir(std::move(folder)) {}
  std::filesystem::path run_dir;
  std::mutex mutex{};
  std::condition_variable changed{};
  std::deque<io::FileDraft> files{};  ///< files that wait to be written
  bool writing = false;               ///< a file is being written
  std::vector<io::PublishedFile> stored{};
  std::exception_ptr failure{};
  bool started = false, ending = false;

  bool waits() const { return !files.empty() && !failure; }
  bool writes() const { return writing || waits(); }
  /// Writes the next file, and releases the lock during the write.
  void write_one(std::unique_lock<std::mutex>& lock) {
    writing = true;
    std::exception_ptr met;
    io::PublishedFile written;
    {
      const io::FileDraft next = std::move(files.front());
      files.pop_front();
      lock.unlock();
      try {
        written = io::publish(run_dir, next);
      } catch (...) {
        met = std::current_exception();
      }
    }
    lock.lock();
    writing = false;
    if (met) failure = met;
    else stored.push_back(std::move(written));
    changed.notify_all();
  }
};

namespace {

/// Lowers the priority of only the calling thread (Linux; needs no permission), so that a rank that
/// computes comes first if ranks share cores.
void step_back() { ::setpriority(PRIO_PROCESS, 0, 19); }

}  // namespace

ShardWriter::ShardWriter(std::filesystem::path run_dir)
    : shared_(std::make_shared<Shared>(std::move(run_dir))) {}

ShardWriter::~ShardWriter() {
  constexpr std::chrono::seconds kMoment{1};
  std::unique_lock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kMoment, [&] { return !shared_->started || !shared_->writes(); });
}

void ShardWriter::add(io::FileDraft file) {
  const std::lock_guard lock(shared_->mutex);
  shared_->files.push_back(std::move(file));
  if (shared_->started) return shared_->changed.notify_all();
  std::thread([shared = shared_] {
    step_back();
    std::unique_lock own(shared->mutex);
    for (;;) {
      shared->changed.wait(own, [&] { return shared->ending || shared->waits(); });
      if (!shared->waits()) return;
      shared->write_one(own);
    }
  }).detach();
  shared_->started = true;
}

bool ShardWriter::writes() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->writes();
}

void ShardWriter::settle(comm::Communicator& ranks, double deadline_s) {
  ranks.wait([this] { return !writes(); }, deadline_s, "the writing of this rank's rollouts");
  const std::lock_guard lock(shared_->mutex);
  if (shared_->failure) std::rethrow_exception(shared_->failure);
}

std::vector<io::PublishedFile> ShardWriter::finish(comm::Communicator& ranks, double deadline_s) {
  settle(ranks, deadline_s);
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->stored, {});
}

}  // namespace rollcall::run
