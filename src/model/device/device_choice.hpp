// Whether this process can compute on a CUDA device, and on which.
#pragma once

#include <string>

namespace rollcall::model {

/// Why policies of the numerics cuda_bf16_sliced8 cannot run here, or empty if they can.
std::string device_problem();

/// If there are several devices, this process will use number `place` modulo their number.
void prefer_device(int place);
// The functions below initialise the device.
int device_index();
std::string device_name();  ///< "NVIDIA H100 80GB HBM3"
std::string device_kind();  ///< "compute capability 9.0", which the bits of its passes depend on
std::string device_text();  ///< "NVIDIA H100 80GB HBM3, device 1 of 4"

}  // namespace rollcall::model
