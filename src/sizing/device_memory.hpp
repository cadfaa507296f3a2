// The contents of a rank's GPU memory, item by item, in numerics cuda_bf16_sliced8. The sizes match
// the allocations of src/model/device (model/device/device_sizes.hpp). memory.hpp counts the memory
// on the host, such as fp32 weights and parts of a checkpoint.
#pragma once

#include "sizing/forecast.hpp"
#include "sizing/memory.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::sizing {

struct DeviceNeed {
  std::vector<MemoryItem> held;         ///< items that the rank holds for the whole run
  std::uint64_t micro_batch_bytes = 0;  ///< forward and backward pass of a micro-batch, with all
                                        ///< blocks but one recomputed; 0 if nothing is trained
  std::uint64_t kept_bytes = 0;    ///< additional memory that a micro-batch uses to recompute less,
                                   ///< if there is room
  std::uint64_t decode_bytes = 0;  ///< rows and logits of a session; 0 without a generation stage
  std::uint64_t sequence_bytes = 0;  ///< keys and values of the longest sequence
  std::uint64_t least() const;       ///< the smallest number of bytes with which the rank can work:
                                     ///< the items for the whole run, and one sequence at a time
};
struct DeviceRank {
  std::vector<comm::Stage> stages;  ///< stages on the rank
  GivenTexts longest;               ///< sizes of the run's prompts and examples
  int update_ranks = 1;             ///< ranks that share the optimizer
  int communicators = 0;            ///< NCCL communicators that the rank takes part in
};
/// Number of NCCL communicators of this rank: one for all update ranks, and one for each batch of
/// new weights that the rank sends or receives (comm::plan_transfer); 0 without NCCL.
int nccl_communicators(const RunConfig& config, comm::StageLayout layout, int rank);
/// `config.train.micro_batch_tokens` must be the value that micro_batch_tokens() returns.
DeviceNeed device_need(const RunConfig& config, const RunModels& models, const DeviceRank& rank);

/// Says whether a GPU of `gpu_bytes` is large enough: "weights in bf16 15.2 GB, ...", then "at
/// least 93 GB: does not fit, 13 GB are missing".
std::string device_text(const DeviceNeed& need, std::uint64_t gpu_bytes);
/// device_text() for every kind of rank in a forecast, with the run's longest texts.
std::string device_text(const Forecast& forecast, const RunConfig& config, const RunModels& models,
                        std::uint64_t gpu_bytes);

}  // namespace rollcall::sizing
