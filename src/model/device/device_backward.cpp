// The gradient of each operation, in the order of the backward pass. All work is queued, and
// nothing waits for it.
#include "model/device/device_backward.hpp"

#include <algorithm>
#include <numeric>

namespace rollcall::model {
namespace {

namespace cuda = kernels::cuda;
using device_sizes::kHeadOutputs, device_sizes::kWeightFloats;

}  // namespace

DeviceBackward::DeviceBackward(const OnDevice& policy, DeviceBackend& backend,
                               const PackedSequences& sequences, DeviceGradients* gradients)
    : policy_(&policy.view),
      backend_(&backend),
      gradients_(gradients),
      n_(std::int64_t(sequences.positions().size())) {
  if (gradients == nullptr) return;  // only states() is called
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

float* DeviceBackward::zeros(std::int64_t rows, std::int64_t width) {
  float* made = take(rows, width);
  cuda::fill_zeros(context(), made, std::size_t(rows * width) * sizeof(float));
  return made;
}

/// x^T rounded. The gradients of all outputs of a weight share this operand.
cuda::Rows16 DeviceBackward::turned(const float* x, std::int64_t rows, std::int64_t width) {
  auto* to = backend_->arena().take<kernels::Bf16>(width * cuda::stepped(rows));
  cuda::round_transposed(context(), x, rows, width, to);
  return {to, width, rows};
}

/// The gradient of a weight. dy [rows, linear.outputs] belongs to its outputs from first_output on.
void DeviceBackward::weights(const Linear& linear, std::int64_t first_output, const float* dy,
                             const cuda::Rows16& turned_x) {
  const auto mark = backend_->arena().mark();
  const cuda::Rows16 turned_dy = turned(dy, turned_x.columns, linear.outputs);
  const std::int64_t most =
      std::min(std::max<std::int64_t>(kWeightFloats / linear.inputs, 1), linear.outputs);
  float* made = take(most, linear.inputs);
  for (std::int64_t first = 0; first < linear.outputs; first += most) {
    const std::int64_t count = std::min(most, linear.outputs - first);
    cuda::product(
        context(),
        {turned_dy.rows + first * cuda::stepped(turned_dy.columns), count, turned_dy.columns},
        turned_x, nullptr, 1, made);
    gradients_->add(linear.weight, (first_output + first) * linear.inputs, made,
                    count * linear.inputs);
  }
  backend_->arena().give_back(mark);
}

/// dx [rows, inputs] = dy [rows, outputs] W.
void DeviceBackward::inputs(const Linear& linear, const float* dy, std::int64_t rows, float* dx) {
  const auto mark = backend_->arena().mark();
  auto* turned_w =
      backend_->arena().take<kernels::Bf16>(linear.inputs * cuda::stepped(linear.outputs));
  cuda::transpose(context(), rows_of(linear), turned_w);
  cuda::product(context(), backend_->rounded_rows(dy, rows, linear.outputs),
                {turned_w, linear.inputs, linear.outputs}, nullptr, 1, dx);
  backend_->arena().give_back(mark);
}

float* DeviceBackward::linears(const float* x, std::span<const Through> all) {
  const std::int64_t width = all.front().linear.inputs;
  float* const dx = take(n_, width);
  const auto mark = backend_->arena().mark();
  const cuda::Rows16 turned_x = turned(x, n_, width);
  for (const auto& [linear, dy] : all) {
    weights(linear, 0, dy, turned_x);
    if (!linear.has_bias()) continue;
    float* sum = take(1, linear.outputs);
    cuda::sum_columns(context(), dy, n_, linear.outputs, sum);
    gradients_->add(linear.bias_id, 0, sum, linear.outputs);
  }
  float* const more = all.size() > 1 ? take(n_, width) : nullptr;
  for (const Through& through : all) {
    const bool first = &through == &all.front();
    inputs(through.linear, through.dy, n_, first ? dx : more);
    if (!first) cuda::add(context(), more, n_ * width, dx);
  }
  backend_->arena().give_back(mark);
  return dx;
}

void DeviceBackward::norm(const Norm& norm, const float* x, std::int64_t rows, const float* dy,
                          float* dx, bool added) {
  const auto mark = backend_->arena().mark();
  float *dweight = zeros(1, norm.width), *made = added ? take(rows, norm.width) : dx;
  cuda::rms_norm_backward(context(), x, rows, norm.width, norm.values, norm_eps(*policy_), dy, made,
                          dweight);
  if (added) cuda::add(context(), made, rows * norm.width, dx);
  gradients_->add(norm.weight, 0, dweight, norm.width);
  backend_->arena().give_back(mark);
}

float* DeviceBackward::states(const Predictions& p, float scale) {
  const Linear& head = policy_->head;
  const std::int64_t width = head.inputs, blocks = (head.outputs + kHeadOutputs - 1) / kHeadOutputs;
  const auto m = std::int64_t(p.rows.size());
  float* dnormed = zeros(m, width);
  const auto mark = backend_->arena().mark();
  std::vector<std::int32_t> targets;  // [blocks, m] counted from the block's first token
  for (std::int64_t b = 0; b < blocks; ++b)
    for (const std::int32_t target : p.targets)
      targets.push_back(std::int32_t(target - b * kHeadOutputs));
  const std::int32_t* shifted = backend_->device().upload(std::span<const std::int32_t>(targets));
  float *part = take(m, width), *z = take(m, std::min(kHeadOutputs, head.outputs));
  const cuda::Rows16 normed = backend_->rounded_rows(p.normed, m, width);
  const cuda::Rows16 turned_normed =
      gradients_ == nullptr ? cuda::Rows16{} : turned(p.normed, m, width);
  for (std::int64_t b = 0; b < blocks; ++b) {
    Linear block = head;
    const std::int64_t first = b * kHeadOutputs;
    block.outputs = std::min(kHeadOutputs, head.outputs - first);
    block.panels = rows_of(head).rows + first * cuda::stepped(width);
    cuda::product(context(), normed, rows_of(block), nullptr, head.slices, z);
    cuda::token_columns_backward(context(), z, m, block.outputs, scale, shifted + b * m, p.lse,
                                 p.entropy, p.dlogprob, p.dentropy, z);
    if (gradients_ != nullptr) weights(block, first, z, turned_normed);
    inputs(block, z, m, part);
    cuda::add(context(), part, m * width, dnormed);
  }
  backend_->arena().give_back(mark);
  return dnormed;
}

void DeviceBackward::head(const float* hidden, const Predictions& p, float scale) {
  Device& device = backend_->device();
  const std::int64_t width = policy_->head.inputs;
  const auto m = std::int64_t(p.rows.size());
  dx_ = take(n_, width);
  const auto mark = backend_->arena().mark();
  gradients_->begin_part(policy_->backward_parts.head);
  float* dnormed = states(p, scale);
  gradients_->end_part();
  float *part = take(m, width), *last = take(m, width);
  // The last token of a sequence predicts the first tokens of all sequences that continue it, so
  // its gradient is a sum.
  std::vector<const float*> predicting, own(static_cast<std::size_t>(m));
  std::vector<std::int32_t> begin(std::size_t(n_ + 1), 0);
  for (const std::int64_t row : p.rows)
    predicting.push_back(hidden + row * width), ++begin[std::size_t(row + 1)];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::int32_t> next = begin;
  for (std::int64_t i = 0; i < m; ++i)
    own[std::size_t(next[std::size_t(p.rows[std::size_t(i)])]++)] = dnormed + i * width;
  cuda::sum_rows(context(), device.upload(std::span<const float* const>(predicting)), nullptr, m,
                 width, last);
  gradients_->begin_part(policy_->backward_parts.final_norm);
  norm(policy_->final_norm, last, m, dnormed, part, false);
  gradients_->end_part();
  for (const float*& row : own) row = part + (row - dnormed);
  cuda::sum_rows(context(), device.upload(std::span<const float* const>(own)),
                 device.upload(std::span<const std::int32_t>(begin)), n_, width, dx_);
  backend_->arena().give_back(mark);
}

DeviceBackward::Heads DeviceBackward::attention(const AttentionRows<Rows>& rows,
                                                const float* dout) {
  const Heads d{take(n_, rows.q.width), take(n_, rows.k.width), take(n_, rows.v.width)};
  cuda::attention_backward(context(), rows.q.values, rows.k.values, rows.v.values, dout, n_,
                           head_shape(*policy_), tiles_, d.q, d.k, d.v);
  return d;
}

void DeviceBackward::block(std::size_t i, const BlockRows<Rows>& rows) {
  const Layer& layer = policy_->layers[i];
  const AttentionRows<Rows>& at = rows.attention;
  const MlpRows<Rows>& mlp = rows.mlp;
  const auto mark = backend_->arena().mark();
  const std::int64_t inner = layer.mlp.gate.outputs, dim = layer.attention.q_norm.width;

  gradients_->begin_part(policy_->backward_parts.blocks[i]);
  const float* dactivated = linears(mlp.activated.values, std::array{Through{layer.mlp.down, dx_}});
  float *dgate = take(n_, inner), *dup = take(n_, inner);
  cuda::swiglu_backward(context(), mlp.gate.values, mlp.up.values, n_, inner, dactivated, dgate,
                        dup);
  const float* dnormed = linears(
      mlp.normed.values, std::array{Through{layer.mlp.gate, dgate}, Through{layer.mlp.up, dup}});
  norm(layer.mlp_in, at.out.values, n_, dnormed, dx_, true);
  backend_->arena().give_back(mark);

  const float* dattended = linears(at.attended.values, std::array{Through{layer.attention.o, dx_}});
  Heads d = attention(at, dattended);
  if (const int rope = layer.attention.rope; rope >= 0) {
    backend_->rope({d.q, at.q.width}, rope, -1);
    backend_->rope({d.k, at.k.width}, rope, -1);
  }
  if (layer.attention.q_norm) {
    float *q = take(n_, at.q.width), *k = take(n_, at.k.width);
    norm(layer.attention.q_norm, at.q_plain.values, n_ * (at.q.width / dim), d.q, q, false);
    norm(layer.attention.k_norm, at.k_plain.values, n_ * (at.k.width / dim), d.k, k, false);
    d.q = q, d.k = k;
  }
  dnormed = linears(at.normed.values,
                    std::array{Through{layer.attention.q, d.q}, Through{layer.attention.k, d.k},
                               Through{layer.attention.v, d.v}});
  norm(layer.attention_in, rows.x.values, n_, dnormed, dx_, true);
  gradients_->end_part();
  backend_->arena().give_back(mark);
}

/// Adds the rows of equal tokens in row order.
void DeviceBackward::embedding(std::span<const std::int32_t> tokens) {
  const std::int64_t width = policy_->config.hidden_size;
  std::vector<std::int64_t> order(tokens.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return tokens[std::size_t(a)] < tokens[std::size_t(b)];
  });
  std::vector<std::int32_t> distinct, begin;
  std::vector<const float*> row;
  for (const std::int64_t i : order) {
    if (distinct.empty() || distinct.back() != tokens[std::size_t(i)])
      distinct.push_back(tokens[std::size_t(i)]), begin.push_back(std::int32_t(row.size()));
    row.push_back(dx_ + i * width);
  }
  begin.push_back(std::int32_t(row.size()));
  Device& device = backend_->device();
  const auto mark = backend_->arena().mark();
  float* sums = take(std::int64_t(distinct.size()), width);
  cuda::sum_rows(context(), device.upload(std::span<const float* const>(row)),
                 device.upload(std::span<const std::int32_t>(begin)), std::int64_t(distinct.size()),
                 width, sums);
  gradients_->begin_part(policy_->backward_parts.embedding);
  gradients_->add_rows(policy_->embedding.tensor, distinct, sums, width);
  gradients_->end_part();
  backend_->arena().give_back(mark);
}

}  // namespace rollcall::model
