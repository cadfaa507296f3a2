// Finds NVIDIA's driver and libraries on the machine. They are loaded and queried at run time, even
// by a program that was built without CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::app {

struct Gpu {
  std::string name, bus_id;
  int capability = 0;        ///< 90 means 9.0
  std::uint64_t memory = 0;  ///< bytes
  bool direct = false;       ///< whether a network card may access its memory (GPUDirect RDMA)
};

/// Versions as people write them ("580.65.06", "13.0", "2.28.9"); empty if not found. `no_devices`
/// gives the reason if there is no device.
struct GpuFacts {
  std::string driver, driver_cuda, runtime, nccl, no_devices;
  std::vector<Gpu> gpus;
};
GpuFacts gpu_facts();

}  // namespace rollcall::app
