// The operations as calls of the device's kernels.
#include "model/device/device_backend.hpp"

#include "model/block/block.hpp"

#include <algorithm>

namespace rollcall::model {

namespace cuda = kernels::cuda;
using device_sizes::kHeadRows;

DeviceBackend::Rows DeviceBackend::embed(const OnDevice& policy, const PassRows& input, Keep keep) {
  policy_ = &policy;
  input_ = input;
  keep_ = keep;
  n_ = input.rows;
  const ModelConfig& config = policy.view.config;
  const Rows x = take(config.hidden_size);
  const std::int64_t widest = std::max(
      {config.hidden_size, config.num_attention_heads * config.head_dim, config.intermediate_size});
  rounded_ = arena_.take<kernels::Bf16>(n_ * cuda::stepped(widest));
  rounded_rows_ = nullptr;
  cuda::embed(context(), policy.embedding, input.tokens, n_, x.values);
  after_embed_ = arena_.mark();
  return x;
}

DeviceBackend::Rows DeviceBackend::hidden(const OnDevice& policy, const PassRows& input) {
  Rows x = embed(policy, input, Keep::nothing);
  for (std::size_t i = 0; i < policy.view.layers.size(); ++i)
    x = run_block(*this, policy.view, i, x).y();
  return x;
}

void DeviceBackend::logits(const OnDevice& policy, std::span<const float* const> rows,
                           const VisitLogits& visit) {
  logits(policy, device_->upload(rows), std::int64_t(rows.size()), visit);
}

void DeviceBackend::logits(const OnDevice& policy, const float* const* rows, std::int64_t all,
                           const VisitLogits& visit) {
  const Linear& head = policy.view.head;
  const std::int64_t width = head.inputs;
  for (std::int64_t first = 0; first < all; first += kHeadRows) {
    const std::int64_t count = std::min(kHeadRows, all - first);
    const auto mark = arena_.mark();
    float *gathered = arena_.take<float>(count * width),
          *normed = arena_.take<float>(count * width),
          *logits = arena_.take<float>(count * head.outputs);
    cuda::sum_rows(context(), rows + first, nullptr, count, width, gathered);
    cuda::rms_norm(context(), gathered, count, width, policy.view.final_norm.values,
                   norm_eps(policy.view), normed);
    cuda::product(context(), rounded_rows(normed, count, width), rows_of(head), head.bias,
                  head.slices, logits);
    visit(first, count, logits, normed);
    arena_.give_back(mark);
  }
}

void DeviceBackend::columns(const float* logits, std::int64_t count, std::int64_t vocab,
                            float scale, const std::int32_t* targets, const Columns& to,
                            kernels::BlockMass* blocks) {
  const auto mark = arena_.mark();
  if (blocks == nullptr)
    blocks = arena_.take<kernels::BlockMass>(count * (kernels::vocabulary_blocks(vocab) + 1));
  cuda::token_columns(context(), logits, count, vocab, scale, targets, to.logprob, to.entropy,
                      to.lse, blocks, arena_.take<float>(cuda::column_floats(count, vocab)));
  arena_.give_back(mark);
}

cuda::Rows16 DeviceBackend::rounded_rows(const float* x, std::int64_t n, std::int64_t width) {
  auto* rounded = arena_.take<kernels::Bf16>(n * cuda::stepped(width));
  cuda::round_rows(context(), x, n, width, rounded);
  return {rounded, n, width};
}

DeviceBackend::Rows DeviceBackend::rms_norm(Rows x, const Norm& norm) {
  const Rows y = take(x.width);
  // A product reads norms of whole rows, but never norms of single heads.
  cuda::rms_norm(context(), x.values, n_ * (x.width / norm.width), norm.width, norm.values,
                 norm_eps(policy_->view), y.values, x.width == norm.width ? rounding(y) : nullptr);
  return y;
}

void DeviceBackend::rope(Rows x, int table, int direction) {
  const auto [cos, sin] = policy_->rotary[std::size_t(table)];
  const std::int64_t head_dim = policy_->view.config.head_dim;
  cuda::rope(context(), x.values, n_, x.width / head_dim, head_dim, input_.positions, cos, sin,
             direction);
}

DeviceBackend::Rows DeviceBackend::attention(std::size_t layer, Rows q, Rows k, Rows v) {
  const Rows out = take(q.width);
  const kernels::HeadShape heads = head_shape(policy_->view);
  const std::int64_t offset = input_.memory->offset(layer);
  cuda::store_positions(context(), k.values, v.values, input_.places, input_.stored, heads, offset,
                        input_.source);
  cuda::attention(context(), q.values, input_.places, n_, heads, {offset, 0, heads.kv_heads},
                  out.values, rounding(out));
  return out;
}

DeviceBackend::Rows DeviceBackend::swiglu(Rows gate, Rows up) {
  const Rows y = take(gate.width);
  cuda::swiglu(context(), gate.values, up.values, n_, gate.width, y.values, rounding(y));
  return y;
}

cuda::Rows16 DeviceBackend::rounded_of(Rows x) const {
  expect(rounded_rows_ == x.values, "a product reads the rows that were rounded last");
  return {rounded_, n_, x.width};
}

DeviceBackend::Rows DeviceBackend::add_linear(Rows x, Rows y, const Linear& linear) {
  const bool keeps = keep_ == Keep::rows;
  const Rows sum = keeps ? take(linear.outputs) : x;
  const auto mark = arena_.mark();
  float* const parts = arena_.take<float>(cuda::sliced_floats(n_, linear.outputs, linear.slices));
  cuda::product(context(), rounded_of(y), rows_of(linear), linear.bias, linear.slices, sum.values,
                parts, x.values);
  arena_.give_back(mark);
  if (!keeps) release();
  return sum;
}

}  // namespace rollcall::model
