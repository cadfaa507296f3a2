// Programs of earlier shards run first. The place of a verdict depends on neither thread nor time.
#include "run/scoring/code_scoring.hpp"

#include <algorithm>

namespace rollcall::run {

CodeScoring::CodeScoring(const VerdictSources& sources, const WorkerPool& pool, int threads)
    : sources_(sources), pool_(&pool) {
  try {
    for (int t = 0; t < threads; ++t) threads_.emplace_back([this] { serve(); });
  } catch (...) {  // the threads already started wait for work, and joining them would never return
    close();
    throw;
  }
}

CodeScoring::~CodeScoring() { close(); }

void CodeScoring::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
}

void CodeScoring::add(const ShardNotice& notice, RolloutShard shard, double read_s) {
  PendingShard opened(sources_, notice, std::move(shard), read_s);
  {
    const std::lock_guard lock(mutex_);
    open_.push_back({std::move(opened)});
  }
  wake_.notify_all();
}

std::optional<GradedShard> CodeScoring::take() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  const auto whole = std::find_if(open_.begin(), open_.end(),
                                  [](const Work& work) { return work.done == work.shard.size(); });
  if (whole == open_.end()) return std::nullopt;
  GradedShard judged = std::move(whole->shard).close();
  open_.erase(whole);
  return judged;
}

std::vector<ShardNotice> CodeScoring::give_up() {
  close();
  threads_.clear();  // joins them
  std::vector<ShardNotice> notices;
  for (const Work& work : open_) notices.push_back(work.shard.notice());
  open_.clear();
  return notices;
}

void CodeScoring::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    auto work = open_.end();
    wake_.wait(lock, [&] {
      work = std::find_if(open_.begin(), open_.end(),
                          [](const Work& open) { return open.next < open.shard.size(); });
      return closing_ || work != open_.end();
    });
    if (closing_) return;
    const std::size_t index = work->next++;
    lock.unlock();
    const Stopwatch clock;
    Score score;
    std::exception_ptr failure;
    try {
      score = work->shard.judge(index);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    work->shard.put(index, std::move(score), clock.seconds());
    ++work->done;
    pool_->progressed();
  }
}

}  // namespace rollcall::run
