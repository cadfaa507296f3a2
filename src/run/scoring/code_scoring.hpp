// Scoring by programs that run in the sandbox, while the rank does other work: threads take
// rollouts of all open shards, so that a slow program delays only its own shard.
#pragma once

#include "run/scoring/pending_shard.hpp"
#include "run/workers/worker_pool.hpp"

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace rollcall::run {

class CodeScoring {
 public:
  /// `pool`: progress is reported to it. `threads`: how many programs run at a time.
  CodeScoring(const VerdictSources& sources, const WorkerPool& pool, int threads);
  ~CodeScoring();  ///< waits for the programs that run
  CodeScoring(const CodeScoring&) = delete;
  CodeScoring& operator=(const CodeScoring&) = delete;

  void add(const ShardNotice& notice, RolloutShard shard, double read_s);
  /// A shard that has all of its verdicts, if there is one. Rethrows what a verdict threw.
  std::optional<GradedShard> take();
  /// Ends the judging once the programs that run have ended, and returns the notices of the shards
  /// that lack verdicts. Nothing may be added or taken afterwards.
  std::vector<ShardNotice> give_up();
  bool is_judging() const { return !open_.empty(); }

 private:
  struct Work {
    PendingShard shard;
    std::size_t next = 0, done = 0;
  };
  void serve();
  void close();

  VerdictSources sources_;
  const WorkerPool* pool_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<Work> open_;  ///< the list belongs to the rank's main thread; mutex_ guards
                          ///< what is in it
  std::exception_ptr failure_;
  bool closing_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace rollcall::run
