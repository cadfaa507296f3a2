// Replaces src/model/device in a build without CUDA kernels. Each function says what is missing.
#include "base/errors/error.hpp"
#include "model/device/device_choice.hpp"
#include "model/engine/engine.hpp"
#include "model/train/policy_optimizer.hpp"

namespace rollcall::model {
namespace {

[[noreturn]] void refuse() {
  throw EnvironmentError(
      error_message("a policy of cuda_bf16_sliced8 was to run, but " + device_problem(),
                    "its operations are a CUDA device's",
                    "configure a build with cmake --preset cuda, or choose other numerics"));
}

}  // namespace

std::string device_problem() { return "this build has no CUDA kernels"; }
void prefer_device(int) {}
int device_index() { refuse(); }
std::string device_name() { refuse(); }
std::string device_kind() { refuse(); }
std::string device_text() { refuse(); }
std::unique_ptr<DecodeEngine> make_device_decoding(const PolicyModel::Packed&,
                                                   const SamplingParams&, std::int64_t) {
  refuse();
}
std::unique_ptr<MicroBatchEngine> make_device_micro_batches() { refuse(); }
std::unique_ptr<DeviceOptimizer> make_device_optimizer(const PolicyModel&,
                                                       std::vector<std::int64_t>, Collectives&) {
  refuse();
}
std::span<float> device_weights(const PolicyModel&) { refuse(); }

}  // namespace rollcall::model
