// Gives each thread its own runner, or one runner a team of all threads.
#include "run/workers/micro_batch_workers.hpp"

namespace rollcall::run {

std::vector<std::int64_t> own_micro_batches(std::int64_t count, const comm::Communicator& ranks) {
  std::vector<std::int64_t> own;
  for (std::int64_t i = ranks.rank(); i < count; i += ranks.size()) own.push_back(i);
  return own;
}

/// Whether each thread computes separate micro-batches. Then threads need not wait for each other,
/// but each needs the memory of a micro-batch, and with the last micro-batches some threads are
/// idle.
bool MicroBatchWorkers::side_by_side(std::int64_t count) const {
  const int threads = pool_->threads();
  return !on_device_ &&
         (threads == 1 || ((at_once_ == 0 || at_once_ >= threads) && count >= 2 * threads));
}

void MicroBatchWorkers::run(
    std::int64_t count, const std::function<void(model::MicroBatchRunner&, std::int64_t)>& work) {
  if (side_by_side(count)) {
    together_.reset();  // memory is held either for one runner per thread or for the common one
    apart_.resize(std::size_t(pool_->threads()));
    pool_->run(count, [&](std::int64_t i, int thread) {
      auto& mine = apart_[std::size_t(thread)];
      if (!mine) mine = std::make_unique<Member>(1, micro_batch_bytes_);
      work(mine->runner, i);
    });
    return;
  }
  apart_.clear();
  if (!together_)
    together_ = std::make_unique<Member>(on_device_ ? 1 : pool_->threads(), micro_batch_bytes_);
  together_->team.lead(pool_->side_by_side(), [&] {
    for (std::int64_t i = 0; i < count; ++i) {
      work(together_->runner, i);
      pool_->progressed();
    }
  });
}

}  // namespace rollcall::run
