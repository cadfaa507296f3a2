// The version of this binary, and what it was built with.
#include "app/commands.hpp"
#include "base/text/joined.hpp"
#include "comm/communicator.hpp"
#include "io/library.hpp"
#include "kernels/library.hpp"
#include "method/method.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rollcall::app {

std::string version() { return "rollcall " ROLLCALL_VERSION; }

std::string version_with_libraries() {
  return fmt::format("{} ({}, HDF5 {}, LibTorch {})", version(), comm::MpiScope::library_version(),
                     io::hdf5_version(), method::library().torch_version());
}

namespace {

/// The kernels in use, such as "fp32_fixed_order: avx512 of scalar, avx2, avx512", one line for
/// each numerics.
std::string kernel_lines() {
  std::string lines;
  for (const auto& choice : kernels::kernel_choices())
    lines +=
        fmt::format("{}{}: {} of {}", lines.empty() ? "" : "\n           ", choice.numerics,
                    choice.chosen.empty() ? "none" : choice.chosen, joined(choice.runnable, ", "));
  return lines;
}

}  // namespace

std::string version_verbose() {
  return fmt::format(
      "{}\ncompiler   {}\nMPI        {}\nHDF5       {}{}\nLibTorch   {}\nKokkos     {}\nkernels    "
      "{}\nCUDA       {}",
      version(), "GCC " __VERSION__, comm::MpiScope::library_version(), io::hdf5_version(),
      io::hdf5_is_parallel() ? " parallel" : " serial", method::library().torch_version(),
      kernels::kokkos_version(), kernel_lines(),
      kernels::built_with_cuda() ? "built in" : "not built in");
}

}  // namespace rollcall::app
