// What a run will need, computed without running: who hosts what, memory, messages, files and
// archive bytes.
#pragma once

#include "comm/stage_layout.hpp"
#include "core/run_config.hpp"
#include "sizing/memory.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::sizing {

/// Ranks [first, last] that host the same stages and need the same memory.
struct RankRange {
  int first = 0, last = 0;
  std::vector<comm::Stage> stages;
  MemoryNeed memory;
  MemoryUse use;  ///< of such a rank, with the run's longest texts
};

struct Forecast {
  comm::StageLayout layout;
  int threads = 1;  ///< of a rank
  std::int64_t parameters = 0;
  std::string numerics;
  std::int64_t prompts = 0, rollouts_per_prompt = 0, updates = 0;  ///< of a step
  std::int64_t most_rollouts = 0, most_rounds = 1;  ///< that a step may draw, and in how many
                                                    ///< rounds
  std::int64_t new_tokens = 0;                      ///< of a response, at most
  std::string memory_limit;                         ///< as the run file gives it; empty: none
  GivenTexts longest;                               ///< of the run's texts
  std::vector<RankRange> ranks;
  std::uint64_t messages_per_step = 0;        ///< control messages
  std::uint64_t control_bytes_per_step = 0;   ///< plans and reports, estimated
  std::uint64_t weight_bytes_per_step = 0;    ///< moved by collectives
  std::uint64_t gradient_bytes_per_step = 0;  ///< of each update rank: gradients to their shares,
                                              ///< new weights to all; 0 on one node
  std::uint64_t step_files = 0, step_bytes = 0;  ///< shards, scores and what it trained on, of one
                                                 ///< step, at the longest responses
  std::uint64_t waiting_steps = 0;               ///< most steps in shards/ at any time
  std::uint64_t shard_files = 0;                 ///< most files waiting in shards/ at any time
  std::uint64_t archive_files = 0, archive_bytes = 0;  ///< at the end of the run, at the longest
                                                       ///< responses
  std::uint64_t checkpoint_files = 0, checkpoint_bytes = 0;  ///< kept, and the one being written
  std::uint64_t most_files = 0, most_bytes = 0;  ///< of the run folder at any time, folders
                                                 ///< included: what a quota counts
  std::uint64_t unpacked_files = 0;  ///< such files of the whole run, if nothing were packed
  bool counts_kept_ids = true;    ///< false: sampling.top_p alone bounds the ids that stand with a
                                  ///< token, by no number
  std::uint64_t crash_files = 0;  ///< most files that one crash leaves in set_aside/, on top of the
                                  ///< rest
};

/// What the site allows; 0: no limit.
struct Quota {
  std::uint64_t files = 0, bytes = 0;
};
/// Throws ConfigError with the interval of packing that would fit.
void check_quota(const Forecast& forecast, const Quota& quota);

/// Where the run would be.
struct Machine {
  int ranks = 1, threads = 1;  ///< threads: of a rank
  int ranks_per_node = 0;      ///< 0: one node
};
/// `longest`: of the run's texts (longest_given). Throws EnvironmentError when the layout does not
/// take that many ranks.
Forecast forecast(const RunConfig& config, const RunModels& models, const Machine& machine,
                  const GivenTexts& longest);
std::string to_text(const Forecast& forecast);
/// The whole in one line: "64 prompts x 8 = 512 rollouts a step, 1 update; ...; peak 254 MB a rank:
/// fits". `free_bytes`: memory that this machine has left.
std::string one_sentence(const Forecast& forecast, std::uint64_t free_bytes);

}  // namespace rollcall::sizing
