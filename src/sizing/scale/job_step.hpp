// A job's training step as events, which show how long each rank computes, waits and exchanges
// data, for any number of ranks.
#pragma once

#include "comm/stage_layout.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace rollcall::sizing::scale {

/// The costs of the parts of a step, in seconds of one core of a node that is otherwise idle, or in
/// elapsed seconds where a comment says so. All are fitted to measured runs.
struct Costs {
  double decode_step = 5e-5;   ///< per decoding step of a rank, for any number of rows
  double decode_token = 1e-5;  ///< per row of a decoding step, and per token of a prompt
  double draft = 3e-4;  ///< per aggregator, for shards of ranks that update on them: making columns
                        ///< and the notice; the file is written in spare time
  double file = 3e-3;   ///< per rank without an aggregator: making columns and the notice, and
                        ///< writing the files or reading those of another rank
  double file_wait = 1e-3;  ///< elapsed time until these files are stored
  double gather_rollout =
      1e-6;  ///< per rollout that an aggregator receives, and again for the first update rank if
             ///< another rank aggregates it
  double unpack_step = 1e-3;  ///< per step, for the first update rank: the objective, micro-batches
                              ///< and metrics of all columns
  double unpack_rollout = 3e-6;  ///< per rollout of the step, in addition to unpack_step
  double train_token = 3e-5;     ///< per token: forward and backward pass
  double micro_batch = 1e-3;  ///< per micro-batch: reading the weights and adding to their gradient
  double optimizer_weight = 5e-9;  ///< per weight, for the rank that owns its moments
  double publish_weight = 2e-9;    ///< per weight, for every rank that holds the policy: sum, pack,
                                   ///< copy
  double hop = 5e-5;               ///< per rank and collective, times log2(ranks)
  double turn = 1e-3;     ///< elapsed: extra time when ranks outnumber cores, because the kernel's
                          ///< time slices, milliseconds long, make some ranks finish late
  double message = 3e-5;  ///< per message that rank 0 sends or receives: 10 to 50 us, traced
                          ///< through a step of 8 ranks
  double schedule_prompt = 2e-6;  ///< per prompt, on rank 0: once for choosing it, once for
                                  ///< learning from it
  double crowding = 0.1;  ///< fraction by which work takes longer when all cores of a node are busy
};

/// The work of a step.
struct Workload {
  std::int64_t prompts = 1, rollouts = 1;  ///< per step
  double prompt_tokens = 0.0;              ///< mean number of tokens in a prompt
  std::vector<std::int32_t> lengths{1};    ///< lengths of recorded responses in tokens; each
                                           ///< rollout draws one of them
  double trained = 1.0;  ///< tokens that the update computes, divided by all tokens: it leaves out
                         ///< rollouts without a gradient and computes shared beginnings once
  std::int64_t micro_batch_tokens = 1024;
  std::int64_t weights = 0;
  std::uint64_t seed = 1;
};

/// The machine. The network connects nodes; copies within a node are part of the fitted costs.
struct Cluster {
  comm::StageLayout layout;
  int threads = 1;           ///< per rank
  int ranks_per_node = 1;    ///< ranks are assigned to nodes in order
  int cores_per_node = 1;    ///< shared by the ranks of a node if they have more threads
  double latency_s = 0.0;    ///< per message between nodes
  double bytes_per_s = 0.0;  ///< rate of each node's link; 0 means no limit
};

/// A rank's use of a step's time [s]. The sum is the step's duration.
struct RankSeconds {
  double compute = 0.0;  ///< generation and update, including the wait for a core where ranks share
                         ///< cores
  double imbalance = 0.0;  ///< waiting for the slowest rank of the same stage
  double exchange = 0.0;   ///< collectives, messages, files
  double waiting = 0.0;    ///< waiting for stages that it does not host, and for rank 0
};

struct StepTimes {
  double step = 0.0;
  /// like timing_s/... in metrics.jsonl [s]
  double generation = 0.0, generation_mean = 0.0, archive = 0.0, update = 0.0, columns = 0.0,
         scheduling = 0.0;
  std::vector<RankSeconds> ranks{};
  RankSeconds shares() const;  ///< as fractions of ranks x step
};

/// Deterministic: the result depends only on the arguments.
StepTimes simulate_step(const Cluster& cluster, const Workload& work, const Costs& costs);

}  // namespace rollcall::sizing::scale
