// The derivative of the loss by logits, and what it gives for weights and inputs.
#include "model/train/head_gradients.hpp"

#include "model/block/head.hpp"
#include "model/decode/left_out.hpp"

#include <algorithm>
#include <cstddef>

namespace rollcall::model {

/// The sum of share * log-prob over the missed tokens of a target has the derivative sum of share *
/// (onehot - p). Its p part is that of the target's log-prob times their mass. So that mass is
/// added to the target's derivative, and the onehot that comes with it is subtracted again.
HeadGradients::HeadGradients(const PolicyModel::Packed& policy, Backend& backend,
                             GradientProducts& products, Arena& scratch,
                             const Predictions& predictions)
    : policy_(&policy),
      backend_(&backend),
      products_(&products),
      predictions_(predictions),
      m_(std::int64_t(predictions.rows.size())),
      states_{scratch.take(m_ * policy.head.inputs), policy.head.inputs},
      scope_(scratch),
      part_(scratch.take(m_ * policy.head.inputs)),
      z_(scratch.take(m_ * kHeadOutputs)),
      targets_(std::size_t(m_)) {
  std::fill_n(states_.values, m_ * states_.width, 0.0F);
  for (std::size_t i = 0; misses() && i < std::size_t(m_); ++i)
    with_mass_.push_back(predictions.derivative.logprob[i] +
                         predictions.derivative.miss_logprob[i] *
                             float(predictions.missed->of(predictions.first_target + i).mass()));
  if (products.wanted())
    packed_ = products.packed_inputs(predictions.normed, m_, policy.head.inputs);
}

std::int64_t HeadGradients::floats(const ModelConfig& c, const kernels::KernelSet& kernels,
                                   std::int64_t targets) {
  return targets * (2 * c.hidden_size + kHeadOutputs) +
         kernels.packed_bytes(c.hidden_size, kHeadOutputs) / 4 + 4 * 16;
}

Linear HeadGradients::outputs(std::int64_t first, std::int64_t count) const {
  const Linear& head = policy_->head;
  Linear some = head;
  some.outputs = count;
  some.panels = static_cast<const std::byte*>(head.panels) +
                policy_->kernels->packed_bytes(first, head.inputs);
  if (head.weight_rows != nullptr) some.weight_rows = head.weight_rows + first * head.inputs;
  return some;
}

void HeadGradients::add_missed(float scale, std::int64_t row, std::int64_t first, std::int64_t v,
                               float* dlogits) const {
  const auto missed = predictions_.missed->of(predictions_.first_target + std::size_t(row));
  const float by = scale * predictions_.derivative.miss_logprob[std::size_t(row)];
  const std::int64_t own = std::int64_t(predictions_.targets[std::size_t(row)]) - first;
  if (own >= 0 && own < v) dlogits[own] -= by * float(missed.mass());
  for (std::size_t i = 0; i < missed.id.size(); ++i) {
    const std::int64_t id = std::int64_t(missed.id[i]) - first;
    if (id >= 0 && id < v) dlogits[id] += by * missed.share[i];
  }
}

void HeadGradients::logit_gradients(const Linear& some, std::int64_t first) {
  const Predictions& p = predictions_;
  const float scale = inverse_temperature(p.temperature);
  const float* dlogprob = misses() ? with_mass_.data() : p.derivative.logprob.data();
  if (p.logits == nullptr) backend_->product(p.normed, m_, some, z_);
  std::transform(p.targets.begin(), p.targets.end(), targets_.begin(),
                 [&](std::int32_t target) { return std::int32_t(target - first); });
  backend_->team().share(m_, GradientProducts::kLeast / some.outputs + 1, 1,
                         [&](int member, std::int64_t begin, std::int64_t end) {
                           float* rows = z_ + begin * some.outputs;
                           for (std::int64_t row = begin; p.logits != nullptr && row < end; ++row)
                             std::copy_n(p.logits + row * policy_->head.outputs + first,
                                         some.outputs, z_ + row * some.outputs);
                           for (std::int64_t row = begin; p.kept != nullptr && row < end; ++row)
                             leave_out_others(p.kept->of(p.first_target + std::size_t(row)), first,
                                              some.outputs, z_ + row * some.outputs);
                           policy_->kernels->token_columns_backward(
                               backend_->context(member), rows, end - begin, some.outputs, scale,
                               targets_.data() + begin, p.lse.data() + begin,
                               p.entropy.data() + begin, dlogprob + begin,
                               p.derivative.entropy.data() + begin, rows);
                           for (std::int64_t row = begin; misses() && row < end; ++row)
                             add_missed(scale, row, first, some.outputs, z_ + row * some.outputs);
                         });
}

void HeadGradients::weights(const Linear& some, std::int64_t first) {
  if (products_->wanted()) products_->weights(some, first, z_, m_, packed_);
}

void HeadGradients::add_inputs(const Linear& some) {
  products_->add_inputs(some, z_, m_, part_, states_.values);
}

}  // namespace rollcall::model
