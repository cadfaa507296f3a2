// What a rank holds in the memory of its GPU, item by item, in numerics cuda_bf16_sliced8. What lies on the host (fp32 weights, moments, the node's sum) is memory.hpp's.
#pragma once

#include "stages/forecast.hpp"
#include "stages/memory.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::stages {

struct DeviceNeed {
  std::vector<MemoryItem> held;      ///< from beginning to end
  std::uint64_t leaf_bytes = 0;      ///< a leaf's forward and backward pass, all blocks but one computed again; 0: no update stage
  std::uint64_t kept_bytes = 0;      ///< what sparing the second computation takes
  std::uint64_t decode_bytes = 0;    ///< rows and logits while a session samples; 0: no generation stage
  std::uint64_t sequence_bytes = 0;  ///< keys and values of the longest sequence
  std::uint64_t least() const;       ///< with one sequence at a time
};
/// Of a rank that hosts these stages. `config.train.leaf_tokens` as leaf_tokens() gave it; `longest_prompt` in tokens.
DeviceNeed device_need(const RunConfig& config, const RunModels& models, const std::vector<comm::Stage>& stages, std::int64_t longest_prompt);

/// "weights in bf16 15.2 GB, ...", then "at least 93 GB: does not fit, 13 GB are missing": what a GPU of so many bytes makes of it.
std::string device_text(const DeviceNeed& need, std::uint64_t gpu_bytes);
/// The same of every kind of rank of a forecast, with a prompt as short as its own.
std::string device_text(const Forecast& forecast, const RunConfig& config, const RunModels& models, std::uint64_t gpu_bytes);

}  // namespace rollcall::stages
