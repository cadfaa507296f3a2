// Publishing costs nothing on a device, and reading weights on the host costs a copy.
#include "run/policy_store/device_store.hpp"

#include "model/device/device_choice.hpp"
#include "model/device/device_sizes.hpp"
#include "model/train/policy_optimizer.hpp"

namespace rollcall::run {

double DeviceStore::publish(PolicyVersion version, const Publishers&) {
  policy_->renewed_on_device(version);
  return 0.0;
}

void DeviceStore::fetch(comm::Communicator& node, const Fetch& fetch) {
  if (on_host_ == version()) return;
  fetch(node.rank() == 0 ? weights() : std::span<float>());
  node.barrier();
  on_host_ = version();
}

PolicyStore::Travel DeviceStore::travel() const {
  const std::int64_t floats = model::device_weight_bytes(config()).changing() /
                              std::int64_t(sizeof(float));  // bytes on the device, counted as
                                                            // floats
  return {.slices = {{"weights of the device", 0, floats}},
          .once_per_node = false,
          .device = model::device_index()};
}

std::span<float> DeviceStore::travelling_weights() { return model::device_weights(policy()); }

}  // namespace rollcall::run
