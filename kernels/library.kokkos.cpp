// Asks Kokkos and the tables themselves.
#include "kernels/library.hpp"

#include "kernels/kernel_set.hpp"

#include <Kokkos_Core.hpp>

namespace rollcall::kernels {

std::string kokkos_version() {
  return std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) + "." + std::to_string(KOKKOS_VERSION % 100) + " (" +
         Kokkos::DefaultExecutionSpace::name() + ")";
}

bool built_with_cuda() {
#ifdef ROLLCALL_ENABLE_CUDA
  return true;
#else
  return false;
#endif
}

std::vector<std::string> runnable_kernels() {
  std::vector<std::string> names;
  for (const char* name : {"scalar", "avx2", "avx512"}) {
    if (kernels_by_name(name) != nullptr) names.emplace_back(name);
  }
  return names;
}

}  // namespace rollcall::kernels
