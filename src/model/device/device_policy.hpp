// Private to the model: a policy's weights in device memory.
#pragma once

#include "kernels/cuda/device_kernels.hpp"
#include "model/device/device.hpp"
#include "model/device/device_sizes.hpp"
#include "model/engine/packed_policy.hpp"

namespace rollcall::model {

/// What the host has packed, copied as it is; so the layers here are the host's with other
/// pointers.
struct OnDevice {
  PolicyModel::Packed view;  ///< config, layers, final_norm and head; weights of linears are none
  kernels::cuda::Rows16 embedding{};
  const float *cos = nullptr, *sin = nullptr;  ///< [positions, head_dim / 2]
  std::uint64_t revision = 0;                  ///< of the host's that was copied

  OnDevice(Device& device, const PolicyModel::Packed& host);
  void copy(Device& device, const PolicyModel::Packed& host);  ///< its weights
  /// New weights of a slice of the layout from its element `first` on, whole rows of a matrix, in
  /// fp32 on the device.
  void put(Device& device, std::size_t slice, std::int64_t first, const float* values,
           std::int64_t count) const;
  /// All that versions change, in one piece.
  std::span<float> weights() const {
    return {reinterpret_cast<float*>(memory_.get()),
            std::size_t(bytes_.changing()) / sizeof(float)};
  }

 private:
  /// Where a slice stands: a matrix rounded, a vector as it is.
  struct Place {
    kernels::Bf16* rows = nullptr;
    std::int64_t columns = 0;
    float* vector = nullptr;
  };
  void place(Device& device, const PolicyModel::Packed& host);
  void copy_embedding(Device& device, const PolicyModel::Packed& host);
  float* vectors() const { return reinterpret_cast<float*>(memory_.get() + bytes_.panels); }
  kernels::Bf16* table() const {
    return reinterpret_cast<kernels::Bf16*>(memory_.get() + bytes_.panels + bytes_.vectors);
  }

  DeviceWeightBytes bytes_;
  std::shared_ptr<std::byte> memory_, rotary_;  ///< what versions change; angles
  std::vector<Place> places_;                   ///< [slices]
};

/// The policy as it is now; the host's panels may change behind it. In a turn of the device's.
const OnDevice& on_device(Device& device, const PolicyModel::Packed& host);

inline kernels::cuda::Rows16 rows_of(const Linear& linear) {
  return {static_cast<const kernels::Bf16*>(linear.panels), linear.outputs, linear.inputs};
}

}  // namespace rollcall::model
