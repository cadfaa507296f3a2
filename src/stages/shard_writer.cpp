// A queue, its thread, and the first failure.
#include "stages/shard_writer.hpp"

#include <sys/resource.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace rollcall::stages {

struct ShardWriter::Shared {
  explicit Shared(std::filesystem::path folder) : run_dir(std::move(folder)) {}
  std::filesystem::path run_dir;
  std::mutex mutex{};
  std::condition_variable changed{};
  std::deque<io::FileDraft> files{};  ///< the first one is being written
  std::vector<io::PublishedFile> stored{};
  std::exception_ptr failure{};
  bool started = false, ending = false;

  bool writes() const { return !files.empty() && !failure; }
};

namespace {

/// For ranks that share cores: a rank that computes comes first, and on a node that is all busy a file still gets its hundredth of a core. Of this thread alone, as
/// Linux has it; no permission is needed.
void step_back() { ::setpriority(PRIO_PROCESS, 0, 19); }

}  // namespace

ShardWriter::ShardWriter(std::filesystem::path run_dir) : shared_(std::make_shared<Shared>(std::move(run_dir))) {}

ShardWriter::~ShardWriter() {
  constexpr std::chrono::seconds kMoment{5};
  std::unique_lock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kMoment, [&] { return !shared_->writes(); });
}

void ShardWriter::add(io::FileDraft file) {
  const std::lock_guard lock(shared_->mutex);
  shared_->files.push_back(std::move(file));
  if (std::exchange(shared_->started, true)) return shared_->changed.notify_all();
  std::thread([shared = shared_] {
    step_back();
    std::unique_lock own(shared->mutex);
    for (;;) {
      shared->changed.wait(own, [&] { return shared->ending || shared->writes(); });
      if (!shared->writes()) return;
      const io::FileDraft& next = shared->files.front();  // stays where it is while others come behind it
      own.unlock();
      io::PublishedFile written;
      std::exception_ptr met;
      try {
        written = io::publish(shared->run_dir, next);
      } catch (...) {
        met = std::current_exception();
      }
      own.lock();
      shared->files.pop_front();
      if (met) shared->failure = met;
      else shared->stored.push_back(std::move(written));
      shared->changed.notify_all();
    }
  }).detach();
}

bool ShardWriter::writes() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->writes();
}

std::vector<io::PublishedFile> ShardWriter::finish(comm::Communicator& ranks, double deadline_s) {
  ranks.wait([this] { return !writes(); }, deadline_s, "the writing of this rank's rollouts");
  const std::lock_guard lock(shared_->mutex);
  if (shared_->failure) std::rethrow_exception(shared_->failure);
  return std::exchange(shared_->stored, {});
}

}  // namespace rollcall::stages
