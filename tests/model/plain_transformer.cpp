// Plain ATen, one sequence at a time.
#include "model/plain_transformer.hpp"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rollcall::model::testing {

PlainTransformer::PlainTransformer(const ModelConfig& config, std::span<const float> weights)
    : config_(config), layout_(weight_layout(config)) {
  for (const Slice& slice : layout_.slices) {
    const at::Tensor values =
        at::from_blob(const_cast<float*>(weights.data()) + slice.offset, slice.shape, at::kFloat);
    weights_[slice.name] = values.to(at::kDouble).requires_grad_(true);
  }
}

at::Tensor PlainTransformer::project(const std::string& module, const at::Tensor& x) const {
  const at::Tensor y = at::matmul(x, weights_.at(module + ".weight").t());
  const auto bias = weights_.find(module + ".bias");
  return bias == weights_.end() ? y : y + bias->second;
}

at::Tensor PlainTransformer::norm(const std::string& name, const at::Tensor& x) const {
  return x * (x.pow(2).mean(-1, true) + config_.rms_norm_eps).rsqrt() * weights_.at(name);
}

/// x [T, heads, head_dim] as complex numbers (first half + i * second half), turned by position *
/// theta^(-2j/d).
at::Tensor PlainTransformer::turned(const at::Tensor& x) const {
  const std::int64_t half = config_.head_dim / 2;
  const at::Tensor frequency = at::pow(
      config_.rope_theta, at::arange(half, at::kDouble) * (-2.0 / double(config_.head_dim)));
  const at::Tensor angle = at::outer(at::arange(x.size(0), at::kDouble), frequency).unsqueeze(1);
  const at::Tensor a = x.narrow(-1, 0, half), b = x.narrow(-1, half, half);
  return at::cat({a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()}, -1);
}

at::Tensor PlainTransformer::attention(const std::string& prefix, const at::Tensor& h) const {
  const std::int64_t t = h.size(0), heads = config_.num_attention_heads,
                     groups = heads / config_.num_key_value_heads;
  at::Tensor q = project(prefix + "q_proj", h).view({t, heads, -1}),
             k = project(prefix + "k_proj", h).view({t, -1, config_.head_dim});
  const at::Tensor v =
      project(prefix + "v_proj", h).view({t, -1, config_.head_dim}).repeat_interleave(groups, 1);
  if (config_.qk_norm) {
    q = norm(prefix + "q_norm.weight", q);
    k = norm(prefix + "k_norm.weight", k);
  }
  q = turned(q);
  k = turned(k).repeat_interleave(groups, 1);
  const at::Tensor future =
      at::full({t, t}, -std::numeric_limits<double>::infinity(), at::kDouble).triu(1);
  const at::Tensor scores =
      at::einsum("ihd,jhd->hij", {q, k}) / std::sqrt(double(config_.head_dim)) + future;
  return project(prefix + "o_proj",
                 at::einsum("hij,jhd->ihd", {scores.softmax(-1), v}).reshape({t, -1}));
}

at::Tensor PlainTransformer::block(std::int64_t layer, const at::Tensor& input) const {
  const std::string prefix = "model.layers." + std::to_string(layer) + ".";
  const at::Tensor x =
      input + attention(prefix + "self_attn.", norm(prefix + "input_layernorm.weight", input));
  const at::Tensor h = norm(prefix + "post_attention_layernorm.weight", x),
                   gate = project(prefix + "mlp.gate_proj", h);
  return x + project(prefix + "mlp.down_proj",
                     gate * gate.sigmoid() * project(prefix + "mlp.up_proj", h));
}

at::Tensor PlainTransformer::states(const MicroBatch& micro_batch, std::size_t sequence) const {
  const std::vector<std::int64_t> tokens(
      micro_batch.tokens.begin() + micro_batch.offsets[sequence],
      micro_batch.tokens.begin() + micro_batch.offsets[sequence + 1]);
  at::Tensor x =
      weights_.at("model.embed_tokens.weight").index_select(0, at::tensor(tokens, at::kLong));
  for (std::int64_t layer = 0; layer < config_.num_hidden_layers; ++layer) x = block(layer, x);
  return norm("model.norm.weight", x);
}

