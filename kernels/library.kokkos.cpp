// Collects what Kokkos and the tables of kernels say about themselves.
#include "kernels/library.hpp"

#include "kernels/kernel_set.hpp"

#include <Kokkos_Core.hpp>

#include <stdexcept>

namespace rollcall::kernels {

std::string kokkos_version() {
  return std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) +
         "." + std::to_string(KOKKOS_VERSION % 100) + " (" +
         Kokkos::DefaultHostExecutionSpace::name() + ")";
}

bool built_with_cuda() {
#ifdef ROLLCALL_ENABLE_CUDA
  return true;
#else
  return false;
#endif
}

std::vector<KernelChoice> kernel_choices() {
  std::vector<KernelChoice> choices;
  for (const char* numerics : {kFp32FixedOrder, kBf16Sliced8}) {
    KernelChoice choice{numerics, {}, {}, {}};
    for (const char* name : {"scalar", "avx2", "avx512", "avx512_bf16", "amx"})
      if (kernels_by_name(name, numerics) != nullptr) choice.runnable.emplace_back(name);
    try {
      choice.chosen = selected_kernels(numerics).name;
    } catch (const std::runtime_error& e) {
      choice.problem = e.what();
    }
    choices.push_back(choice);
  }
  return choices;
}

}  // namespace rollcall::kernels
