// The derivative of the loss by logits, and what it gives for weights and inputs.
#include "model/device/device_head_gradients.hpp"

#include "model/block/head.hpp"

#include <algorithm>
#include <vector>

namespace rollcall::model {
namespace {

namespace cuda = kernels::cuda;

/// [blocks, M] the targets, counted from the first token of each block of kHeadOutputs tokens.
std::vector<std::int32_t> by_block(std::span<const std::int32_t> targets, std::int64_t vocab) {
  std::vector<std::int32_t> all;
  for (std::int64_t first = 0; first < vocab; first += kHeadOutputs)
    for (const std::int32_t target : targets) all.push_back(std::int32_t(target - first));
  return all;
}

}  // namespace

DeviceHeadGradients::DeviceHeadGradients(const Linear& head, DeviceBackend& backend,
                                         DeviceGradientProducts& products,
                                         const Predictions& predictions)
    : head_(&head),
      backend_(&backend),
      products_(&products),
      predictions_(predictions),
      m_(std::int64_t(predictions.rows.size())),
      states_{products.zeros(m_, head.inputs), head.inputs},
      scope_(backend.arena()),
      targets_(backend.device().upload(
          std::span<const std::int32_t>(by_block(predictions.targets, head.outputs)))),
      part_(products.take(m_, head.inputs)),
      z_(products.take(m_, std::min(kHeadOutputs, head.outputs))),
      normed_(backend.rounded_rows(predictions.normed, m_, head.inputs)),
      turned_(products.wanted() ? products.turned(predictions.normed, m_, head.inputs)
                                : cuda::Rows16{}) {}

Linear DeviceHeadGradients::outputs(std::int64_t first, std::int64_t count) const {
  Linear some = *head_;
  some.outputs = count;
  some.panels = rows_of(*head_).rows + first * cuda::stepped(head_->inputs);
  return some;
}

void DeviceHeadGradients::logit_gradients(const Linear& some, std::int64_t first) {
  const Predictions& p = predictions_;
  cuda::product(backend_->context(), normed_, rows_of(some), nullptr, some.slices, z_);
  cuda::token_columns_backward(backend_->context(), z_, m_, some.outputs, p.scale,
                               targets_ + first / kHeadOutputs * m_, p.lse, p.entropy, p.dlogprob,
                               p.dentropy, z_);
}

void DeviceHeadGradients::weights(const Linear& some, std::int64_t first) {
  if (products_->wanted()) products_->weights(some, first, z_, turned_);
}

void DeviceHeadGradients::add_inputs(const Linear& some) {
  products_->add_inputs(some, z_, m_, part_, states_.values);
}

}  // namespace rollcall::model
