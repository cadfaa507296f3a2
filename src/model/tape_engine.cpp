// Runs a leaf through the recorded operations and back.
#include "model/tape_engine.hpp"

#include "base/error.hpp"
#include "model/tape_operations.hpp"
#include "model/transformer.hpp"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

namespace rollcall::model {
namespace {

/// A vector as a tensor that borrows it.
at::Tensor borrowed(const std::vector<float>& values) { return at::from_blob(const_cast<float*>(values.data()), {std::int64_t(values.size())}, at::kFloat); }

}  // namespace

TapeEngine::TapeEngine(const Policy::Packed& policy, const Leaf& leaf) : tape_{policy, PackedSequences(leaf.offsets, policy.kv_width()), {}} {
  for (const Slice& slice : policy.layout.slices) {
    // from_blob has no const form; nothing writes to a weight.
    float* values = const_cast<float*>(policy.weights.data()) + slice.offset;
    weights_.push_back(at::from_blob(values, slice.shape, at::kFloat).requires_grad_(true));
  }
}

TapeEngine::Scored TapeEngine::forward(const Leaf& leaf, double temperature) {
  call_.inverse_temperature = inverse_temperature(temperature);
  call_.targets.clear();
  std::vector<std::int64_t> rows;
  for (const std::int64_t target : leaf.targets) {
    call_.targets.push_back(leaf.tokens[std::size_t(target)]);
    rows.push_back(target - 1);
  }
  const at::Tensor x = run_blocks(*this, tape_.policy, EmbedRows::apply(weight(0), &leaf.tokens));
  const at::Tensor predicting = x.index_select(0, at::tensor(rows, at::kLong));
  const at::Tensor normed = rms_norm(predicting, tape_.policy.final_norm);
  const Tensors columns = HeadColumns::apply(normed, weight(tape_.policy.head.weight_slice), &tape_, &call_);
  return {columns[0], columns[1], normed.detach()};
}

void TapeEngine::backward(const Scored& scored, const ColumnGradient& columns, std::span<float> gradient) {
  const Tensors grads = torch::autograd::grad({scored.logprob, scored.entropy}, weights_, {borrowed(columns.logprob), borrowed(columns.entropy)});
  const auto& slices = tape_.policy.layout.slices;
  for (std::size_t t = 0; t < slices.size(); ++t) {
    const at::Tensor grad = grads[t].contiguous();
    std::copy_n(grad.const_data_ptr<float>(), slices[t].count, gradient.data() + slices[t].offset);
  }
}

TapeEngine::Rows TapeEngine::linear(const Rows& x, const Linear& linear) {
  const auto bias = linear.bias == nullptr ? std::nullopt : std::optional<at::Tensor>(weight(linear.bias_slice));
  return LinearRows::apply(x, weight(linear.weight_slice), bias, &tape_, &linear);
}
TapeEngine::Rows TapeEngine::rms_norm(const Rows& x, const Norm& norm) { return NormRows::apply(x, weight(norm.slice), &tape_); }
TapeEngine::Rows TapeEngine::rope(const Rows& x) { return RopeRows::apply(x, &tape_); }
TapeEngine::Rows TapeEngine::attention(std::size_t, const Rows& q, const Rows& k, const Rows& v) { return AttentionRows::apply(q, k, v, &tape_); }
TapeEngine::Rows TapeEngine::swiglu(const Rows& gate, const Rows& up) { return SwigluRows::apply(gate, up, &tape_); }
TapeEngine::Rows TapeEngine::add(const Rows& x, const Rows& y) { return at::add(x, y); }

}  // namespace rollcall::model
