// A training step of a job as events: who computes, waits and exchanges for how long, on any number
// of ranks.
#pragma once

#include "comm/stage_layout.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace rollcall::sizing::scale {

/// What the parts of a step cost: seconds of one core of a node that is otherwise idle, unless it
/// says something else. All are fitted to measured runs.
struct Costs {
  double decode_step = 5e-5;   ///< a decoding step of a rank, however many rows it has
  double decode_token = 1e-5;  ///< a row of it, and a token of a prompt
  double draft = 3e-4;  ///< shards of ranks that update on them: their columns and the notice of
                        ///< them, by their aggregator; the file is written in spare time
  double file = 3e-3;   ///< the same of any other rank, with the files, or unpacking those of
                        ///< another
  double file_wait = 1e-3;  ///< elapsed: until these files are stored
  double gather_rollout =
      1e-6;  ///< a rollout of another rank, taken in by its aggregator, and once more by the first
             ///< update rank where it aggregates elsewhere
  double unpack_step = 1e-3;     ///< what it then does with the columns of a step, however few: the
                                 ///< objective, micro-batches, metrics
  double unpack_rollout = 3e-6;  ///< and for each rollout of the whole step
  double train_token = 3e-5;     ///< forward and backward of a token
  double micro_batch = 1e-3;     ///< of them together, however few: reads the weights and adds to
                                 ///< their gradient
  double optimizer_weight = 5e-9;  ///< a weight, by the rank that has its moments
  double publish_weight = 2e-9;  ///< a weight, on every rank that holds the policy: sum, pack, copy
  double hop = 5e-5;             ///< of a rank in a collective, log2(ranks) times
  double turn = 1e-3;  ///< elapsed: how much later than by even shares ranks end that generate on
                       ///< fewer cores; they take turns of milliseconds
  double message = 3e-5;  ///< on rank 0, for each that it sends or receives: 10 to 50 us, followed
                          ///< through a step of 8 ranks
  double schedule_prompt = 2e-6;  ///< on rank 0: choosing it, and as much again for learning from
                                  ///< it
  double crowding = 0.1;  ///< how much longer work takes when all cores of the node are busy; a
                          ///< share
};

/// What a step works on.
struct Workload {
  std::int64_t prompts = 1, rollouts = 1;  ///< of the step
  double prompt_tokens = 0.0;              ///< mean
  std::vector<std::int32_t> lengths{1};    ///< of responses, as recorded; each rollout draws one of
                                           ///< them
  double trained = 1.0;  ///< tokens that the update runs over all there are: rollouts without
                         ///< gradient are left out, and what they share is run once
  std::int64_t micro_batch_tokens = 1024;
  std::int64_t weights = 0;
  std::uint64_t seed = 1;
};

/// Where it runs. The network lies between nodes; inside a node, copies are part of the fitted
/// costs.
struct Cluster {
  comm::StageLayout layout;
  int threads = 1;           ///< of a rank
  int ranks_per_node = 1;    ///< in order: the first so many on the first node
  int cores_per_node = 1;    ///< ranks share them where there are fewer than threads
  double latency_s = 0.0;    ///< of a message between nodes
  double bytes_per_s = 0.0;  ///< of a node's link; 0: without limit
};

/// Seconds of a rank's step; together the step.
struct RankSeconds {
  double compute = 0.0;    ///< generating and updating, with the wait for a core where ranks share
                           ///< cores
  double imbalance = 0.0;  ///< waiting for the slowest rank of the stage: the longest minus its own
  double exchange = 0.0;   ///< collectives, messages, files
  double waiting = 0.0;    ///< for stages that it does not host, and for rank 0
};

struct StepTimes {
  double step = 0.0;
  /// as timing_s/... in metrics.jsonl
  double generation = 0.0, generation_mean = 0.0, archive = 0.0, update = 0.0, columns = 0.0,
         scheduling = 0.0;
  std::vector<RankSeconds> ranks{};
  RankSeconds shares() const;  ///< of ranks x step
};

/// Deterministic.
StepTimes simulate_step(const Cluster& cluster, const Workload& work, const Costs& costs);

}  // namespace rollcall::sizing::scale
