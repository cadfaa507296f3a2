// Private to the model: the backward pass on the device, in the order of backward.hpp.
#pragma once

#include "model/device/device_backend.hpp"

#include <span>
#include <vector>

namespace rollcall::model {

/// Parts of a model, each of neighbouring slices [first, last) of the layout, in the order in which
/// a backward pass comes to them: the head, the final norm, the blocks from the last to the first,
/// the embedding.
struct SliceRange {
  std::size_t first = 0, last = 0;
};
std::vector<SliceRange> backward_parts(const PolicyModel::Packed& policy);

/// Where gradients of one micro-batch go; what it is given is in device memory and borrowed for
/// work that is queued at once.
class DeviceGradients {
 public:
  virtual ~DeviceGradients() = default;
  // Around all that is added to a part. Every micro-batch has every part once.
  virtual void begin_part(std::size_t part) = 0;
  virtual void end_part() = 0;
  /// Of a slice of the layout from its element `first` on.
  virtual void add(std::size_t slice, std::int64_t first, const float* values,
                   std::int64_t count) = 0;
  /// rows [tokens, width] of the embedding, slice 0.
  virtual void add_rows(std::span<const std::int32_t> tokens, const float* rows,
                        std::int64_t width) = 0;
};

/// Products of gradients are `product` on transposed operands; the rest is fp32. Every sum runs in
/// one order, so the bits depend on the micro-batch alone.
class DeviceBackward {
 public:
  /// `gradients` of weights, or nullptr where only states() is asked for.
  DeviceBackward(const OnDevice& policy, DeviceBackend& backend, const PackedSequences& sequences,
                 DeviceGradients* gradients);

  /// What the head's backward pass needs of its forward pass; spans are the host's, pointers the
  /// device's.
  struct Predictions {
    std::span<const std::int64_t> rows;                    ///< [M] at which targets are predicted
    std::span<const std::int32_t> targets;                 ///< [M]
    const float *lse, *entropy, *normed;                   ///< [M], [M], [M, hidden]
    const float *dlogprob = nullptr, *dentropy = nullptr;  ///< [M] the loss's derivative
  };
  /// From `hidden` [n, hidden], the last block's output, to its gradient, which stays here.
  void head(const float* hidden, const Predictions& predictions, float scale);
  /// The head alone: to the gradient by its inputs, `normed`: [M, hidden], which stays in the
  /// arena. A row's bits depend on that row alone.
  float* states(const Predictions& predictions, float scale);
  /// Blocks must come from the last to the first.
  void block(std::size_t i, const BlockRows<DeviceBackend::Rows>& rows);
  void embedding(std::span<const std::int32_t> tokens);

 private:
  using Rows = DeviceBackend::Rows;
  struct Through {
    const Linear& linear;
    const float* dy;  ///< [n, outputs]
  };
  float* take(std::int64_t rows, std::int64_t width) {
    return backend_->arena().take<float>(rows * width);
  }
  float* zeros(std::int64_t rows, std::int64_t width);
  kernels::ExecutionContext& context() { return backend_->context(); }
  kernels::cuda::Rows16 turned(const float* x, std::int64_t rows, std::int64_t width);
  /// sum of dy W over products of the same x [n, inputs], and their gradients by W and bias.
  float* linears(const float* x, std::span<const Through> all);
  void weights(const Linear& linear, std::int64_t first_output, const float* dy,
               const kernels::cuda::Rows16& turned_x);
  void inputs(const Linear& linear, const float* dy, std::int64_t rows, float* dx);
  /// Into dx, or added to it.
  void norm(const Norm& norm, const float* x, std::int64_t rows, const float* dy, float* dx,
            bool added);
  struct Heads {
    float *q, *k, *v;
  };
  Heads attention(const BlockRows<Rows>& rows, const float* dout);

  const PolicyModel::Packed* policy_;
  DeviceBackend* backend_;
  kernels::cuda::AttentionTiles tiles_{};
  DeviceGradients* gradients_;
  std::int64_t n_;
  float* dx_ = nullptr;  ///< [n, hidden] gradient by the rows between blocks
};

}  // namespace rollcall::model
