// The numerics of a run: the named set of kernels that fixes its bits, and what else the bits
// depend on.
#pragma once

#include "kernels/kernel_set.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::run {

/// The kernels of these numerics: the set that ROLLCALL_KERNELS names, else the fastest. Throws
/// EnvironmentError where the variable names a set of other numerics or none.
const kernels::KernelSet& find_kernels(const std::string& numerics);

/// find_kernels() for a run. Throws also where ROLLCALL_KERNELS names the reference kernels of
/// other numerics.
const kernels::KernelSet& run_kernels(const std::string& numerics);

/// The numerics in which a model answers unless the user names others. "RUN", "RUN@STEP" and the
/// folder of a checkpoint have those of their run. A model folder whose config.json says bfloat16
/// has bf16_sliced8, and any other model folder has fp32_fixed_order.
std::string numerics_of(const std::string& reference);

/// What the bits of a run depend on beside its settings, as text: the processor, LibTorch, and the
/// device where the run computes on one.
std::string arithmetic_of(const std::string& numerics);

/// The numerics that a run has had from some step on.
struct NumericsRecord {
  std::int64_t after_sft_steps = 0, after_train_steps = 0;  ///< steps that the run had done when it
                                                            ///< took these numerics
  std::string numerics{};
  std::string device{};  ///< kind of device (model::device_kind); empty where there is none
};
/// The record of this process, which begins after the given steps.
NumericsRecord numerics_here(const std::string& numerics, std::int64_t sft_steps,
                             std::int64_t train_steps);
/// "bf16_sliced8", "cuda_bf16_sliced8 (compute capability 9.0)".
std::string text_of(const NumericsRecord& record);
/// "fp32_fixed_order, after 4 training steps bf16_sliced8".
std::string text_of(const std::vector<NumericsRecord>& records);
/// JSON as the coordinator's state and the archive hold it (io/README.md). The second function
/// throws nlohmann::json::exception.
std::string to_json(const std::vector<NumericsRecord>& records);
std::vector<NumericsRecord> parse_numerics(const std::string& json);

/// The number of this rank on its node, which picks one of several devices. It is the launcher's
/// number where the environment has one. Else it is the number among the ranks that share memory,
/// which may be fewer than those of the node: each rank may be in a container of its own.
int device_place(int rank_on_node);

}  // namespace rollcall::run
