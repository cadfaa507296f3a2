// What the kernels were built with and what this machine offers, for rollcall --version --verbose
// and rollcall doctor.
#pragma once

#include <string>
#include <vector>

namespace rollcall::kernels {

std::string kokkos_version();  ///< "3.4.1 (Serial)"
bool built_with_cuda();

/// The kernel sets of one numerics on this machine.
struct KernelChoice {
  std::string numerics;
  std::vector<std::string> runnable;  ///< names of the sets that this CPU runs
  std::string chosen;                 ///< a name; empty if ROLLCALL_KERNELS names none of them
  std::string problem;                ///< why `chosen` is empty; otherwise empty
};
std::vector<KernelChoice> kernel_choices();

}  // namespace rollcall::kernels
