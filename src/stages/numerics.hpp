// What fixes the bits of a run or of an answer: the kernels of its numerics.
#pragma once

#include "kernels/kernel_set.hpp"

#include <string>

namespace rollcall::stages {

/// The kernels of these numerics: those that ROLLCALL_KERNELS names, else the fastest. Throws EnvironmentError where it names none of them.
const kernels::KernelSet& find_kernels(const std::string& numerics);

/// The same for a run, where kernels of other numerics (the reference) are refused too.
const kernels::KernelSet& run_kernels(const std::string& numerics);

/// What a model answers in unless it is told otherwise: "RUN", "RUN@STEP" and the folder of a checkpoint in the run's numerics, a model folder that config.json
/// says is stored in bfloat16 in bf16_sliced8, any other in fp32_fixed_order.
std::string numerics_of(const std::string& reference);

/// What a run's bits depend on beside its settings: processor and LibTorch, and the device where one computes.
std::string arithmetic_of(const std::string& numerics);

/// This rank's number on its node, by which it takes one of several devices: the launcher's where its environment has one, else that among the ranks that share
/// memory, which may be fewer (each in a container of its own).
int device_place(int rank_on_node);

}  // namespace rollcall::stages
