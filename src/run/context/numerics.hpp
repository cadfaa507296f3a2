// What fixes the bits of a run or of an answer: the kernels of its numerics.
#pragma once

#include "kernels/kernel_set.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::run {

/// The kernels of these numerics: those that ROLLCALL_KERNELS names, else the fastest. Throws
/// EnvironmentError where it names none of them.
const kernels::KernelSet& find_kernels(const std::string& numerics);

/// The same for a run, where kernels of other numerics (the reference) are refused too.
const kernels::KernelSet& run_kernels(const std::string& numerics);

/// What a model answers in unless it is told otherwise: "RUN", "RUN@STEP" and the folder of a
/// checkpoint in the run's numerics, a model folder that config.json says is stored in bfloat16 in
/// bf16_sliced8, any other in fp32_fixed_order.
std::string numerics_of(const std::string& reference);

/// What a run's bits depend on beside its settings: processor and LibTorch, and the device where
/// one computes.
std::string arithmetic_of(const std::string& numerics);

/// What a run was computed in from some point on.
struct NumericsRecord {
  std::int64_t after_sft_steps = 0, after_train_steps = 0;  ///< done before
  std::string numerics{}, device{};  ///< device: its kind, where one computes (model::device_kind)
};
/// What this process computes, behind so many steps.
NumericsRecord numerics_here(const std::string& numerics, std::int64_t sft_steps,
                             std::int64_t train_steps);
/// "bf16_sliced8", "cuda_bf16_sliced8 (compute capability 9.0)".
std::string text_of(const NumericsRecord& record);
/// "fp32_fixed_order, after 4 training steps bf16_sliced8".
std::string text_of(const std::vector<NumericsRecord>& records);
/// JSON, as state and archive hold it (io/README.md). The second throws nlohmann::json::exception.
std::string to_json(const std::vector<NumericsRecord>& records);
std::vector<NumericsRecord> parse_numerics(const std::string& json);

/// This rank's number on its node, by which it takes one of several devices: the launcher's where
/// its environment has one, else that among the ranks that share memory, which may be fewer (each
/// in a container of its own).
int device_place(int rank_on_node);

}  // namespace rollcall::run
