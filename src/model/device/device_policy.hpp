// Private to the model: a policy's weights in device memory.
#pragma once

#include "kernels/cuda/device_kernels.hpp"
#include "model/device/device.hpp"
#include "model/packed_policy.hpp"

namespace rollcall::model {

/// What the host has packed, copied as it is; so the layers here are the host's with other pointers.
struct OnDevice {
  Policy::Packed view;  ///< config, layers, final_norm and head; weights of linears are none
  kernels::cuda::Rows16 embedding{};
  const float *cos = nullptr, *sin = nullptr;  ///< [positions, head_dim / 2]
  std::uint64_t revision = 0;                  ///< of the host's that was copied

  OnDevice(Device& device, const Policy::Packed& host);
  void copy(Device& device, const Policy::Packed& host);  ///< its weights

 private:
  void place(Device& device, const Policy::Packed& host);
  void copy_embedding(Device& device, const Policy::Packed& host);

  std::shared_ptr<std::byte> panels_, vectors_, table_, rotary_;
  std::int64_t vector_floats_ = 0;
};

/// The policy as it is now; the host's panels may change behind it. In a turn of the device's.
const OnDevice& on_device(Device& device, const Policy::Packed& host);

inline kernels::cuda::Rows16 rows_of(const Linear& linear) { return {static_cast<const kernels::Bf16*>(linear.panels), linear.outputs, linear.inputs}; }

}  // namespace rollcall::model
