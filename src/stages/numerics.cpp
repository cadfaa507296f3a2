// The choice of kernels, with errors that a user can read.
#include "stages/numerics.hpp"

#include "base/error.hpp"
#include "model/model_folder.hpp"
#include "stages/run_folder.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace rollcall::stages {

const kernels::KernelSet& find_kernels(const std::string& numerics) {
  try {
    return kernels::selected_kernels(numerics);
  } catch (const std::runtime_error& e) {  // the kernels name no error type of ours: they depend on nothing
    throw EnvironmentError(e.what());
  }
}

const kernels::KernelSet& run_kernels(const std::string& numerics) {
  const auto& set = find_kernels(numerics);
  require<EnvironmentError>(set.numerics == numerics, fmt::format("the kernels \"{}\" compute in {}, but run.numerics is {}", set.name, set.numerics, numerics),
                            "the same settings would train different weights", "unset ROLLCALL_KERNELS");
  return set;
}

std::string numerics_of(const std::string& reference) {
  const auto run = run_with(reference);
  if (!run.empty()) return read_run_folder(run).run.numerics;
  return model::stored_dtype(checkpoint_folder(reference)) == "bfloat16" ? kernels::kBf16Sliced8 : kernels::kFp32FixedOrder;
}

}  // namespace rollcall::stages
