// The needs of a run, computed without running it: the stages of each rank, memory, messages, files
// and bytes of the archive.
#pragma once

#include "comm/stage_layout.hpp"
#include "core/run_config.hpp"
#include "sizing/memory.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::sizing {

/// Ranks [first, last], which host the same stages and need the same memory.
struct RankRange {
  int first = 0, last = 0;
  std::vector<comm::Stage> stages;
  MemoryNeed memory;
  MemoryUse use;  ///< how each of these ranks uses its memory, given the run's longest texts
};

struct Forecast {
  comm::StageLayout layout;
  int threads = 1;  ///< per rank
  std::int64_t parameters = 0;
  std::string numerics;
  std::int64_t prompts = 0, rollouts_per_prompt = 0, updates = 0;  ///< per step
  std::int64_t most_rollouts = 0, most_rounds = 1;  ///< most rollouts that a step may draw, and
                                                    ///< most rounds
  std::int64_t new_tokens = 0;                      ///< most tokens in a response
  std::int64_t most_turns = 0;                      ///< most turns in a conversation; 0: single
                                                    ///< answers
  std::string memory_limit;                         ///< as in the run file; empty if it has none
  GivenTexts longest;                               ///< sizes of the run's prompts and examples
  std::vector<RankRange> ranks;
  std::uint64_t messages_per_step = 0;        ///< control messages
  std::uint64_t control_bytes_per_step = 0;   ///< plans and reports; an estimate
  std::uint64_t weight_bytes_per_step = 0;    ///< new weights that collectives move
  std::uint64_t gradient_bytes_per_step = 0;  ///< per update rank: gradients to the owners of their
                                              ///< shares, new weights to all; 0 on one node
  std::uint64_t step_files = 0, step_bytes = 0;  ///< one step's shards, scores and list of what it
                                                 ///< trained on, with the longest responses
  std::uint64_t waiting_steps = 0;  ///< most steps whose shards wait in shards/ at any time
  std::uint64_t shard_files = 0;    ///< most files that wait in shards/ at any time
  std::uint64_t archive_files = 0, archive_bytes = 0;  ///< at the end of the run, with the longest
                                                       ///< responses
  std::uint64_t checkpoint_files = 0, checkpoint_bytes = 0;  ///< checkpoints that are kept, and the
                                                             ///< one being written
  std::uint64_t most_files = 0, most_bytes = 0;  ///< most files and bytes in the run folder at any
                                                 ///< time, counting folders as a quota does
  std::uint64_t unpacked_files = 0;              ///< files in the whole run if nothing were packed
  bool counts_kept_ids = true;    ///< false if only sampling.top_p limits the ids stored with a
                                  ///< token, so that their number is unknown
  std::uint64_t crash_files = 0;  ///< most files that one crash leaves in set_aside/, in addition
                                  ///< to most_files
};

/// The limits of the site; 0 means no limit.
struct Quota {
  std::uint64_t files = 0, bytes = 0;
};
/// Throws ConfigError, naming a packing interval that would fit.
void check_quota(const Forecast& forecast, const Quota& quota);

/// The machine that the run would be given.
struct Machine {
  int ranks = 1, threads = 1;  ///< threads per rank
  int ranks_per_node = 0;      ///< 0 puts all ranks on one node
};
/// `longest` are the run's texts (longest_given). Throws EnvironmentError if the layout does not
/// fit that number of ranks.
Forecast forecast(const RunConfig& config, const RunModels& models, const Machine& machine,
                  const GivenTexts& longest);
std::string to_text(const Forecast& forecast);
/// The forecast in one line: "64 prompts x 8 = 512 rollouts a step, 1 update; ...; peak 254 MB a
/// rank: fits". `free_bytes` is the free memory of this machine.
std::string one_sentence(const Forecast& forecast, std::uint64_t free_bytes);

}  // namespace rollcall::sizing
