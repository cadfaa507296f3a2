// Whether this process can compute on a CUDA device, and on which.
#pragma once

#include <string>

namespace rollcall::model {

/// Why policies of the numerics cuda_bf16_sliced8 cannot run here; empty where they can.
std::string device_problem();

/// Of several devices this process takes number `place` modulo their number, once it first computes
/// on one.
void prefer_device(int place);
// These take the device.
int device_index();
std::string device_name();  ///< "NVIDIA H100 80GB HBM3"
std::string device_kind();  ///< what the bits of its passes depend on: "compute capability 9.0"
std::string device_text();  ///< "NVIDIA H100 80GB HBM3, device 1 of 4"

}  // namespace rollcall::model
