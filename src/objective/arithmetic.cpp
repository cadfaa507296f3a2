// Names the processor and LibTorch. LibTorch chooses its vector kernels by the processor, so both
// decide whether two machines compute the same bits of an objective.
#include "objective/arithmetic.hpp"

#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <fstream>
#include <map>

namespace rollcall::objective {

std::string torch_version() { return TORCH_VERSION; }

std::string arithmetic() {
  std::ifstream file("/proc/cpuinfo");
  std::map<std::string, std::string> first;  // the fields of the first core
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    first[line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1)] =
        line.substr(std::min(line.find_first_not_of(' ', colon + 1), line.size()));
  }
  const auto value = [&](const char* key) {
    return first.contains(key) ? first.at(key) : std::string("unknown");
  };
  const std::string processor =
      first.contains("vendor_id")
          ? fmt::format("{} family {} model {}", value("vendor_id"), value("cpu family"),
                        value("model"))
          : fmt::format("processor {} part {}", value("CPU implementer"), value("CPU part"));
  return fmt::format("{}, LibTorch {} ({})", processor, torch_version(), at::get_cpu_capability());
}

}  // namespace rollcall::objective
