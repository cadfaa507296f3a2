// What the machine offers of NVIDIA's driver and libraries, asked of them at run time: also by a
// program that was built without CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::app {

struct Gpu {
  std::string name, bus_id;
  int capability = 0;        ///< 90: 9.0
  std::uint64_t memory = 0;  ///< bytes
  bool direct = false;       ///< a network card may reach its memory (GPUDirect RDMA)
};

/// Versions as people write them ("580.65.06", "13.0", "2.28.9"); empty: not found, and
/// `no_devices` says why there is no device.
struct GpuFacts {
  std::string driver, driver_cuda, runtime, nccl, no_devices;
  std::vector<Gpu> gpus;
};
GpuFacts gpu_facts();

}  // namespace rollcall::app
