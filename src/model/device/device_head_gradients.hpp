// Private to the model: the gradients of the head's logits on the device, some tokens of the
// vocabulary at a time. head_gradients.hpp has those for the host.
#pragma once

#include "model/device/device_gradient_products.hpp"

#include <cstdint>
#include <span>

namespace rollcall::model {

/// The head's part of a backward pass (states_backward). At its end it gives back all memory except
/// states().
class DeviceHeadGradients {
 public:
  /// What the head's backward pass needs from its forward pass, and the loss. Spans are in host
  /// memory, pointers in device memory.
  struct Predictions {
    std::span<const std::int64_t> rows;     ///< [M] the rows that predict targets
    std::span<const std::int32_t> targets;  ///< [M]
    const float *lse, *entropy, *normed;    ///< [M], [M], [M, hidden]
    const float *dlogprob, *dentropy;       ///< [M] derivatives of the loss
    float scale;                            ///< the inverse temperature
  };
  DeviceHeadGradients(const Linear& head, DeviceBackend& backend, DeviceGradientProducts& products,
                      const Predictions& predictions);

  /// The head's outputs [first, first + count).
  Linear outputs(std::int64_t first, std::int64_t count) const;
  /// Computes the gradient with respect to the logits of `some` outputs, which are those from
  /// `first` on. The two below read it.
  void logit_gradients(const Linear& some, std::int64_t first);
  /// The gradient with respect to the weights of `some`, if it is wanted.
  void weights(const Linear& some, std::int64_t first);
  /// Adds the gradient with respect to the head's inputs through `some` to states().
  void add_inputs(const Linear& some);
  DeviceBackend::Rows states() const { return states_; }  ///< [M, hidden]

 private:
  const Linear* head_;
  DeviceBackend* backend_;
  DeviceGradientProducts* products_;
  Predictions predictions_;
  std::int64_t m_;
  DeviceBackend::Rows states_;
  DeviceArena::Scope scope_;
  const std::int32_t* targets_;            ///< [blocks, M] counted from a block's first token
  float *part_, *z_;                       ///< [M, hidden] and [M, kHeadOutputs]
  kernels::cuda::Rows16 normed_, turned_;  ///< the inputs rounded, and transposed if wanted
};

}  // namespace rollcall::model