at::Tensor PlainTransformer::logits(const at::Tensor& states) const {
  const std::string head =
      config_.tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight";
  return at::matmul(states, weights_.at(head).t());
}

std::pair<at::Tensor, at::Tensor> PlainTransformer::columns(const MicroBatch& micro_batch,
                                                            double temperature) const {
  std::vector<at::Tensor> logprob, entropy;
  for (std::size_t s = 0; s + 1 < micro_batch.offsets.size(); ++s) {
    const at::Tensor all = logits(states(micro_batch, s)) / temperature;
    for (std::size_t i = 0; i < micro_batch.targets.size(); ++i) {
      const std::int64_t target = micro_batch.targets[i];
      if (target < micro_batch.offsets[s] || target >= micro_batch.offsets[s + 1]) continue;
      at::Tensor row = all.select(0, target - 1 - micro_batch.offsets[s]);
      std::int64_t place = micro_batch.tokens[std::size_t(target)];
      // the softmax over these alone
      if (const auto kept = micro_batch.kept.of(i); !kept.empty()) {
        place = std::lower_bound(kept.begin(), kept.end(), place) - kept.begin();
        row = row.index_select(
            0, at::tensor(at::ArrayRef<std::int32_t>(kept.data(), kept.size()), at::kLong));
      }
      row = row.log_softmax(-1);
      logprob.push_back(row.select(0, place));
      entropy.push_back(-(row.exp() * row).sum());
    }
  }
  return {at::stack(logprob), at::stack(entropy)};
}

std::vector<double> PlainTransformer::logprob_gradients(const MicroBatch& micro_batch,
                                                        double temperature) const {
  std::vector<double> all;
  for (std::size_t s = 0; s + 1 < micro_batch.offsets.size(); ++s) {
    const at::Tensor state = states(micro_batch, s).detach().requires_grad_(true),
                     logprob = (logits(state) / temperature).log_softmax(-1);
    at::Tensor sum = state.sum() * 0.0;
    for (const std::int64_t target : micro_batch.targets) {
      if (target >= micro_batch.offsets[s] && target < micro_batch.offsets[s + 1])
        sum = sum + logprob.select(0, target - 1 - micro_batch.offsets[s])
                        .select(0, micro_batch.tokens[std::size_t(target)]);
    }
    const at::Tensor gradient = torch::autograd::grad({sum}, {state})[0].sum(0).contiguous();
    all.insert(all.end(), gradient.const_data_ptr<double>(),
               gradient.const_data_ptr<double>() + gradient.numel());
  }
  return all;
}

std::vector<double> PlainTransformer::gradient(const MicroBatch& micro_batch, double temperature,
                                               const ColumnGradient& columns_gradient) const {
  const auto [logprob, entropy] = columns(micro_batch, temperature);
  const auto as_double = [](const std::vector<float>& v) {
    return at::tensor(at::ArrayRef<float>(v)).to(at::kDouble);
  };
  std::vector<at::Tensor> inputs;
  for (const Slice& slice : layout_.slices) inputs.push_back(weights_.at(slice.name));
  const auto grads = torch::autograd::grad(
      {logprob, entropy}, inputs,
      {as_double(columns_gradient.logprob), as_double(columns_gradient.entropy)});
  std::vector<double> flat(std::size_t(layout_.size), 0.0);
  for (std::size_t t = 0; t < grads.size(); ++t) {
    const at::Tensor grad = grads[t].contiguous();
    std::copy_n(grad.const_data_ptr<double>(), grad.numel(),
                flat.begin() + layout_.slices[t].offset);
  }
  return flat;
}

}  // namespace rollcall::model::testing
