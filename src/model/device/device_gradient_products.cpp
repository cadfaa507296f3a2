// Products on transposed operands, as calls of the device's kernels.
#include "model/device/device_gradient_products.hpp"

#include "model/device/device_backward.hpp"

#include <algorithm>

namespace rollcall::model {

namespace cuda = kernels::cuda;
using device_sizes::kWeightFloats;

float* DeviceGradientProducts::zeros(std::int64_t rows, std::int64_t width) {
  float* made = take(rows, width);
  cuda::fill_zeros(backend_->context(), made, std::size_t(rows * width) * sizeof(float));
  return made;
}

cuda::Rows16 DeviceGradientProducts::turned(const float* x, std::int64_t rows, std::int64_t width) {
  auto* to = backend_->arena().take<kernels::Bf16>(width * cuda::stepped(rows));
  cuda::round_transposed(backend_->context(), x, rows, width, to);
  return {to, width, rows};
}

void DeviceGradientProducts::weights(const Linear& linear, std::int64_t first_output,
                                     const float* dy, const cuda::Rows16& turned_x) {
  const DeviceArena::Scope scope(backend_->arena());
  const cuda::Rows16 turned_dy = turned(dy, turned_x.columns, linear.outputs);
  const std::int64_t most =
      std::min(std::max<std::int64_t>(kWeightFloats / linear.inputs, 1), linear.outputs);
  float* made = take(most, linear.inputs);
  for (std::int64_t first = 0; first < linear.outputs; first += most) {
    const std::int64_t count = std::min(most, linear.outputs - first);
    cuda::product(
        backend_->context(),
        {turned_dy.rows + first * cuda::stepped(turned_dy.columns), count, turned_dy.columns},
        turned_x, nullptr, 1, made);
    gradients_->add(linear.weight, (first_output + first) * linear.inputs, made,
                    count * linear.inputs);
  }
}

void DeviceGradientProducts::bias(const Linear& linear, const float* dy, std::int64_t rows) {
  if (!linear.has_bias()) return;
  float* sum = take(1, linear.outputs);
  cuda::sum_columns(backend_->context(), dy, rows, linear.outputs, sum);
  gradients_->add(linear.bias_id, 0, sum, linear.outputs);
}

void DeviceGradientProducts::inputs(const Linear& linear, const float* dy, std::int64_t rows,
                                    float* dx) {
  const DeviceArena::Scope scope(backend_->arena());
  auto* turned_w =
      backend_->arena().take<kernels::Bf16>(linear.inputs * cuda::stepped(linear.outputs));
  cuda::transpose(backend_->context(), rows_of(linear), turned_w);
  cuda::product(backend_->context(), backend_->rounded_rows(dy, rows, linear.outputs),
                {turned_w, linear.inputs, linear.outputs}, nullptr, 1, dx);
}

void DeviceGradientProducts::add_inputs(const Linear& linear, const float* dy, std::int64_t rows,
                                        float* part, float* dx) {
  inputs(linear, dy, rows, part);
  cuda::add(backend_->context(), part, rows * linear.inputs, dx);
}

}  // namespace rollcall::model
