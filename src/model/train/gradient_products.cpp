// Products on transposed operands, and where threads share them.
#include "model/train/gradient_products.hpp"

#include <algorithm>

namespace rollcall::model {

GradientProducts::GradientProducts(const PolicyModel::Packed& policy, Backend& backend,
                                   Arena& scratch, const GradientSink& sink)
    : policy_(&policy),
      backend_(&backend),
      team_(&backend.team()),
      scratch_(&scratch),
      sink_(&sink) {}

std::int64_t GradientProducts::member_floats(std::int64_t rows, std::int64_t widest) {
  return (kOutputs + 32) * (rows + widest) + 32;
}

void GradientProducts::take_members(std::int64_t rows, std::int64_t widest) {
  for (int member = 0; member < team_->size(); ++member) {
    turned_.push_back(scratch_->take((kOutputs + 32) * rows));
    made_.push_back(scratch_->take((kOutputs + 32) * widest));
  }
}

const void* GradientProducts::packed_inputs(const float* x, std::int64_t rows, std::int64_t width) {
  const kernels::KernelSet& kernels = *policy_->kernels;
  void* packed = take_bytes(kernels.packed_bytes(width, rows));
  team_->share(kernels::panels_of(width), kLeast / (rows * kernels::kPanel) + 1, 1,
               [&](int, std::int64_t begin, std::int64_t end) {
                 kernels.pack_transposed(x, rows, width, begin, end, packed);
               });
  return packed;
}

void GradientProducts::weights(const Linear& linear, std::int64_t first_output, const float* dy,
                               std::int64_t rows, const void* packed_x) {
  const Parts parts = even_parts(linear.outputs, kOutputs, team_->size());
  team_->deal(parts.count, [&](int member, std::int64_t p) {
    const std::int64_t first = p * parts.size, count = std::min(parts.size, linear.outputs - first);
    float *turned = turned_[std::size_t(member)], *made = made_[std::size_t(member)];
    policy_->kernels->transpose(dy + first, rows, linear.outputs, count, turned);
    const kernels::Product product{packed_x, linear.inputs, nullptr, made};
    policy_->kernels->linear(backend_->context(member), turned, count, rows, &product, 1, 1, 0,
                             kernels::panels_of(linear.inputs));
    (*sink_)(linear.weight, (first_output + first) * linear.inputs,
             {made, std::size_t(count * linear.inputs)});
  });
}

void GradientProducts::bias(const Linear& linear, const float* dy, std::int64_t rows) {
  if (!linear.has_bias()) return;
  const Arena::Scope scope(*scratch_);
  float* sum = scratch_->take(linear.outputs);
  std::fill_n(sum, linear.outputs, 0.0F);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t o = 0; o < linear.outputs; ++o) sum[o] += dy[row * linear.outputs + o];
  (*sink_)(linear.bias_id, 0, {sum, std::size_t(linear.outputs)});
}

void GradientProducts::inputs(const Linear& linear, const float* dy, std::int64_t rows, float* dx) {
  const kernels::KernelSet& kernels = *policy_->kernels;
  const Arena::Scope scope(*scratch_);
  void* turned = take_bytes(kernels.packed_bytes(linear.inputs, linear.outputs));
  team_->share(kernels::panels_of(linear.inputs), kLeast / (linear.outputs * kernels::kPanel) + 1,
               1, [&](int, std::int64_t begin, std::int64_t end) {
                 kernels.pack_transposed(linear.weight_rows, linear.outputs, linear.inputs, begin,
                                         end, turned);
               });
  Linear back;
  back.outputs = linear.inputs, back.inputs = linear.outputs, back.panels = turned;
  backend_->product(dy, rows, back, dx);
}

void GradientProducts::add_inputs(const Linear& linear, const float* dy, std::int64_t rows,
                                  float* part, float* dx) {
  inputs(linear, dy, rows, part);
  team_->share(rows * linear.inputs, 2 * kLeast, 16,
               [&](int, std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) dx[i] += part[i];
               });
}

}  // namespace rollcall::model
