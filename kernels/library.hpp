// What the kernels were built with and what this machine offers, for rollcall --version --verbose and rollcall doctor.
#pragma once

#include <string>
#include <vector>

namespace rollcall::kernels {

std::string kokkos_version();  ///< "3.4.1 (Serial)"
bool built_with_cuda();
std::vector<std::string> runnable_kernels();  ///< names of the sets that this CPU runs

}  // namespace rollcall::kernels
