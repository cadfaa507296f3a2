// The gradient of each operation, as calls of the device's kernels.
#include "model/device/device_backward.hpp"

#include "model/block/head.hpp"

#include <numeric>
#include <vector>

namespace rollcall::model {

namespace cuda = kernels::cuda;

DeviceBackward::DeviceBackward(const OnDevice& policy, DeviceBackend& backend,
                               const PackedSequences& sequences, DeviceGradients* gradients)
    : products_(backend, gradients),
      policy_(&policy.view),
      backend_(&backend),
      n_(std::int64_t(sequences.positions().size())) {
  if (gradients == nullptr) return;  // only states_backward() is called
  std::vector<cuda::AttentionSequence> all;
  for (std::size_t s = 0; s < sequences.sequences(); ++s) {
    const auto& stretch = sequences.stretch(s);
    all.push_back({stretch.parent, stretch.before, stretch.begin, stretch.rows});
  }
  const cuda::AttentionTileTable table = cuda::attention_tiles(all);
  Device& device = backend.device();
  tiles_ = {device.upload(std::span<const cuda::AttentionSequence>(all)),
            device.upload(std::span<const cuda::AttentionTiles::Tile>(table.tiles)),
            std::int64_t(table.tiles.size()),
            device.upload(std::span<const std::int32_t>(table.children))};
}

void DeviceBackward::begin(std::int64_t) { dx_ = take(policy_->head.inputs); }

DeviceBackward::Rows DeviceBackward::gather(const float* hidden,
                                            std::span<const std::int64_t> rows) {
  const std::int64_t width = dx_.width, count = std::int64_t(rows.size());
  std::vector<const float*> from;
  for (const std::int64_t row : rows) from.push_back(hidden + row * width);
  float* to = products_.take(count, width);
  cuda::sum_rows(context(), backend_->device().upload(std::span<const float* const>(from)), nullptr,
                 count, width, to);
  return {to, width};
}

void DeviceBackward::scatter(Rows d, std::span<const std::int64_t> rows) {
  std::vector<const float*> own(rows.size());
  std::vector<std::int32_t> begin(std::size_t(n_ + 1), 0);
  for (const std::int64_t row : rows) ++begin[std::size_t(row + 1)];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::int32_t> next = begin;
  for (std::size_t i = 0; i < rows.size(); ++i)
    own[std::size_t(next[std::size_t(rows[i])]++)] = d.values + std::int64_t(i) * d.width;
  Device& device = backend_->device();
  cuda::sum_rows(context(), device.upload(std::span<const float* const>(own)),
                 device.upload(std::span<const std::int32_t>(begin)), n_, d.width, dx_.values);
}

DeviceBackward::Rows DeviceBackward::linears(Rows x, std::span<const Through<Rows>> all) {
  const Rows dx = take(x.width);
  const DeviceArena::Scope scope(backend_->arena());
  const cuda::Rows16 turned_x = products_.turned(x.values, n_, x.width);
  for (const auto& [linear, dy] : all) {
    products_.weights(linear, 0, dy.values, turned_x);
    products_.bias(linear, dy.values, n_);
  }
  float* const more = all.size() > 1 ? take(x.width).values : nullptr;
  products_.inputs(all.front().linear, all.front().dy.values, n_, dx.values);
  for (const auto& [linear, dy] : all.subspan(1))
    products_.add_inputs(linear, dy.values, n_, more, dx.values);
  return dx;
}

void DeviceBackward::norm_backward(const Norm& norm, const float* x, std::int64_t rows,
                                   const float* dy, float* dx, bool added) {
  const DeviceArena::Scope scope(backend_->arena());
  float *dweight = products_.zeros(1, norm.width),
        *made = added ? products_.take(rows, norm.width) : dx;
  cuda::rms_norm_backward(context(), x, rows, norm.width, norm.values, norm_eps(*policy_), dy, made,
                          dweight);
  if (added) cuda::add(context(), made, rows * norm.width, dx);
  products_.gradients().add(norm.weight, 0, dweight, norm.width);
}

DeviceBackward::Rows DeviceBackward::norm(const Norm& norm, std::int64_t rows, Rows x, Rows dy) {
  const Rows dx{products_.take(rows, x.width), x.width};
  norm_backward(norm, x.values, rows * (x.width / norm.width), dy.values, dx.values, false);
  return dx;
}

void DeviceBackward::norm_into_dx(const Norm& norm, Rows x, Rows dy) {
  norm_backward(norm, x.values, n_, dy.values, dx_.values, true);
}

Heads<DeviceBackward::Rows> DeviceBackward::attention(const Heads<Rows>& rows, Rows dout) {
  const Heads<Rows> d{take(rows.q.width), take(rows.k.width), take(rows.v.width)};
  cuda::attention_backward(context(), rows.q.values, rows.k.values, rows.v.values, dout.values, n_,
                           head_shape(*policy_), tiles_, d.q.values, d.k.values, d.v.values);
  return d;
}

GatedRows<DeviceBackward::Rows> DeviceBackward::swiglu(Rows gate, Rows up, Rows dy) {
  const GatedRows<Rows> d{take(gate.width), take(up.width)};
  cuda::swiglu_backward(context(), gate.values, up.values, n_, gate.width, dy.values, d.gate.values,
                        d.up.values);
  return d;
}

/// Adds the rows of equal tokens in row order.
void DeviceBackward::embedding(std::span<const std::int32_t> tokens) {
  const std::int64_t width = dx_.width;
  const TokenGroups groups = token_groups(tokens);
  const auto count = std::int64_t(groups.tokens.size());
  std::vector<const float*> rows;
  for (const std::int64_t row : groups.rows) rows.push_back(dx_.values + row * width);
  Device& device = backend_->device();
  const DeviceArena::Scope scope(backend_->arena());
  float* sums = products_.take(count, width);
  cuda::sum_rows(context(), device.upload(std::span<const float* const>(rows)),
                 device.upload(std::span<const std::int32_t>(groups.begin)), count, width, sums);
  part(policy_->backward_parts.embedding, [&] {
    products_.gradients().add_rows(policy_->embedding.tensor, groups.tokens, sums, width);
  });
}

}  // namespace rollcall::model
