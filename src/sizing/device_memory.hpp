// What a rank holds in the memory of its GPU, item by item, in numerics cuda_bf16_sliced8. The
// sizes are those that src/model/device takes
// (model/device/device_sizes.hpp). What lies on the host, fp32 weights and what a checkpoint is
// made of, is memory.hpp's.
#pragma once

#include "sizing/forecast.hpp"
#include "sizing/memory.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::sizing {

struct DeviceNeed {
  std::vector<MemoryItem> held;         ///< from beginning to end
  std::uint64_t micro_batch_bytes = 0;  ///< a micro-batch's forward and backward pass, all blocks
                                        ///< but one computed again; 0: nothing is trained
  std::uint64_t kept_bytes = 0;         ///< what sparing the second computation takes
  std::uint64_t decode_bytes = 0;    ///< rows and logits while a session samples; 0: no generation
                                     ///< stage
  std::uint64_t sequence_bytes = 0;  ///< keys and values of the longest sequence
  std::uint64_t least() const;       ///< with one sequence at a time
};
struct DeviceRank {
  std::vector<comm::Stage> stages;  ///< that it hosts
  GivenTexts longest;               ///< of the run's texts
  int update_ranks = 1;             ///< that share the optimizer
  int communicators = 0;            ///< of NCCL
};
/// Those that a rank takes part in: one of the update ranks, and one for each root whose weights it
/// sends or receives.
int nccl_communicators(const RunConfig& config, comm::StageLayout layout, int rank);
/// `config.train.micro_batch_tokens` as micro_batch_tokens() gave it.
DeviceNeed device_need(const RunConfig& config, const RunModels& models, const DeviceRank& rank);

/// "weights in bf16 15.2 GB, ...", then "at least 93 GB: does not fit, 13 GB are missing": what a
/// GPU of so many bytes makes of it.
std::string device_text(const DeviceNeed& need, std::uint64_t gpu_bytes);
/// The same of every kind of rank of a forecast, with its longest texts.
std::string device_text(const Forecast& forecast, const RunConfig& config, const RunModels& models,
                        std::uint64_t gpu_bytes);

}  // namespace rollcall::sizing
