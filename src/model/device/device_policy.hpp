// Private to the model: a policy's weights in device memory.
#pragma once

#include "kernels/cuda/device_kernels.hpp"
#include "model/device/device.hpp"
#include "model/device/device_sizes.hpp"
#include "model/engine/packed_policy.hpp"

namespace rollcall::model {

/// A copy of the packed weights on the device. Its layers are the host's with device pointers.
struct OnDevice {
  /// Only config, layers, final_norm, head, backward_parts and the embedding's id.
  PolicyModel::Packed view;
  kernels::cuda::Rows16 embedding{};
  struct Angles {
    const float *cos, *sin;  ///< [positions, head_dim / 2]
  };
  std::vector<Angles> rotary;  ///< by ModelShape::ropes
  std::uint64_t revision = 0;  ///< the host's revision that was copied

  OnDevice(Device& device, const PolicyModel::Packed& host);
  void copy(Device& device, const PolicyModel::Packed& host);  ///< copies the weights again
  /// Takes new weights for a tensor, from its element `first` on. They are fp32 on the device, and
  /// for a matrix they are whole rows.
  void put(Device& device, TensorId tensor, std::int64_t first, const float* values,
           std::int64_t count) const;
  /// All that differs between versions, as one piece of memory.
  std::span<float> weights() const {
    return {reinterpret_cast<float*>(memory_.get()),
            std::size_t(bytes_.changing()) / sizeof(float)};
  }

 private:
  /// Where a tensor is: the rows of a matrix in bf16, or a vector in fp32.
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
  std::shared_ptr<std::byte> memory_, angles_;  ///< weights; cos and sin
  std::vector<Place> places_;                   ///< [tensors]
};

/// The policy on the device, copied if the host has a newer revision. The host's panels may change
/// afterwards. The caller holds a turn on the device.
const OnDevice& on_device(Device& device, const PolicyModel::Packed& host);

inline kernels::cuda::Rows16 rows_of(const Linear& linear) {
  return {static_cast<const kernels::Bf16*>(linear.panels), linear.outputs, linear.inputs};
}

}  // namespace rollcall::model
