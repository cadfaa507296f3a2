// The operations of generation and scoring: kernels over a bump-allocated scratch that each residual add empties.
#include "model/row_engine.hpp"

#include "base/error.hpp"
#include "model/transformer.hpp"

#include <algorithm>

namespace rollcall::model {
namespace {

std::int64_t padded(std::int64_t floats) { return (floats + 15) / 16 * 16; }

/// Floats a row needs between two residual adds: the larger of the attention and the MLP half of a block.
std::int64_t scratch_width(const Policy::Packed& p) {
  const std::int64_t hidden = p.config.hidden_size, norms = p.config.qk_norm ? p.q_width() + p.kv_width() : 0;
  const std::int64_t attention = 2 * hidden + 2 * p.q_width() + 2 * p.kv_width() + norms, mlp = 2 * hidden + 3 * p.config.intermediate_size;
  return std::max(attention, mlp);
}

constexpr std::int64_t kScratchPieces = 9;  // buffers of one half of a block, each padded to a cache line

}  // namespace

RowEngine::RowEngine(const Policy::Packed& policy, std::int64_t max_rows)
    : policy_(policy),
      max_rows_(max_rows),
      x_(std::size_t(max_rows * policy.config.hidden_size)),
      scratch_(std::size_t(max_rows * scratch_width(policy) + kScratchPieces * 16)),
      head_scratch_(std::size_t(kHeadRows * (2 * policy.config.hidden_size + policy.config.vocab_size))) {}

const float* RowEngine::hidden(std::span<const std::int32_t> tokens, std::span<const std::int32_t> positions, KeyValues& memory) {
  n_ = std::int64_t(tokens.size());
  expect(n_ <= max_rows_ && positions.size() == tokens.size(), "rows fit the engine");
  positions_ = positions.data();
  memory_ = &memory;
  const std::int64_t width = policy_.config.hidden_size;
  for (std::int64_t row = 0; row < n_; ++row) std::copy_n(policy_.embedding + tokens[std::size_t(row)] * width, width, x_.data() + row * width);
  used_ = 0;
  return run_blocks(*this, policy_, Rows{x_.data(), width}).values;
}

void RowEngine::logits(std::span<const float* const> rows, const VisitLogits& visit) {
  const std::int64_t width = policy_.config.hidden_size;
  float* gathered = head_scratch_.data();
  float* normed = gathered + kHeadRows * width;
  float* out = normed + kHeadRows * width;
  const kernels::KernelSet& kernels = *policy_.kernels;
  for (std::size_t first = 0; first < rows.size(); first += kHeadRows) {
    const std::size_t count = std::min<std::size_t>(kHeadRows, rows.size() - first);
    for (std::size_t i = 0; i < count; ++i) std::copy_n(rows[first + i], width, gathered + std::int64_t(i) * width);
    kernels.rms_norm(context_, gathered, std::int64_t(count), width, policy_.final_norm.weight, policy_.eps(), normed);
    kernels.linear(context_, normed, std::int64_t(count), width, policy_.head.panels, policy_.head.outputs, nullptr, 1, out);
    visit(first, count, out, normed);
  }
}

RowEngine::Rows RowEngine::take(std::int64_t width) {
  float* values = scratch_.data() + used_;
  used_ += std::size_t(padded(n_ * width));
  expect(used_ <= scratch_.size(), "scratch_width counts every buffer of a block");
  return {values, width};
}

RowEngine::Rows RowEngine::linear(Rows x, const Linear& linear) {
  const Rows y = take(linear.outputs);
  policy_.kernels->linear(context_, x.values, n_, linear.inputs, linear.panels, linear.outputs, linear.bias, linear.slices, y.values);
  return y;
}

RowEngine::Rows RowEngine::rms_norm(Rows x, const Norm& norm) {
  const Rows y = take(x.width);
  policy_.kernels->rms_norm(context_, x.values, n_ * (x.width / norm.width), norm.width, norm.weight, policy_.eps(), y.values);
  return y;
}

RowEngine::Rows RowEngine::rope(Rows x) {
  const std::int64_t head_dim = policy_.config.head_dim;
  policy_.kernels->rope(context_, x.values, n_, x.width / head_dim, head_dim, positions_, policy_.rotary->cos.data(), policy_.rotary->sin.data(), +1);
  return x;
}

RowEngine::Rows RowEngine::attention(std::size_t layer, Rows q, Rows k, Rows v) {
  const Rows out = take(q.width);
  const auto visible = memory_->place(layer, k.values, v.values);
  policy_.kernels->attention(context_, q.values, visible.data(), n_, policy_.heads(), out.values);
  return out;
}

RowEngine::Rows RowEngine::swiglu(Rows gate, Rows up) {
  const Rows y = take(gate.width);
  policy_.kernels->swiglu(context_, gate.values, up.values, n_, gate.width, y.values);
  return y;
}

RowEngine::Rows RowEngine::add(Rows x, Rows y) {
  const std::int64_t count = n_ * x.width;
  for (std::int64_t i = 0; i < count; ++i) x.values[i] += y.values[i];
  used_ = 0;
  return x;
}

}  // namespace rollcall::model
