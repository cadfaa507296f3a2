// Private to the model: the products of a backward pass on the device. gradient_products.hpp has
// those for the host.
#pragma once

#include "model/device/device_backend.hpp"

#include <cstdint>

namespace rollcall::model {

/// Products of gradients are cuda::product on transposed operands. Their memory comes from the
/// backend's arena. All work is queued, and nothing waits for it.
class DeviceGradientProducts {
 public:
  /// `gradients` receives the gradients of the weights. It is null if nobody wants them.
  DeviceGradientProducts(DeviceBackend& backend, DeviceGradients* gradients)
      : backend_(&backend), gradients_(gradients) {}

  bool wanted() const { return gradients_ != nullptr; }
  DeviceGradients& gradients() { return *gradients_; }
  float* take(std::int64_t rows, std::int64_t width) {
    return backend_->arena().take<float>(rows * width);
  }
  float* zeros(std::int64_t rows, std::int64_t width);
  /// x^T rounded. The gradients of all outputs of a weight share this operand.
  kernels::cuda::Rows16 turned(const float* x, std::int64_t rows, std::int64_t width);
  /// The gradient of a weight. dy [rows, linear.outputs] belongs to its outputs from first_output
  /// on.
  void weights(const Linear& linear, std::int64_t first_output, const float* dy,
               const kernels::cuda::Rows16& turned_x);
  /// The gradient of a bias, from memory that stays taken.
  void bias(const Linear& linear, const float* dy, std::int64_t rows);
  /// dx [rows, inputs] = dy [rows, outputs] W.
  void inputs(const Linear& linear, const float* dy, std::int64_t rows, float* dx);
  /// dx += dy W, which is computed in `part` [rows, inputs].
  void add_inputs(const Linear& linear, const float* dy, std::int64_t rows, float* part, float* dx);

 private:
  DeviceBackend* backend_;
  DeviceGradients* gradients_;
};

}  // namespace rollcall::model
