// Loads libcuda.so.1, libnvidia-ml.so.1, libcudart and libnccl.so.2 by name. The few functions that
// are called are declared here as in their manuals.
#include "app/tools/gpu_facts.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>

namespace rollcall::app {
namespace {

/// The first library of the list that can be loaded. It stays loaded until the process ends.
class Library {
 public:
  explicit Library(std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (handle_ == nullptr) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  explicit operator bool() const { return handle_ != nullptr; }
  /// Calls a function and returns its result: 0, or an error of the library's, or -1 if the library
  /// does not have it.
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    using Call = int (*)(Arguments...);
    const auto found = handle_ == nullptr ? nullptr : reinterpret_cast<Call>(dlsym(handle_, name));
    return found == nullptr ? -1 : found(arguments...);
  }

 private:
  void* handle_ = nullptr;
};

// Values of CUdevice_attribute in cuda.h.
constexpr int kMajor = 75, kMinor = 76, kDirect = 116;

std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Gpu gpu_of(const Library& driver, int device) {
  std::array<char, 128> text{};
  Gpu gpu;
  if (driver.call("cuDeviceGetName", text.data(), int(text.size()), device) == 0)
    gpu.name = text.data();
  if (driver.call("cuDeviceGetPCIBusId", text.data(), int(text.size()), device) == 0)
    gpu.bus_id = text.data();
  int major = 0, minor = 0, direct = 0;
  driver.call("cuDeviceGetAttribute", &major, kMajor, device),
      driver.call("cuDeviceGetAttribute", &minor, kMinor, device);
  driver.call("cuDeviceGetAttribute", &direct, kDirect, device);
  std::size_t memory = 0;
  driver.call("cuDeviceTotalMem_v2", &memory, device);
  gpu.capability = 10 * major + minor, gpu.memory = memory;
  // by dma-buf, or with NVIDIA's kernel module for network cards
  gpu.direct = direct != 0 && (std::filesystem::exists("/sys/module/nvidia_peermem") ||
                               std::filesystem::exists("/sys/module/ib_uverbs"));
  return gpu;
}

}  // namespace

GpuFacts gpu_facts() {
  GpuFacts facts;
  const Library driver{"libcuda.so.1"}, management{"libnvidia-ml.so.1"},
      runtime{"libcudart.so.13", "libcudart.so.12"}, nccl{"libnccl.so.2"};
  std::array<char, 96> text{};
  if (management.call("nvmlInit_v2") == 0 &&
      management.call("nvmlSystemGetDriverVersion", text.data(), unsigned(text.size())) == 0)
    facts.driver = text.data();
  int version = 0;
  if (driver.call("cuDriverGetVersion", &version) == 0) facts.driver_cuda = cuda_version(version);
  if (runtime.call("cudaRuntimeGetVersion", &version) == 0) facts.runtime = cuda_version(version);
  if (nccl.call("ncclGetVersion", &version) == 0)
    facts.nccl = fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
  int count = 0;
  const int code = driver.call("cuInit", 0U);
  if (!driver) facts.no_devices = "no NVIDIA driver (libcuda.so.1 is not here)";
  else if (code != 0)
    facts.no_devices = fmt::format("the driver does not start (cuInit: error {})", code);
  else if (driver.call("cuDeviceGetCount", &count) != 0 || count == 0)
    facts.no_devices = "the driver shows no device; look at CUDA_VISIBLE_DEVICES";
  for (int device = 0; device < count; ++device) facts.gpus.push_back(gpu_of(driver, device));
  return facts;
}

}  // namespace rollcall::app
