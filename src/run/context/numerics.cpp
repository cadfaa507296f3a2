// Chooses kernels, with errors that a user can read.
#include "run/context/numerics.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "method/method.hpp"
#include "model/device/device_choice.hpp"
#include "model/tensors/model_folder.hpp"
#include "run/folder/run_folder.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace rollcall::run {

const kernels::KernelSet& find_kernels(const std::string& numerics) {
  if (numerics == kernels::kCudaBf16Sliced8) {
    const std::string problem = model::device_problem();
    require<EnvironmentError>(
        problem.empty(), fmt::format("the numerics are {}, but {}", numerics, problem),
        "a CUDA device computes them",
        "build with cmake --preset cuda and start on a node with a free NVIDIA GPU, or choose bf16_sliced8 or fp32_fixed_order");
  }
  try {
    return kernels::selected_kernels(numerics);
  } catch (const std::runtime_error& e) {  // the kernels depend on no other layer, so they throw a
                                           // type of the standard library
    throw EnvironmentError(e.what());
  }
}

const kernels::KernelSet& run_kernels(const std::string& numerics) {
  const auto& set = find_kernels(numerics);
  require<EnvironmentError>(set.numerics == numerics,
                            fmt::format("the kernels \"{}\" compute in {}, but run.numerics is {}",
                                        set.name, set.numerics, numerics),
                            "the same settings would train different weights",
                            "unset ROLLCALL_KERNELS");
  return set;
}

std::string numerics_of(const std::string& reference) {
  const auto run = run_with(reference);
  if (!run.empty()) return read_run_folder(run).run.numerics;
  return model::stored_dtype(checkpoint_folder(reference)) == "bfloat16" ? kernels::kBf16Sliced8
                                                                         : kernels::kFp32FixedOrder;
}

std::string arithmetic_of(const std::string& numerics) {
  const std::string host = method::library().arithmetic();
  return numerics == kernels::kCudaBf16Sliced8 ? host + " with " + model::device_name() : host;
}

NumericsRecord numerics_here(const std::string& numerics, std::int64_t sft_steps,
                             std::int64_t train_steps) {
  return {sft_steps, train_steps, numerics,
          numerics == kernels::kCudaBf16Sliced8 ? model::device_kind() : std::string()};
}

std::string text_of(const NumericsRecord& record) {
  return record.device.empty() ? record.numerics
                               : fmt::format("{} ({})", record.numerics, record.device);
}

std::string text_of(const std::vector<NumericsRecord>& records) {
  std::string text;
  for (const auto& record : records) {
    if (!text.empty())
      text += record.after_train_steps > 0
                  ? fmt::format(", after {} training steps ", record.after_train_steps)
                  : fmt::format(", after {} supervised steps ", record.after_sft_steps);
    text += text_of(record);
  }
  return text;
}

std::string to_json(const std::vector<NumericsRecord>& records) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& record : records) {
    all.push_back({{"after_sft_steps", record.after_sft_steps},
                   {"after_train_steps", record.after_train_steps},
                   {"numerics", record.numerics}});
    if (!record.device.empty()) all.back()["device"] = record.device;
  }
  return all.dump();
}

std::vector<NumericsRecord> parse_numerics(const std::string& json) {
  std::vector<NumericsRecord> records;
  for (const auto& record : nlohmann::json::parse(json).get<std::vector<nlohmann::json>>())
    records.push_back({record.at("after_sft_steps").get<std::int64_t>(),
                       record.at("after_train_steps").get<std::int64_t>(),
                       record.at("numerics").get<std::string>(), record.value("device", "")});
  return records;
}

int device_place(int rank_on_node) {
  // The variable of mpirun comes first, because inside a batch job its ranks inherit SLURM_LOCALID
  // from the shell of the batch script.
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    int place = 0;
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), place);
    if (error != std::errc() || *end != '\0' || place < 0) continue;
    return place;
  }
  return rank_on_node;
}

}  // namespace rollcall::run
