// Runs a leaf through the recorded operations and back.
#include "model/tape_engine.hpp"

#include "base/error.hpp"
#include "model/tape_operations.hpp"
#include "model/transformer.hpp"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <map>
#include <utility>

namespace rollcall::model {
namespace {

/// A vector as a tensor that borrows it.
at::Tensor borrowed(const std::vector<float>& values) { return at::from_blob(const_cast<float*>(values.data()), {std::int64_t(values.size())}, at::kFloat); }

std::vector<float> copied(const at::Tensor& t) { return {t.const_data_ptr<float>(), t.const_data_ptr<float>() + t.numel()}; }

at::Tensor embedded(const Policy::Packed& policy, const std::vector<std::int32_t>& tokens) {
  const std::int64_t width = policy.config.hidden_size;
  at::Tensor rows = at::empty({std::int64_t(tokens.size()), width}, at::kFloat);
  float* into = rows.mutable_data_ptr<float>();
  for (const std::int32_t token : tokens) policy.embedding.row(token, std::exchange(into, into + width));
  return rows;
}

/// Rows of equal tokens are added in row order and given to the sink as one.
void give_embedding_gradient(const std::vector<std::int32_t>& tokens, const at::Tensor& gradient, const GradientSink& sink) {
  const std::int64_t width = gradient.size(1);
  std::map<std::int32_t, std::vector<float>> rows;
  const float* row = gradient.const_data_ptr<float>();
  for (const std::int32_t token : tokens) {
    auto& sum = rows.try_emplace(token, std::size_t(width), 0.0F).first->second;
    for (std::int64_t i = 0; i < width; ++i) sum[std::size_t(i)] += row[i];
    row += width;
  }
  for (const auto& [token, sum] : rows) sink(0, token * width, sum);
}

}  // namespace

TapeEngine::TapeEngine(const Policy::Packed& policy, const Leaf& leaf, const GradientSink& sink)
    : tape_{policy, PackedSequences(leaf.offsets, page_shape(policy), leaf.parents), sink} {}

Columns TapeEngine::run(const Leaf& leaf, double temperature, const ColumnGradient& derivative) {
  call_.inverse_temperature = inverse_temperature(temperature);
  call_.targets.clear();
  for (const std::int64_t target : leaf.targets) call_.targets.push_back(leaf.tokens[std::size_t(target)]);
  const at::Tensor first = embedded(tape_.policy, leaf.tokens).requires_grad_(true);
  const at::Tensor x = run_blocks(*this, tape_.policy, first);
  const at::Tensor predicting = x.index_select(0, at::tensor(predicting_rows(leaf), at::kLong));
  const at::Tensor normed = rms_norm(predicting, tape_.policy.final_norm);
  const Tensors scored = HeadColumns::apply(normed, &tape_, &call_);
  const Tensors grads = torch::autograd::grad({scored[0], scored[1]}, {first}, {borrowed(derivative.logprob), borrowed(derivative.entropy)});
  give_embedding_gradient(leaf.tokens, grads[0].contiguous(), tape_.sink);
  return {copied(scored[0].detach()), copied(scored[1].detach()), leaf.hidden ? copied(normed.detach()) : std::vector<float>{}};
}

TapeEngine::Rows TapeEngine::product(const Rows& x, const Linear& linear) { return LinearRows::apply(x, &tape_, &linear); }
TapeEngine::Rows TapeEngine::rms_norm(const Rows& x, const Norm& norm) { return NormRows::apply(x, &tape_, &norm); }
TapeEngine::Rows TapeEngine::rope(const Rows& x) { return RopeRows::apply(x, &tape_); }
TapeEngine::Rows TapeEngine::attention(std::size_t, const Rows& q, const Rows& k, const Rows& v) { return AttentionRows::apply(q, k, v, &tape_); }
TapeEngine::Rows TapeEngine::swiglu(const Rows& gate, const Rows& up) { return SwigluRows::apply(gate, up, &tape_); }
TapeEngine::Rows TapeEngine::add(const Rows& x, const Rows& y) { return at::add(x, y); }

}  // namespace rollcall::model
