// What this binary is and what it was built with.
#include "app/commands.hpp"
#include "comm/communicator.hpp"
#include "io/library.hpp"
#include "kernels/kernel_set.hpp"
#include "kernels/library.hpp"
#include "model/library.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rollcall::app {

std::string version() { return "rollcall " ROLLCALL_VERSION; }

std::string version_with_libraries() {
  return fmt::format("{} ({}, HDF5 {}, LibTorch {})", version(), comm::MpiScope::library_version(), io::hdf5_version(), model::torch_version());
}

std::string version_verbose() {
  return fmt::format("{}\ncompiler   {}\nMPI        {}\nHDF5       {}{}\nLibTorch   {}\nKokkos     {}\nkernels    {} (runnable: {})\nCUDA       {}", version(),
                     "GCC " __VERSION__, comm::MpiScope::library_version(), io::hdf5_version(), io::hdf5_is_parallel() ? " parallel" : " serial",
                     model::torch_version(), kernels::kokkos_version(), kernels::selected_kernels().name, fmt::join(kernels::runnable_kernels(), ", "),
                     kernels::built_with_cuda() ? "built in" : "not built in");
}

}  // namespace rollcall::app
